--- :Hermes and its subcommands.
local changes = require("hermes.changes")
local connection = require("hermes.connection")
local protocol = require("hermes.protocol")
local view = require("hermes.view")

local M = {}

---@class hermes.Call arguments of a subcommand
---@field words string text after its name
---@field buf integer current buffer
---@field first? integer first given line
---@field last? integer

---@class hermes.SubCommand
---@field description string the table of the server's commands has the same
---@field run fun(call: hermes.Call)
---@field complete? fun(lead: string): string[] lists its arguments

--- Returns the session of the chat, else the newest one. If there is none, it returns nil.
---@param buf integer
---@return hermes.Session?
local function known(buf)
  local here = view.of(buf)
  return here and here.session or connection.of(buf).current
end

--- Returns the session of the chat, else the newest one, else a new one.
---@param call hermes.Call
---@return hermes.Session
local function current(call)
  return known(call.buf) or connection.of(call.buf):newest()
end

---@param call hermes.Call
---@return boolean
local function is_file(call)
  if vim.bo[call.buf].buftype ~= "" or vim.api.nvim_buf_get_name(call.buf) == "" then
    connection.say("this is about a file: go to its window first", vim.log.levels.WARN)
    return false
  end
  return true
end

--- Returns the given lines as an LSP range, or nil.
---@param call hermes.Call
---@return hermes.Range?
local function range(call)
  if call.first then
    return { start = { line = call.first - 1, character = 0 }, ["end"] = { line = call.last, character = 0 } }
  end
end

--- Sends a prompt with the given lines.
---@param call hermes.Call
local function ask(call)
  if call.words == "" then
    vim.ui.input({ prompt = "Ask Hermes: " }, function(words)
      if words and vim.trim(words) ~= "" then
        ask(vim.tbl_extend("force", call, { words = words }))
      end
    end)
    return
  end
  local session = current(call)
  view.show(session, { focus = false })
  local context = require("hermes.context")
  local blocks = context.blocks(call.words, session.connection.root, call.buf)
  local shown = call.words
  if call.first and vim.bo[call.buf].buftype == "" then
    table.insert(blocks, context.resource(call.buf, call.first, call.last))
    local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(call.buf), ":t")
    shown = shown .. ("\n\n(%s, lines %d–%d)"):format(name, call.first, call.last)
  end
  session:send(blocks, shown)
end

--- Returns a function that runs a command of the server for a file or lines of it.
---@param command string
---@param with_diagnostics? boolean
---@return fun(call: hermes.Call)
local function about(command, with_diagnostics)
  return function(call)
    if not is_file(call) then
      return
    end
    local of = connection.of(call.buf)
    of:with(function(client)
      local argument = { textDocument = { uri = vim.uri_from_bufnr(call.buf) }, range = range(call) }
      if with_diagnostics then
        local cursor = vim.api.nvim_win_get_cursor(0)[1]
        local first, last = call.first or cursor, call.last or cursor
        local diagnostics = require("hermes.diagnostics")
        local list = diagnostics.of(call.buf, client.offset_encoding, function(d)
          return d.lnum + 1 <= last and (d.end_lnum or d.lnum) + 1 >= first
        end)
        if #list == 0 and not call.first then
          list = diagnostics.of(call.buf, client.offset_encoding)
        elseif not call.first then
          argument.range = list[1].range
        end
        if #list == 0 and not call.first then
          return connection.say("nothing is reported in this file; select what to fix, or ask")
        end
        argument.diagnostics = #list > 0 and list or nil
      end
      require("hermes.actions").turn(of, command, argument)
    end)
  end
end

--- Edits the given lines, else the line of the cursor, by an instruction.
---@param call hermes.Call
local function edit(call)
  if not is_file(call) then
    return
  end
  local cursor = vim.api.nvim_win_get_cursor(0)[1]
  local function go(instruction)
    if instruction and vim.trim(instruction) ~= "" then
      require("hermes.inline").edit(call.buf, call.first or cursor, call.last or cursor, instruction)
    end
  end
  if call.words ~= "" then
    return go(call.words)
  end
  require("hermes.lineinput").ask("Edit: ", go)
