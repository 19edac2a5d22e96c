--- The sessions of a workspace: reads them, and shows them as a tree in a window.
local connection = require("hermes.connection")
local protocol = require("hermes.protocol")
local when = require("hermes.when")

local M = {}

--- One line of the window.
---@class hermes.SessionRow
---@field session hermes.SessionInfo
---@field text string
---@field note? string shown behind the text

---@class hermes.SessionWindow
---@field of hermes.Connection
---@field buf integer
---@field query string
---@field rows hermes.SessionRow[]
---@field asked integer number of requests for rows

local space = vim.api.nvim_create_namespace("hermes.sessions")

---@param session hermes.SessionInfo
---@return table what the protocol has no word for
local function extra(session)
  return type(session._meta) == "table" and session._meta.hermes or {}
end

---@param text any
---@return string one line; empty if there is none
local function line(text)
  return type(text) == "string" and (text:gsub("%s+", " ")) or ""
end

--- Reads the sessions of a workspace that have a title, newest first, without subagents.
---@param of hermes.Connection
---@param done fun(sessions: hermes.SessionInfo[])
function M.list(of, done)
  local found = {} ---@type hermes.SessionInfo[]
  local function page(cursor)
    of:request(protocol.method.session_list, { cwd = of.root, cursor = cursor }, function(err, result)
      if err then
        return connection.say(err.message, vim.log.levels.ERROR)
      end
      for _, s in ipairs(result.sessions) do
        if line(s.title) ~= "" and not extra(s).subagent then
          table.insert(found, s)
        end
      end
      if type(result.nextCursor) == "string" and result.nextCursor ~= "" and #found < 1000 then
        return page(result.nextCursor)
      end
      done(found)
    end)
  end
  page(nil)
end

--- Returns rows with forks below the session that they come from, in the order of the list.
---@param sessions hermes.SessionInfo[]
---@return hermes.SessionRow[]
function M.tree(sessions)
  local known, forks = {}, {} ---@type table<string, boolean>, table<string, hermes.SessionInfo[]>
  for _, s in ipairs(sessions) do
    known[s.sessionId] = true
  end
  local rows = {} ---@type hermes.SessionRow[]
  local function add(s, depth)
    local mark = depth > 0 and ("  "):rep(depth - 1) .. "└ " or ""
    table.insert(rows, { session = s, text = mark .. line(s.title), note = when.short(s.updatedAt) })
    for _, fork in ipairs(forks[s.sessionId] or {}) do
      add(fork, depth + 1)
    end
  end
  local top = {}
  for _, s in ipairs(sessions) do
    local parent = extra(s).parentId
    if known[parent] then
      forks[parent] = forks[parent] or {}
      table.insert(forks[parent], s)
    else
      table.insert(top, s)
    end
  end
  for _, s in ipairs(top) do
    add(s, 0)
  end
  return rows
end

--- Returns the rows of a search: each session with its hits below it, the best first.
---@param hits hermes.SessionHit[]
---@return hermes.SessionRow[]
function M.found(hits)
  local order, by = {}, {} ---@type hermes.SessionHit[], table<string, hermes.SessionHit[]>
  for _, hit in ipairs(hits) do
    if not by[hit.sessionId] then
      by[hit.sessionId] = {}
      table.insert(order, hit)
    end
    table.insert(by[hit.sessionId], hit)
  end
  local rows = {} ---@type hermes.SessionRow[]
  for _, first in ipairs(order) do
    table.insert(rows, { session = first, text = line(first.title), note = when.short(first.updatedAt) })
    for _, hit in ipairs(by[first.sessionId]) do
      table.insert(rows, { session = first, text = "  “" .. line(hit.snippet) .. "”" })
    end
  end
  return rows
end

---@param w hermes.SessionWindow
---@param rows hermes.SessionRow[]
local function draw(w, rows)
  if not vim.api.nvim_buf_is_valid(w.buf) then
    return
  end
  w.rows = rows
  local lines = vim.tbl_map(function(row)
    return row.text
  end, rows)
  if #lines == 0 then
    lines = { w.query == "" and "There are no sessions of this workspace yet." or "No session has these words." }
  end
  vim.bo[w.buf].modifiable = true
  vim.api.nvim_buf_set_lines(w.buf, 0, -1, false, lines)
  vim.bo[w.buf].modifiable, vim.bo[w.buf].modified = false, false
  for i, row in ipairs(rows) do
    if row.note then
      vim.api.nvim_buf_set_extmark(w.buf, space, i - 1, 0, { virt_text = { { "  " .. row.note, "HermesDim" } } })
    end
  end
end

--- Reads the sessions, or the hits of the query, again.
---@param w hermes.SessionWindow
local function refresh(w)
  w.asked = w.asked + 1
  local asked = w.asked
  local function show(rows)
    if asked == w.asked then -- else the rows of a later request are or will be shown
      draw(w, rows)
    end
  end
  if w.query == "" then
    return M.list(w.of, function(sessions)
      show(M.tree(sessions))
    end)
  end
  w.of:request(protocol.method.session_search, { cwd = w.of.root, query = w.query, limit = 100 }, function(err, result)
    if err then
      return connection.say(err.message, vim.log.levels.ERROR)
    end
    show(M.found(result.hits))
  end)
end

---@param w hermes.SessionWindow
---@param on { open: fun(id: string), delete: fun(session: hermes.SessionInfo, done: fun()) }
local function keys(w, on)
  local function map(key, what, run)
    vim.keymap.set("n", key, function()
      run(w.rows[vim.api.nvim_win_get_cursor(0)[1]])
    end, { buffer = w.buf, nowait = true, desc = "Hermes: " .. what })
  end
  map("<CR>", "resume this session", function(row)
    if row then
      vim.cmd.close()
      on.open(row.session.sessionId)
    end
  end)
  map("d", "delete this session", function(row)
    if row then
      on.delete(row.session, function()
        refresh(w)
      end)
    end
  end)
  map("s", "search the text of sessions", function()
    vim.ui.input({ prompt = "Search sessions: ", default = w.query }, function(query)
      if query then
        w.query = vim.trim(query)
        refresh(w)
      end
    end)
  end)
  map("r", "read the list again", function()
    refresh(w)
  end)
  map("q", "close this window", function()
    vim.cmd.close()
  end)
end

--- Opens a window with the sessions of a workspace, or with those that have the words.
---@param of hermes.Connection
---@param query string
---@param on { open: fun(id: string), delete: fun(session: hermes.SessionInfo, done: fun()) }
function M.open(of, query, on)
  vim.cmd("topleft 50vnew")
  local w = { of = of, buf = vim.api.nvim_get_current_buf(), query = query, rows = {}, asked = 0 }
  vim.bo[w.buf].buftype, vim.bo[w.buf].bufhidden, vim.bo[w.buf].swapfile = "nofile", "wipe", false
  vim.bo[w.buf].filetype = "hermes-sessions"
  pcall(vim.api.nvim_buf_set_name, w.buf, "hermes://sessions")
  vim.wo.wrap, vim.wo.cursorline, vim.wo.number, vim.wo.relativenumber, vim.wo.signcolumn = false, true, false, false, "no"
  vim.wo.winbar = "%#HermesDim#Enter resume · s search · d delete · q close"
  keys(w, on)
  refresh(w)
end

return M
