--- Links in the chat: names of files with their lines, as answers have them. `gf` and `gd` go there.
local M = {}

--- Characters of a path that is not in a Markdown link.
local path_char = "[%w%._%-/\\~@+%%:#]"

---@param text string
---@return string path, integer? line, integer? column
local function split(text)
  local path, line, column = text:match("^(.-)#L(%d+)C?(%d*)")
  if not path then
    path, line, column = text:match("^(.-):(%d+):?(%d*)")
  end
  if not path or path == "" then
    return text, nil, nil
  end
  return path, tonumber(line), tonumber(column)
end

--- Returns the target of the Markdown link at a byte of a line. If there is none, returns nil.
---@param line string
---@param col integer from 1
---@return string?
local function markdown(line, col)
  local start = 1
  while true do
    local from, to, target = line:find("%[[^%]]*%]%(([^)%s]+)[^)]*%)", start)
    if not from then
      return nil
    elseif from <= col and col <= to then
      return target
    end
    start = to + 1
  end
end

--- Returns the word of path characters at a byte of a line.
---@param line string
---@param col integer from 1
---@return string?
local function word(line, col)
  local from, to = col, col
  while from > 1 and line:sub(from - 1, from - 1):find(path_char) do
    from = from - 1
  end
  while to < #line and line:sub(to + 1, to + 1):find(path_char) do
    to = to + 1
  end
  local text = line:sub(from, to):gsub("[.:#]+$", "")
  return text:find(path_char) and text or nil
end

---@param path string
---@return boolean
local function is_file(path)
  local stat = vim.uv.fs_stat(path)
  return stat ~= nil and stat.type == "file"
end

--- Returns the files that calls of the session have named and whose paths end in a name.
---@param session hermes.Session
---@param name string
---@return string[]
local function touched(session, name)
  local found = {}
  for _, item in ipairs(session.items) do
    local places = item.call and require("hermes.compat").some(item.call.locations) or {}
    for _, place in ipairs(places) do
      if place.path and vim.endswith(place.path, "/" .. name) and not vim.tbl_contains(found, place.path) and is_file(place.path) then
        table.insert(found, place.path)
      end
    end
  end
  return found
end

--- Returns the file that an answer of the session means by a path: one below the root, else the one file with
--- this name that a call has read or changed, else the one file of the workspace with this name.
---@param session hermes.Session
---@param path string
---@return string?
local function resolve(session, path)
  local root = session.connection.root
  if path:find("^file://") then
    local ok, name = pcall(vim.uri_to_fname, path)
    path = ok and name or path
  end
  path = path:gsub("^~/", vim.uv.os_homedir() .. "/"):gsub("^%./", "")
  for _, name in ipairs({ path, (path:gsub("^@", "")), (vim.uri_decode(path)) }) do
    local full = name:sub(1, 1) == "/" and name or root .. "/" .. name
    if is_file(full) then
      return full
    end
  end
  local found = touched(session, path)
  if #found == 0 and not path:find("^/") and path:find("%.") then -- else each word would search the workspace
    local base = vim.fs.basename(path)
    found = vim.fs.find(function(name, dir)
      return name == base and vim.endswith(dir .. "/" .. name, "/" .. path)
    end, { path = root, type = "file", limit = 2 })
  end
  return #found == 1 and found[1] or nil
end

--- Returns the place that the text under the cursor names. If it names no file, returns nil.
---@param session hermes.Session
---@return { path: string, line?: integer, column?: integer }?
function M.here(session)
  local line, col = vim.api.nvim_get_current_line(), vim.api.nvim_win_get_cursor(0)[2] + 1
  for _, text in ipairs({ markdown(line, col) or false, word(line, col) or false }) do
    if text and not text:find("^%a[%w+.-]+://") or text and text:find("^file://") then
      local path, row, column = split(text)
      local file = path ~= "" and resolve(session, path)
      if file then
        return { path = file, line = row, column = column }
      end
    end
  end
end

--- Opens the file under the cursor at its line, in a window for files. Reports whether there is one.
---@param session hermes.Session
---@return boolean
function M.go(session)
  local place = M.here(session)
  if not place then
    return false
  end
  require("hermes.view").leave()
  vim.cmd("normal! m'")
  vim.cmd.edit(vim.fn.fnameescape(place.path))
  if place.line then
    local row = math.min(place.line, vim.api.nvim_buf_line_count(0))
    local text = vim.api.nvim_buf_get_lines(0, row - 1, row, false)[1] or ""
    vim.api.nvim_win_set_cursor(0, { row, math.min(math.max((place.column or 1) - 1, 0), #text) })
    vim.cmd("normal! zz")
  end
  return true
end

return M
