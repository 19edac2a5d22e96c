--- The subagents of a session in a small window: what each one does, with keys to
--- stop it, to steer it, and to read its messages.
local config = require("hermes.config")
local protocol = require("hermes.protocol")

local M = {}

local names = vim.api.nvim_create_namespace("hermes.subagents")

---@class hermes.SubagentWindow
---@field session hermes.Session
---@field buf integer
---@field win? integer
---@field rows table<integer, hermes.Item> by line

---@type table<hermes.Session, hermes.SubagentWindow>
local windows = setmetatable({}, { __mode = "k" })

local marks = {
  running = { "◐", "HermesRunning" },
  completed = { "✓", "HermesDone" },
}

---@param item hermes.Item
---@return table
local function facts(item)
  return require("hermes.session").extra(item.call).subagent
end

--- The last line of a subagent's activity.
---@param item hermes.Item
---@return string
local function doing(item)
  local text = vim.tbl_get(item.call, "content", 1, "content", "text") or ""
  local lines = vim.split(vim.trim(text), "\n")
  return lines[#lines] ~= "" and lines[#lines] or "begins"
end

---@param n integer
---@return string
local function counted(n, word)
  return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

---@param w hermes.SubagentWindow
---@return integer
local function running(w)
  return #vim.tbl_filter(function(item)
    return facts(item).status == "running"
  end, w.session.subagents)
end

---@param w hermes.SubagentWindow
local function draw(w)
  local lines, colours = {}, {}
  w.rows = {}
  for _, item in ipairs(w.session.subagents) do
    local f = facts(item)
    local mark = marks[f.status] or { "✗", "HermesFailed" }
    table.insert(lines, ("%s %s"):format(mark[1], (vim.trim(f.goal):match("^[^\n]*"))))
    w.rows[#lines] = item
    table.insert(colours, { #lines - 1, 0, #mark[1], mark[2] })
    local state = f.status == "running" and doing(item) or f.status
    table.insert(lines, ("  %s · %s · %s"):format(counted(f.calls or 0, "call"), counted(f.tokens or 0, "token"), state))
    w.rows[#lines] = item
    table.insert(colours, { #lines - 1, 0, #lines[#lines], "HermesDim" })
  end
  if #lines == 0 then
    lines = { "No subagents yet: :Hermes delegate GOAL" }
  end
  vim.bo[w.buf].modifiable = true
  vim.api.nvim_buf_set_lines(w.buf, 0, -1, false, lines)
  vim.bo[w.buf].modifiable = false
  vim.api.nvim_buf_clear_namespace(w.buf, names, 0, -1)
  for _, c in ipairs(colours) do
    vim.api.nvim_buf_set_extmark(w.buf, names, c[1], c[2], { end_col = c[3], hl_group = c[4] })
  end
end

---@param w hermes.SubagentWindow
---@return boolean
local function open(w)
  return w.win ~= nil and vim.api.nvim_win_is_valid(w.win)
end

---@param w hermes.SubagentWindow
local function geometry(w)
  local lines = vim.api.nvim_buf_line_count(w.buf)
  return {
    relative = "editor",
    anchor = "NE", -- the chat grows at its lower end
    row = 1,
    col = vim.o.columns,
    width = math.min(60, vim.o.columns - 4),
    height = math.min(math.max(lines, 1), math.max(4, math.floor(vim.o.lines / 3))),
  }
end

---@param w hermes.SubagentWindow
local function show(w)
  if open(w) then
    return vim.api.nvim_win_set_config(w.win, geometry(w))
  end
  w.win = vim.api.nvim_open_win(
    w.buf,
    false,
    vim.tbl_extend("error", geometry(w), {
      style = "minimal",
      border = "rounded",
      title = " Subagents ",
      footer = " x stop · m tell · Enter read · q close ",
      footer_pos = "right",
      zindex = 40,
    })
  )
  vim.wo[w.win].wrap, vim.wo[w.win].cursorline = false, true
end

---@param w hermes.SubagentWindow
local function close(w)
  if open(w) then
    vim.api.nvim_win_close(w.win, true)
  end
  w.win = nil
end

---@param session hermes.Session
---@param id string
function M.stop(session, id)
  session:request(protocol.method.subagent_stop, { subagentId = id })
end

---@param w hermes.SubagentWindow
local function keys(w)
  local function map(key, what, run)
    vim.keymap.set("n", key, function()
      local item = w.rows[vim.api.nvim_win_get_cursor(0)[1]]
      if item then
        run(facts(item))
      end
    end, { buffer = w.buf, nowait = true, desc = "Hermes: " .. what })
  end
  map("x", "stop this subagent", function(f)
    M.stop(w.session, f.sessionId)
  end)
  map("m", "tell this subagent something", function(f)
    vim.ui.input({ prompt = "Tell the subagent: " }, function(words)
      if words and vim.trim(words) ~= "" then
        w.session:request(protocol.method.subagent_message, { subagentId = f.sessionId, message = words })
      end
    end)
  end)
  map("<CR>", "read what this subagent has done", function(f)
    require("hermes.view").leave()
    w.session.connection:execute(protocol.command.transcript, { sessionId = f.sessionId })
  end)
  vim.keymap.set("n", "q", function()
    w.closed = true
    close(w)
  end, { buffer = w.buf, nowait = true, desc = "Hermes: close this window" })
end

---@param session hermes.Session
---@return hermes.SubagentWindow
local function window(session)
  local w = windows[session]
  if w and vim.api.nvim_buf_is_valid(w.buf) then
    return w
  end
  w = { session = session, buf = vim.api.nvim_create_buf(false, true), rows = {} }
  vim.bo[w.buf].filetype = "hermes-subagents"
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = w.buf,
    callback = vim.schedule_wrap(function()
      if open(w) and vim.api.nvim_get_current_win() ~= w.win and running(w) == 0 then
        close(w)
      end
    end),
  })
  windows[session] = w
  keys(w)
  return w
end

--- Keeps the window up to date: it comes with the first subagent, and goes with the last
--- one, unless the cursor is in it.
---@param session hermes.Session
function M.watch(session)
  local waiting = false
  session:watch(function(event, item)
    local extra = item and item.call and require("hermes.session").extra(item.call)
    if waiting or event == "state" or not (event == "reset" or extra and extra.subagent) then
      return
    end
    waiting = true
    vim.defer_fn(function()
      waiting = false
      local w = window(session)
      draw(w)
      local some = running(w) > 0
      if event == "added" then
        w.closed = false
      end
      if some and (open(w) or not w.closed and config.current.subagents.float) then
        show(w)
      elseif not some and open(w) and vim.api.nvim_get_current_win() ~= w.win then
        close(w)
      end
    end, 50)
  end)
end

--- Opens the window, and goes into it.
---@param session hermes.Session
function M.open(session)
  local w = window(session)
  w.closed = false
  draw(w)
  show(w)
  vim.api.nvim_set_current_win(w.win)
end

return M