end

--- Returns a function that accepts or rejects changes in the given lines, else at the cursor.
---@param accept boolean
---@return fun(call: hermes.Call)
local function decide(accept)
  return function(call)
    local cursor = vim.api.nvim_win_get_cursor(0)[1]
    require("hermes.inline").decide(call.buf, call.first or cursor, call.last or cursor, accept)
  end
end

---@param session hermes.Session
---@param category string
---@return hermes.SessionConfigOption?
local function option_of(session, category)
  for _, option in ipairs(session.options) do
    if option.category == category then
      return option
    end
  end
end

---@param session hermes.Session
---@param option hermes.SessionConfigOption
---@param value? { value: string, name: string }
local function set(session, option, value)
  if not value then
    return
  end
  local params = { configId = option.id, value = value.value }
  session:request(protocol.method.session_set_value, params, function(err, result)
    if err then
      return connection.say(err.message, vim.log.levels.ERROR)
    end
    session:opened(result)
    connection.say(("%s: %s"):format(option.name, value.name))
  end)
end

---@param session hermes.Session
---@param option hermes.SessionConfigOption
local function pick_value(session, option)
  vim.ui.select(option.options, {
    prompt = option.name,
    kind = "hermes.option",
    format_item = function(value)
      local mark = value.value == option.currentValue and "● " or "  "
      return mark .. value.name .. (value.description and ": " .. value.description or "")
    end,
  }, function(value)
    set(session, option, value)
  end)
end

--- Returns a function that sets an option of the session. pick lets the user choose a value that is
--- not among those known here.
---@param category string
---@param pick? fun(session: hermes.Session, words: string, set: fun(id: string))
---@return fun(call: hermes.Call)
local function choose(category, pick)
  return function(call)
    local session = current(call)
    session:wait(function()
      local option = option_of(session, category)
      if not option then
        return connection.say("there is nothing to choose")
      elseif call.words == "" and not pick then
        return pick_value(session, option)
      end
      local found = vim.tbl_filter(function(value)
        return value.value == call.words or value.value:match("^[^/]*/(.*)$") == call.words
      end, option.options)
      for _, value in ipairs(found) do
        if value.value == call.words or #found == 1 then -- a model can be named without its provider
          return set(session, option, value)
        end
      end
      if pick then
        return pick(session, call.words, function(id)
          set(session, option, { value = id, name = id })
        end)
      end
      local names = vim.tbl_map(function(value)
        return value.value
      end, option.options)
      connection.say(("%s: there is no %s; there are %s"):format(option.name, call.words, table.concat(names, ", ")), vim.log.levels.WARN)
    end)
  end
end

--- Returns a function that lists the values of an option of the session.
---@param category string
---@return fun(): string[]
local function values(category)
  return function()
    local session = known(vim.api.nvim_get_current_buf())
    local option = session and option_of(session, category)
    return vim.tbl_map(function(value)
      return value.value
    end, option and option.options or {})
  end
end

--- Sends the slash command of a subcommand's name. The chat shows the answer. With open, "open {name}" runs the command
--- that open returns: the server then shows a file. If an action has no argument, the user chooses it.
---@param name string
---@param open? fun(name: string): string, table
---@return fun(call: hermes.Call)
local function slash(name, open)
  local function run(call)
    local session = current(call)
    local first, rest = call.words:match("^(%S*)%s*(.-)%s*$")
    local function again(argument)
      run(vim.tbl_extend("force", call, { words = first .. " " .. argument }))
    end
    if rest == "" and require("hermes.extensions").pick(session, name .. " " .. first, again) then
      return
    end
    if open and first == "open" then
      return session:wait(function()
        view.leave()
        session:execute(open(rest))
      end)
    end
    view.show(session, { focus = false })
    local text = vim.trim("/" .. name .. " " .. call.words)
    session:send({ { type = "text", text = text } }, text)
  end
  return run
end

--- Completes one of these words.
---@param words string[]
local function fixed(words)
  return function()
    return words
  end
