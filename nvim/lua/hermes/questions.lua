--- Questions and approval requests for the user: one after the other, by vim.ui.select and
--- vim.ui.input. While the user types somewhere, a question waits until that is over,
--- so that no key is taken for an answer.
local compat = require("hermes.compat")
local protocol = require("hermes.protocol")

local M = {}

---@class hermes.Question
---@field session hermes.Session
---@field item? hermes.Item the call that it is about
---@field ask fun(answer: fun(result: table))
---@field none table the response without an answer
---@field answer fun(result: table)
---@field done? boolean

---@type hermes.Question[]
local waiting = {}
local shown ---@type hermes.Question?

local group = vim.api.nvim_create_augroup("hermes.questions", {})

---@param question hermes.Question
---@param result table
local function finish(question, result)
  if question.done then
    return
  end
  question.done = true
  local session = question.session
  session.asking = session.asking - 1
  if question.item then
    question.item.asking = false
    session:tell("changed", question.item)
  end
  session:tell("state")
  question.answer(result)
end

---@return boolean
local function typing()
  return not vim.api.nvim_get_mode().mode:find("^n")
end

--- Whether a question waits until the user has stopped typing.
---@return boolean
function M.held()
  return not shown and #waiting > 0
end

local show_next

--- Shows the first question as soon as the user is in normal mode.
local function show()
  if shown or #waiting == 0 then
    return
  end
  if typing() then
    vim.api.nvim_clear_autocmds({ group = group })
    vim.api.nvim_create_autocmd({ "ModeChanged", "CmdlineLeave" }, {
      group = group,
      once = true,
      callback = vim.schedule_wrap(show),
    })
    return
  end
  local question = table.remove(waiting, 1)
  if question.done then
    return show()
  end
  shown = question
  require("hermes.view").draw() -- a question may stop all else until it is answered
  local ok, err = pcall(question.ask, function(result)
    finish(question, result)
    show_next()
  end)
  if not ok then
    require("hermes.connection").say("the question could not be shown: " .. tostring(err), vim.log.levels.ERROR)
    finish(question, question.none)
    show_next()
  end
end

show_next = vim.schedule_wrap(function()
  shown = nil
  show()
end)

---@param question hermes.Question
local function put(question)
  question.session.asking = question.session.asking + 1
  if question.item then
    question.item.asking = true
    question.session:tell("changed", question.item)
  end
  question.session:tell("state")
  table.insert(waiting, question)
  if typing() then
    vim.notify("Hermes asks something: leave this mode to answer", vim.log.levels.WARN)
  end
  show()
end

--- Drops the questions of a turn that has ended.
---@param session hermes.Session
function M.withdraw(session)
  for _, question in ipairs(vim.list_extend({ shown }, waiting)) do
    if question.session == session then
      finish(question, question.none)
    end
  end
end

--- Whether vim.ui.select or vim.ui.input is Neovim's own, which shows a prompt of any length.
--- Others show it as a title, and cut it.
---@param name "select"|"input"
---@return boolean
local function own(name)
  return debug.getinfo(vim.ui[name], "S").source:find("vim[/\\]ui%.lua$") ~= nil
end

--- Shows a text over the editor while the user chooses.
---@param text string
---@return fun()? close nil if there is no room for the whole text
local function beside(text)
  local lines = vim.split(text, "\n")
  local width = math.min(vim.o.columns - 4, 100)
  local height = 0
  for _, line in ipairs(lines) do
    height = height + math.max(1, math.ceil(vim.fn.strdisplaywidth(line) / width))
  end
  if height > math.floor(vim.o.lines / 2) then
    return nil
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].bufhidden = "wipe"
  local win = vim.api.nvim_open_win(buf, false, {
    relative = "editor",
    row = 1,
    col = math.floor((vim.o.columns - width) / 2),
    width = width,
    height = height,
    style = "minimal",
    border = "rounded",
    title = " Hermes asks ",
    focusable = true,
  })
  vim.wo[win].wrap = true
  return function()
    if vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_close(win, true)
    end
  end
end

