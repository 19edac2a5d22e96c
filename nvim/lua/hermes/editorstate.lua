--- The part of the editor that the user sees, for the server.
local compat = require("hermes.compat")
local diagnostics = require("hermes.diagnostics")

local M = {}

--- How many files are told at most.
local most = 100

---@param buf integer
---@return boolean
local function is_file(buf)
  local name = vim.api.nvim_buf_get_name(buf)
  return vim.bo[buf].buftype == "" and name ~= "" and not name:find("^%a[%w+.-]+://")
end

--- The last selection: its buffer and lines, the line of the cursor, and the state of the text.
---@type { buf: integer, first: integer, last: integer, row: integer, tick: integer }?
local selected

--- Keeps the selection when visual mode ends: a window that opens for a prompt ends it.
function M.keep_selection()
  local buf = vim.api.nvim_get_current_buf()
  selected = {
    buf = buf,
    first = vim.fn.line("'<"),
    last = vim.fn.line("'>"),
    row = vim.api.nvim_win_get_cursor(0)[1],
    tick = vim.api.nvim_buf_get_changedtick(buf),
  }
end

--- The lines that are selected. If visual mode has ended, they are those that were, unless the
--- cursor has left its line or the text has changed.
---@param buf integer
---@param win integer
---@param row integer
---@return integer? first
---@return integer? last
local function selection(buf, win, row)
  if vim.api.nvim_get_current_win() == win and vim.api.nvim_get_mode().mode:find("^[vV\22]") then
    local other = vim.fn.line("v")
    return math.min(row, other), math.max(row, other)
  end
  if selected and selected.buf == buf and selected.row == row and selected.tick == vim.api.nvim_buf_get_changedtick(buf) then
    return selected.first, selected.last
  end
end

--- The cursor, the selection and the visible lines of a buffer.
---@param buf integer
---@param encoding string
---@return hermes.EditorPlace
local function place(buf, encoding)
  local out = { uri = vim.uri_from_bufnr(buf) } ---@type hermes.EditorPlace
  local win = vim.fn.bufwinid(buf)
  if win == -1 then
    return out
  end
  local row, column = unpack(vim.api.nvim_win_get_cursor(win))
  local line = vim.api.nvim_buf_get_lines(buf, row - 1, row, false)[1] or ""
  out.position = { line = row - 1, character = compat.character(line, math.min(column, #line), encoding) }
  out.visible = {
    start = { line = vim.fn.line("w0", win) - 1, character = 0 },
    ["end"] = { line = vim.fn.line("w$", win), character = 0 },
  }
  local first, last = selection(buf, win, row)
  if first then
    out.selection = {
      start = { line = first - 1, character = 0 },
      ["end"] = { line = last, character = 0 },
    }
  end
  return out
end

--- The files that are open, the last used first.
---@return hermes.EditorFile[]
local function open()
  local infos = vim.tbl_filter(function(info)
    return info.loaded == 1 and is_file(info.bufnr)
  end, vim.fn.getbufinfo({ buflisted = 1 }))
  table.sort(infos, function(a, b)
    if a.lastused == b.lastused then
      return a.bufnr > b.bufnr
    end
    return a.lastused > b.lastused
  end)
  local files = {}
  for i = 1, math.min(#infos, most) do
    files[i] = { uri = vim.uri_from_bufnr(infos[i].bufnr), unsaved = infos[i].changed == 1 or nil }
  end
  return files
end

--- The numbers of problems of the files that have some.
---@return hermes.EditorProblems[]
local function problems()
  local list, of = {}, {}
  for _, d in ipairs(vim.diagnostic.get()) do
    local field = d.severity == vim.diagnostic.severity.ERROR and "errors" or d.severity == vim.diagnostic.severity.WARN and "warnings"
    if field and vim.api.nvim_buf_is_valid(d.bufnr) and is_file(d.bufnr) then
      local known = of[d.bufnr]
      if not known and #list < most then
        known = { uri = vim.uri_from_bufnr(d.bufnr) }
        of[d.bufnr] = known
        table.insert(list, known)
      end
      if known then
        known[field] = (known[field] or 0) + 1
      end
    end
  end
  return list
end

---@param source? integer the buffer that was used last
---@param encoding string
---@return hermes.EditorState
function M.now(source, encoding)
  local state = { open = open(), problems = problems() } ---@type hermes.EditorState
  if source and vim.api.nvim_buf_is_valid(source) and vim.api.nvim_buf_is_loaded(source) and is_file(source) then
    state.active = place(source, encoding)
  end
  return state
end

--- Answers with the diagnostics of all buffers.
---@param encoding string
---@return hermes.DiagnosticsResponse
function M.diagnostics(encoding)
  local files = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) and is_file(buf) then
      local list = diagnostics.of(buf, encoding)
      if #list > 0 then
        table.insert(files, { uri = vim.uri_from_bufnr(buf), diagnostics = list })
      end
    end
  end
  return { diagnostics = {}, files = files }
end

return M