end

--- Lets the user pick a session of the workspace.
---@param call hermes.Call
---@param prompt string
---@param picked fun(session: hermes.SessionInfo, of: hermes.Connection)
local function pick(call, prompt, picked)
  local of = connection.of(call.buf)
  require("hermes.sessions").list(of, function(sessions)
    if #sessions == 0 then
      return connection.say("there is no earlier session in " .. of.root)
    end
    vim.ui.select(sessions, {
      prompt = prompt,
      kind = "hermes.session",
      format_item = function(s)
        return require("hermes.when").short(s.updatedAt) .. "  " .. s.title
      end,
    }, function(session)
      if session then
        picked(session, of)
      end
    end)
  end)
end

---@param of hermes.Connection
---@param id string
local function open(of, id)
  view.show(of:open(id), { focus = true })
end

--- Deletes a session after a second confirmation, because it cannot be restored.
---@param session hermes.SessionInfo
---@param of hermes.Connection
---@param done? fun() runs if it was deleted
local function delete(session, of, done)
  vim.ui.select({ "Delete it", "Keep it" }, {
    prompt = ("Delete “%s” for good?"):format(session.title),
    kind = "hermes.delete",
  }, function(_, choice)
    if choice ~= 1 then
      return
    end
    of:request(protocol.method.session_delete, { sessionId = session.sessionId }, function(err)
      if err then
        return connection.say(err.message, vim.log.levels.ERROR)
      end
      view.forget(of:forget(session.sessionId))
      connection.say("deleted “" .. session.title .. "”")
      if done then
        done()
      end
    end)
  end)
end

--- Runs a subcommand of hermes-ls in a terminal, because it can ask.
---@param arguments string[]
---@param done fun() runs if it succeeded
local function terminal(arguments, done)
  local settings = require("hermes.config").current
  vim.cmd("botright new")
  local buf = vim.api.nvim_get_current_buf()
  vim.fn.termopen(vim.list_extend({ settings.cmd[1] }, arguments), {
    env = settings.env,
    on_exit = function(_, code)
      if code ~= 0 then
        return
      elseif vim.api.nvim_get_mode().mode ~= "t" then
        return done()
      end
      -- In terminal mode, the mode would be shown in place of a message.
      vim.api.nvim_create_autocmd("ModeChanged", { pattern = "t:*", once = true, callback = vim.schedule_wrap(done) })
      vim.cmd.stopinsert()
    end,
  })
  vim.bo[buf].bufhidden = "wipe"
  vim.cmd.startinsert()
end

--- Runs a subcommand of hermes-ls with words of the user: those given, else those that they enter.
---@param arguments string[]
---@param words string
---@param prompt string
---@param done string is said if it succeeded
local function terminal_with(arguments, words, prompt, done)
  if words == "" then
    return vim.ui.input({ prompt = prompt }, function(given)
      if given and vim.trim(given) ~= "" then
        terminal_with(arguments, vim.trim(given), prompt, done)
      end
    end)
  end
  terminal(vim.list_extend(arguments, vim.split(words, "%s+")), function()
    connection.say(done)
  end)
end

--- Shows a text in a window below.
---@param text string
local function show_text(text)
  vim.cmd("botright new")
  vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(text, "\n"))
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.modifiable = "nofile", "wipe", false
  vim.keymap.set("n", "q", "<cmd>close<CR>", { buffer = true })
end

--- Runs a subcommand of hermes-ls and passes its output on.
---@param arguments string[]
---@param done fun(out: string, code: integer)
local function program(arguments, done)
  local config = require("hermes.config").current
  local words = vim.list_extend({ config.cmd[1] }, arguments)
  local ok, err = pcall(
    vim.system,
    words,
    { text = true, env = config.env },
    vim.schedule_wrap(function(result)
      done(vim.trim((result.stdout or "") .. (result.stderr or "")), result.code)
    end)
  )
  if not ok then
    connection.say(tostring(err), vim.log.levels.ERROR)
  end
end