--- Asks by Neovim's own list, which shows a text of any length page by page.
---@generic T
---@param choices T[]
---@param text string
---@param name fun(choice: T): string
---@param chosen fun(choice: T?)
local function pages(choices, text, name, chosen)
  local lines = vim.split(text, "\n")
  for i, choice in ipairs(choices) do
    table.insert(lines, ("%d: %s"):format(i, name(choice)))
  end
  chosen(choices[vim.fn.inputlist(lines)])
end

---@generic T
---@param choices T[]
---@param text string the whole question
---@param kind string
---@param name fun(choice: T): string
---@param chosen fun(choice: T?)
local function select(choices, text, kind, name, chosen)
  if own("select") then
    return vim.ui.select(choices, { prompt = text, kind = kind, format_item = name }, chosen)
  end
  local close = beside(text)
  if not close then
    return pages(choices, text, name, chosen)
  end
  vim.ui.select(choices, { prompt = "Hermes asks", kind = kind, format_item = name }, function(choice)
    close()
    chosen(choice)
  end)
end

--- Asks for a line of text.
---@param text string the whole question
---@param title string its first words
---@param default string
---@param done fun(words: string?)
local function write(text, title, default, done)
  local close = not own("input") and beside(text)
  local prompt = close and title .. ": " or "\n" .. text .. "\n> "
  vim.ui.input({ prompt = prompt, default = default }, function(words)
    if close then
      close()
    end
    done(words)
  end)
end

--- The changed lines of a diff that a request shows.
local most_lines = 20

---@param content table
---@return string[]
local function diff_lines(content)
  local old, new = compat.some(content.oldText), compat.some(content.newText) or ""
  local lines, changed = { "", vim.fn.fnamemodify(content.path or "", ":.") .. (old and "" or " (new)") }, 0
  local diff = vim.diff(old or "", new, { ctxlen = 0 }) or ""
  for _, line in ipairs(vim.split(diff, "\n")) do
    if line:find("^[+-]") then
      changed = changed + 1
      if changed <= most_lines then
        table.insert(lines, line)
      end
    end
  end
  if changed > most_lines then
    table.insert(lines, ("… %d more changed lines"):format(changed - most_lines))
  end
  return lines
end

---@param params hermes.RequestPermissionRequest
---@return string
local function permission_text(params)
  local call = params.toolCall
  if call.kind == "switch_mode" then
    local texts = { "Hermes has a plan:", "" }
    for _, content in ipairs(compat.some(call.content) or {}) do
      table.insert(texts, content.type == "content" and compat.some(content.content.text) or nil)
    end
    return table.concat(texts, "\n") .. "\n"
  end
  local lines = { "Hermes asks: may it do this?", "", "  " .. (call.title or call.name or "?"):gsub("\n", "\n  "), "" }
  for _, content in ipairs(compat.some(call.content) or {}) do
    local text = content.type == "content" and compat.some(content.content.text)
    if text then
      table.insert(lines, text)
    end
    if content.type == "diff" then
      vim.list_extend(lines, diff_lines(content))
    end
  end
  return table.concat(lines, "\n")
end

local with_reason = { name = "Deny with a reason…" }
local open_diff = { name = "Open the diff, then decide" }

--- Opens the diffs of a request, each in a tab of its own.
---@param contents table[]
---@return fun() close
local function show_diffs(contents)
  local before = vim.api.nvim_get_current_tabpage()
  local tabs = {}
  for _, content in ipairs(contents) do
    vim.cmd("tabnew")
    table.insert(tabs, vim.api.nvim_get_current_tabpage())
    for i, text in ipairs({ compat.some(content.oldText) or "", compat.some(content.newText) or "" }) do
      if i == 2 then
        vim.cmd("rightbelow vsplit")
      end
      local buf = vim.api.nvim_create_buf(false, true)
      vim.bo[buf].bufhidden = "wipe"
      vim.api.nvim_buf_set_lines(buf, 0, -1, false, vim.split((text:gsub("\n$", "")), "\n"))
      vim.bo[buf].modifiable = false
      pcall(vim.api.nvim_buf_set_name, buf, ("hermes-edit://%s/%d/%s"):format(i == 1 and "before" or "after", buf, content.path or ""))
      vim.api.nvim_win_set_buf(0, buf)
      vim.cmd("diffthis")
    end
  end
  vim.cmd("redraw")
  return function()
    for _, tab in ipairs(tabs) do
      if vim.api.nvim_tabpage_is_valid(tab) then
        vim.cmd.tabclose(vim.api.nvim_tabpage_get_number(tab))
      end
    end
    if vim.api.nvim_tabpage_is_valid(before) then
      vim.api.nvim_set_current_tabpage(before)
    end
  end
