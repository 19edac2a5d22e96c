--- Converts the positions in messages of the Language Server Protocol from one encoding to another.
local compat = require("hermes.compat")

local M = {}

--- Returns a function that returns lines of documents, from the buffer if there is one. It reads each file once.
---@return fun(uri: string, row: integer): string
local function reader()
  local files = {} ---@type table<string, string[]>
  return function(uri, row)
    local path = vim.uri_to_fname(uri)
    local buf = vim.fn.bufnr(path)
    if buf ~= -1 and vim.api.nvim_buf_is_loaded(buf) then
      return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
    end
    if not files[uri] then
      local ok, lines = pcall(vim.fn.readfile, path)
      files[uri] = ok and lines or {}
    end
    return files[uri][row + 1] or ""
  end
end

--- Returns a copy of a message with its positions in another encoding. Members that only the server reads stay.
---@param message any
---@param from string
---@param to string
---@param uri string? of the document that ranges without one are about
---@return any
function M.convert(message, from, to, uri)
  if from == to then
    return message
  end
  local line = reader()
  local walk
  ---@param p lsp.Position
  ---@param of string
  local function position(p, of)
    local text = line(of, p.line)
    return { line = p.line, character = compat.character(text, compat.byte(text, p.character, from), to) }
  end
  ---@param value any
  ---@param of string?
  ---@param key any the name of the value
  ---@param origin string?
  function walk(value, of, key, origin)
    if type(value) ~= "table" or key == "data" or key == "arguments" then
      return value
    end
    if type(value.line) == "number" and type(value.character) == "number" then
      return of and position(value, of) or value
    end
    local document = value.textDocument
    of = value.targetUri or value.uri or (type(document) == "table" and document.uri) or of
    local out = setmetatable({}, getmetatable(value)) -- an empty list stays one
    for name, member in pairs(value) do
      local about = of
      if name == "originSelectionRange" then
        about = origin
      elseif key == "changes" and type(name) == "string" then
        about = name
      end
      out[name] = walk(member, about, name, origin)
    end
    return out
  end
  return walk(message, uri, nil, uri)
end

return M