--- Exports the session to a new file.
---@param call hermes.Call
local function export(call)
  local session = known(call.buf)
  if not session or not session.id or #session.items == 0 then
    return connection.say("there is no session to export yet")
  elseif call.words == "" then
    local name = ("%s/session-%s.jsonl"):format(session.connection.root, session.id:sub(1, 8))
    return vim.ui.input({ prompt = "Export the session to: ", default = name, completion = "file" }, function(file)
      if file and vim.trim(file) ~= "" then
        export(vim.tbl_extend("force", call, { words = vim.trim(file) }))
      end
    end)
  end
  local file = vim.fn.fnamemodify(vim.fn.expand(call.words), ":p")
  program({ "sessions", "export", session.id, "--output", file }, function(out, code)
    connection.say(code == 0 and "The session is in " .. file or out, code ~= 0 and vim.log.levels.ERROR or nil)
  end)
end

--- The prompt of “:Hermes review changes”.
local review_changes = table.concat({
  "Review the changes of this workspace that are not committed yet.",
  "",
  "Look at the diff and at what is around it. Name bugs, missed cases, and unclear code, the worst first, each with its file and line and what to do about it. Change nothing.",
}, "\n")

---@type table<string, hermes.SubCommand>
M.sub = {
  ask = { description = "Send a prompt, with the selected lines", run = ask },
  image = {
    description = "Attach a picture to the next prompt: a path, or clipboard",
    complete = function(lead)
      return vim.list_extend({ "clipboard" }, vim.fn.getcompletion(lead, "file"))
    end,
    run = function(call)
      if call.words == "" then
        return connection.say("name a picture: :Hermes image PATH, or :Hermes image clipboard", vim.log.levels.WARN)
      end
      local block, name = require("hermes.image").read(call.words)
      if not block then
        return connection.say(name, vim.log.levels.WARN)
      end
      table.insert(current(call).pictures, { block = block, name = name })
      connection.say(("%s goes with your next prompt"):format(name))
    end,
  },
  chat = {
    description = "Open the chat and quote the selected lines",
    run = function(call)
      local shown = view.show(current(call), { focus = true })
      if call.first then
        shown:quote(call.buf, call.first, call.last)
      end
    end,
  },
  toggle = {
    description = "Show or hide the chat",
    run = function(call)
      if view.window() then
        return view.hide()
      end
      M.sub.chat.run(vim.tbl_extend("force", call, { first = false }))
    end,
  },
  close = { description = "Hide the chat", run = view.hide },
  explain = { description = "Explain a file or the selected lines", run = about(protocol.command.explain) },
  fix = { description = "Fix the diagnostics at the cursor, else of the file", run = about(protocol.command.fix, true) },
  review = {
    description = "Review a file, the selected lines, or “changes”: the uncommitted changes",
    run = function(call)
      if call.words == "changes" then
        return ask(vim.tbl_extend("force", call, { words = review_changes }))
      end
      about(protocol.command.review)(call)
    end,
    complete = function()
      return { "changes" }
    end,
  },
  test = { description = "Write tests for a file or the selected lines", run = about(protocol.command.test) },
  document = { description = "Document a file or the selected lines", run = about(protocol.command.document) },
  edit = { description = "Edit the selected lines by an instruction; review the changes in place", run = edit },
  accept = { description = "Accept the change at the cursor, after an edit", run = decide(true) },
  reject = { description = "Reject the change at the cursor, after an edit", run = decide(false) },
  hunk = {
    description = "Go to a change of the agent in this file; show, accept or revert it",
    run = function(call)
      local cursor = vim.api.nvim_win_get_cursor(0)[1]
      require("hermes.signs").run(call.buf, call.words, call.first or cursor, call.last or cursor)
    end,
    complete = function()
      return require("hermes.signs").actions
    end,
  },
  delegate = {
    description = "Delegate a goal to a subagent",
    run = function(call)
      local function go(words)
        if words and vim.trim(words) ~= "" then
          require("hermes.actions").turn(connection.of(call.buf), protocol.command.delegate, { goal = words })
        end
      end
      if call.words ~= "" then
        return go(call.words)
      end
      vim.ui.input({ prompt = "Delegate: " }, go)
    end,
  },
  subagents = {
    description = "Show the subagents",
    run = function(call)
      require("hermes.subagents").open(current(call))
    end,
  },
  cancel = {
    description = "Cancel the running turn",
    run = function(call)
      local session = known(call.buf)
      if not (session and session:running()) then
        return connection.say("nothing runs")
      end
      session:cancel()
    end,
  },
  new = {
    description = "Start a new session; the old one is kept",
    run = function(call)
      view.show(connection.of(call.buf):begin(), { focus = true })
    end,
  },
  resume = {
    description = "Resume an earlier session",
    run = function(call)
      pick(call, "Go on with", function(session, of)
        open(of, session.sessionId)
      end)
    end,
  },
  delete = {
    description = "Delete an earlier session",
    run = function(call)
      pick(call, "Delete for good", delete)
    end,
  },
  sessions = {
    description = "List the sessions of the workspace, or search their text",
    run = function(call)
      local of = connection.of(call.buf)
      require("hermes.sessions").open(of, call.words, {
        open = function(id)
          open(of, id)
        end,
        delete = function(session, done)
          delete(session, of, done)
        end,
      })
    end,
  },
  fork = {
    description = "Create another session from this one",
    run = function(call)
      local session = current(call)
      local of = session.connection
      session:request(protocol.method.session_fork, { cwd = of.root, mcpServers = {} }, function(err, result)
        if err then
          return connection.say(err.message, vim.log.levels.ERROR)
        end
        open(of, result.sessionId)
      end)
    end,
  },
  diff = {
    description = "Compare the files of the last turn with their earlier text",
    run = function(call)
      changes.review(current(call), call.words ~= "" and call.words or nil)
    end,
  },
  changes = {
    description = "List the changes of all sessions of the workspace that you have neither accepted nor reverted",
    run = function(call)
      changes.waiting(connection.of(call.buf), call.words ~= "" and call.words or nil)
    end,
  },
  rollback = {
    description = "List checkpoints, or restore the files of one",
    run = function(call)
      changes.rollback(current(call))
    end,
  },
  resend = {
    description = "Change an earlier prompt and send it again; it rewinds the session",
    run = function(call)
      require("hermes.prompts").resend(current(call))
    end,
  },
  restore = {
    description = "Restore the files to before a prompt; it rewinds the session, too",
    run = function(call)
      require("hermes.prompts").restore(current(call))
    end,
  },
  retry = {
    description = "Send the prompt again whose turn failed",
    run = function(call)
      require("hermes.prompts").retry(current(call))
    end,
  },
  transcript = {
    description = "Show the session as Markdown, results included",
    run = function(call)
      local session = current(call)
      view.leave()
      session:execute(protocol.command.transcript)
    end,
  },
  model = {
    description = "Show or choose the model",
    run = choose(protocol.category.model, function(...)
      require("hermes.models").pick(...)
    end),
    complete = values(protocol.category.model),
  },
  mode = {
    description = "Show or choose the approval mode",
    run = choose(protocol.category.mode),
    complete = values(protocol.category.mode),
  },
  export = {
    description = "Write the session to a file, without keys",
    run = export,
    complete = function(lead)
      return vim.fn.getcompletion(lead, "file")
    end,
  },
  goal = {
    description = "Show or set a goal; turns continue until it is reached",
    run = slash("goal"),
    complete = fixed({ "clear" }),
  },
  mcp = {
    description = "Show the MCP servers; log in at one, approve or restart it",
    run = function(call)
      local words = call.words:match("^add%s*(.*)$")
      if words then
        return terminal_with(
          { "mcp", "add" },
          words,
          "MCP server, NAME URL or NAME -- COMMAND: ",
          "The MCP server is added. New sessions connect it."
        )
      end
      slash("mcp")(call)
    end,
    complete = fixed({ "add", "approve", "login", "logout", "logs", "restart", "revoke" }),
  },
  skills = {
    description = "List the skills, and those that are left out",
    run = function(call)
      local words = call.words:match("^install%s*(.*)$")
      if words then
        return terminal_with(
          { "skills", "install" },
          words,
          "Skill, OWNER/REPO/PATH, an address or a directory: ",
          "The skill is installed. New sessions have it."
        )
      end
      slash("skills", function(name)
        return protocol.command.skill_open, { name = name }
      end)(call)
    end,
    complete = fixed({ "install", "open" }),
  },
  memory = {
    description = "Show what is remembered, or undo the last write",
    run = slash("memory", function(name)
      return protocol.command.memory_open, { target = name }
    end),
    complete = fixed({ "open", "undo" }),
  },
  learnings = {
    description = "Show what worked after errors, or forget it",
    run = slash("learnings", function()
      return protocol.command.learnings_open, {}
    end),
    complete = fixed({ "forget", "open" }),
  },
  trust = {
    description = "Show what the folder brings; trust it, or approve an MCP server",
    run = slash("trust"),
    complete = fixed({ "no", "yes" }),
  },
  thinking = {
    description = "Show or choose how long the model thinks",
    run = choose(protocol.category.thought_level),
    complete = values(protocol.category.thought_level),
  },
  doctor = {
    description = "Check the installation",
    run = function()
      program({ "doctor" }, show_text)
    end,
  },
  setup = {
    description = "Choose the model provider",
    run = function()
      terminal({ "setup", "--editor", "neovim" }, function()
        connection.say("The model is set up. New sessions use it.")
      end)
    end,
  },
  settings = {
    description = "Edit the settings",
    run = function()
      program({ "config", "path" }, function(out)
        view.leave()
        vim.cmd.edit(vim.fn.fnameescape(out))
      end)
    end,
  },
  restart = {
    description = "Restart the server",
    run = function(call)
      local of = connection.of(call.buf)
      of.died = {}
      if not of.client then
        return of:restart()
      end
      of.again = true
      require("hermes.compat").stop(of.client)
    end,
  },
}