end

--- Asks for the decision about a request.
---@param params hermes.RequestPermissionRequest
---@param done fun(result: hermes.RequestPermissionResponse)
---@param close? fun() closes the diffs that are open
local function decide(params, done, close)
  local choices, diffs = vim.list_extend({}, params.options), {}
  local deny
  for _, option in ipairs(params.options) do
    deny = option.optionId == "no" and option or deny
  end
  for _, content in ipairs(compat.some(params.toolCall.content) or {}) do
    if content.type == "diff" then
      table.insert(diffs, content)
    end
  end
  if deny then
    table.insert(choices, with_reason)
  end
  if #diffs > 0 and not close then
    table.insert(choices, open_diff)
  end
  local function finished(outcome)
    if close then
      close()
    end
    done({ outcome = outcome })
  end
  select(choices, permission_text(params), "hermes.permission", function(option)
    return option.name
  end, function(option)
    if not option then
      return finished({ outcome = protocol.outcome.cancelled })
    end
    if option == open_diff then
      return decide(params, done, show_diffs(diffs))
    end
    if option ~= with_reason then
      return finished({ outcome = protocol.outcome.selected, optionId = option.optionId })
    end
    vim.ui.input({ prompt = "Why not? The agent gets the reason: " }, function(words)
      words = vim.trim(words or "")
      finished({
        outcome = protocol.outcome.selected,
        optionId = deny.optionId,
        _meta = words ~= "" and { hermes = { reason = words } } or nil,
      })
    end)
  end)
end

--- Shows an approval request. If the user closes it, the action is denied.
---@param session hermes.Session
---@param params hermes.RequestPermissionRequest
---@param answer fun(result: hermes.RequestPermissionResponse)
function M.permission(session, params, answer)
  put({
    session = session,
    item = session.calls[params.toolCall.toolCallId],
    answer = answer,
    none = { outcome = { outcome = protocol.outcome.cancelled } },
    ask = function(done)
      decide(params, done)
    end,
  })
end

local own_words = "Something else…"

--- Asks a question of the model: choices, a text, or both.
---@param message string
---@param schema table
---@param done fun(content: table<string, string>?)
local function fill(message, schema, done)
  local fields = schema.properties or {}
  local choices = vim.deepcopy(vim.tbl_get(fields, "answer", "enum") or {})
  local text = "Hermes asks: " .. message
  local function describe()
    vim.ui.input({ prompt = text .. " " }, function(words)
      words = words and vim.trim(words)
      done(words and words ~= "" and { [#choices > 0 and "other" or "answer"] = words } or nil)
    end)
  end
  if #choices == 0 then
    return describe()
  end
  if fields.other then
    table.insert(choices, own_words)
  end
  select(choices, text, "hermes.question", tostring, function(choice)
    if choice == own_words then
      return describe()
    end
    done(choice and { answer = choice } or nil)
  end)
end

--- Shows a question of the model, which belongs to a call, or a form of an MCP server.
---@param session hermes.Session
---@param params hermes.ElicitRequest
---@param answer fun(result: hermes.ElicitResponse)
function M.form(session, params, answer)
  put({
    session = session,
    item = session.calls[compat.some(params.toolCallId)],
    answer = answer,
    none = { action = "cancel" },
    ask = function(done)
      local schema = compat.some(params.requestedSchema) or {}
      if not compat.some(params.toolCallId) then
        local function choose(choices, text, kind, name, chosen)
          -- Neovim's own list begins in the line of the last answer.
          select(choices, own("select") and "\n" .. text or text, kind, name, chosen)
        end
        local order = vim.tbl_get(params, "_meta", "hermes", "fields")
        return require("hermes.form").fill(params.message, schema, { select = choose, write = write }, done, order)
      end
      fill(params.message, schema, function(content)
        done(content and { action = "accept", content = content } or { action = "decline" })
      end)
    end,
  })
end

return M
