--- Signs on the lines that the agent has changed in open files, until the user accepts or reverts
--- them. A hunk is a run of changed lines. `:Hermes hunk` goes to one, shows, accepts or reverts it.
local compat = require("hermes.compat")
local config = require("hermes.config")
local inline = require("hermes.inline")
local protocol = require("hermes.protocol")
local rests = require("hermes.rests")

local M = {}

--- Changes of the workspace that wait for the user, as the server has listed them last.
---@type table<hermes.Connection, hermes.TurnChanges[]>
local listed = setmetatable({}, { __mode = "k" })

---@param of hermes.Connection
---@param turn hermes.TurnChanges
---@param path string
---@return boolean
local function names(of, turn, path)
  return vim.iter(turn.files):any(function(file)
    return (file:sub(1, 1) == "/" and file or of.root .. "/" .. file) == path
  end)
end

--- Returns the turns that have changed a file, the newest first: those of the session that changed it
--- last.
---@param of hermes.Connection
---@param path string
---@return hermes.TurnChanges[]
local function turns_of(of, path)
  local turns = vim.tbl_filter(function(turn)
    return names(of, turn, path)
  end, listed[of] or {}) ---@type hermes.TurnChanges[]
  return vim.tbl_filter(function(turn)
    return turn.sessionId == turns[1].sessionId
  end, turns)
end

--- Tells the server that the user has accepted the changes of a file.
---@param of hermes.Connection
---@param turns hermes.TurnChanges[]
---@param path string
local function accept(of, turns, path)
  for _, turn in ipairs(turns) do
    local args = { sessionId = turn.sessionId, checkpointId = turn.checkpointId, files = { path } }
    of:request(protocol.method.checkpoint_accept, args, function(err)
      if err then
        require("hermes.connection").say(err.message, vim.log.levels.ERROR)
      end
    end)
  end
  listed[of] = vim.tbl_filter(function(turn)
    return not (vim.tbl_contains(turns, turn) and #turn.files == 1)
  end, listed[of] or {})
end

--- Shows the signs of a buffer.
---@param of hermes.Connection
---@param buf integer
local function show(of, buf)
  local path = vim.uv.fs_realpath(vim.api.nvim_buf_get_name(buf))
  local turns = path and turns_of(of, path) or {}
  local oldest = turns[#turns]
  if not oldest then
    return inline.unsign(buf)
  end
  local args = { sessionId = oldest.sessionId, checkpointId = oldest.checkpointId, path = path }
  of:request(protocol.method.checkpoint_file, args, function(err, file)
    local after = not err and compat.some(file.after)
    if not after or not vim.api.nvim_buf_is_loaded(buf) then
      return
    end
    local before = rests.before(of.root, path, oldest.checkpointId) or inline.lines_in(compat.some(file.content) or "")
    inline.signs(buf, before, inline.lines_in(after), function(left, accepted)
      rests.keep(of.root, path, not accepted and { id = oldest.checkpointId, before = left } or nil)
      if accepted then
        accept(of, turns, path)
      end
    end)
  end)
end

---@param of hermes.Connection
---@param buf integer
---@return boolean
local function belongs(of, buf)
  local name = vim.api.nvim_buf_get_name(buf)
  return vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" and vim.startswith(name, of.root .. "/")
end

--- Asks the server for the changes that wait, and shows them in all open files.
---@param of hermes.Connection
function M.refresh(of)
  if not config.current.signs then
    return
  end
  of:request(protocol.method.checkpoint_changes, { cwd = of.root }, function(err, result)
    if err then
      return -- checkpoints are off
    end
    listed[of] = result.changes
    local waiting = {} ---@type table<string, boolean>
    for _, turn in ipairs(result.changes) do
      waiting[turn.checkpointId] = true
    end
    rests.prune(of.root, waiting)
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if belongs(of, buf) then
        show(of, buf)
      end
    end
  end)
end

--- The user has accepted all changes that the last turn has made in a buffer, after an edit.
---@param buf integer
function M.accepted(buf)
  local of, path = require("hermes.connection").of(buf), vim.uv.fs_realpath(vim.api.nvim_buf_get_name(buf))
  of:request(protocol.method.checkpoint_changes, { cwd = of.root }, function(err, result)
    if not err and path then
      listed[of] = result.changes
      accept(of, { turns_of(of, path)[1] }, path)
    end
  end)
end

--- A buffer was attached. The first one asks for the changes of earlier sessions.
---@param of hermes.Connection
---@param buf integer
function M.attached(of, buf)
  if not config.current.signs then
    return
  elseif not listed[of] then
    listed[of] = {}
    M.refresh(of)
  elseif #listed[of] > 0 and belongs(of, buf) then
    show(of, buf)
  end
end

--- Shows the hunk at a line in a floating window, as a diff.
---@param buf integer
---@param row integer
local function preview(buf, row)
  local hunk, before = inline.hunk_at(buf, row)
  if not hunk then
    return require("hermes.connection").say("there is no change at the cursor")
  end
  local lines = {}
  for i = hunk.from, hunk.from + hunk.removed - 1 do
    table.insert(lines, "-" .. before[i])
  end
  for _, line in ipairs(vim.api.nvim_buf_get_lines(buf, hunk.row - 1, hunk.row - 1 + hunk.added, false)) do
    table.insert(lines, "+" .. line)
  end
  vim.lsp.util.open_floating_preview(lines, "diff", { border = "single", focus_id = "hermes.hunk" })
end

--- Goes to the next or the previous hunk. At the end of the file, it goes on from the start.
---@param buf integer
---@param forward boolean
local function go(buf, forward)
  local rows = inline.rows(buf)
  if #rows == 0 then
    return require("hermes.connection").say("the agent has changed nothing in this file that waits")
  end
  local cursor = vim.api.nvim_win_get_cursor(0)[1]
  local target = forward and rows[1] or rows[#rows]
  for i = 1, #rows do
    local row = rows[forward and i or #rows + 1 - i]
    if forward and row > cursor or not forward and row < cursor then
      target = row
      break
    end
  end
  vim.cmd("normal! m'")
  vim.api.nvim_win_set_cursor(0, { target, 0 })
end

M.actions = { "accept", "next", "preview", "previous", "revert" }

--- Runs an action of `:Hermes hunk` for lines of a buffer.
---@param buf integer
---@param action string
---@param first integer
---@param last integer
function M.run(buf, action, first, last)
  if action == "" or action == "next" or action == "previous" then
    return go(buf, action ~= "previous")
  elseif action == "preview" then
    return preview(buf, first)
  elseif action == "accept" or action == "revert" then
    return inline.decide(buf, first, last, action == "accept", true)
  end
  require("hermes.connection").say("there is no such action; there are " .. table.concat(M.actions, ", "), vim.log.levels.WARN)
end

return M