for name, description in pairs(require("hermes.slash")) do
  M.sub[name] = { description = description, run = slash(name) }
end

--- Splits the arguments of :Hermes into a subcommand and its arguments.
---@param line string
---@return string? name, string words
local function split(line)
  local first, rest = line:match("^%s*(%S+)%s*(.*)$")
  if first and M.sub[first] then
    return first, rest
  end
  return nil, vim.trim(line)
end

--- :Hermes.
---@param command vim.api.keyset.create_user_command.command_args
function M.run(command)
  require("hermes").ensure()
  local name, words = split(command.args)
  if not name then
    name = words == "" and "chat" or "ask"
  end
  M.sub[name].run({
    words = words,
    buf = vim.api.nvim_get_current_buf(),
    first = command.range > 0 and command.line1 or nil,
    last = command.range > 0 and command.line2 or nil,
  })
end

--- Runs a <Plug> mapping, in visual mode with the selected lines.
---@param name string
function M.mapped(name)
  local lines = ""
  if vim.api.nvim_get_mode().mode:find("^[vV\22]") then
    local first, last = vim.fn.line("v"), vim.fn.line(".")
    lines = ("%d,%d"):format(math.min(first, last), math.max(first, last))
    vim.cmd.normal({ "\27", bang = true })
  end
  vim.cmd(lines .. "Hermes " .. name)
end

---@param prompt string
function M.ask(prompt)
  require("hermes").ensure()
  ask({ words = prompt, buf = vim.api.nvim_get_current_buf() })
end

--- Completes the arguments of :Hermes: a subcommand, then its arguments.
---@param lead string
---@param line string
---@return string[]
function M.complete(lead, line)
  local name, rest = line:match("Hermes%s+(%S+)%s+(.*)$")
  local sub = M.sub[name]
  local words = vim.tbl_keys(M.sub)
  if name then
    words = sub and sub.complete and not rest:find("%s") and sub.complete(lead) or {}
  end
  table.sort(words)
  return vim.tbl_filter(function(word)
    return vim.startswith(word, lead)
  end, words)
end

return M
