--- Functions that differ between the supported versions of Neovim.
local M = {}

local methods = vim.fn.has("nvim-0.11") == 1

--- Calls a method of a language client, which were functions before 0.11.
---@param client vim.lsp.Client
---@param name string
local function call(client, name, ...)
  if methods then
    return client[name](client, ...)
  end
  return client[name](...)
end

--- Starts a language client, or finds the one of the same name and root. Without a
--- buffer it knows no document yet.
---@param settings vim.lsp.ClientConfig
---@param buf? integer
---@return integer? id
function M.start(settings, buf)
  local options = {
    bufnr = buf,
    reuse_client = function(client, wanted)
      return client.name == wanted.name and client.config.root_dir == wanted.root_dir
    end,
  }
  if not buf and not methods then
    return vim.lsp.start_client(settings)
  end
  options.attach = buf ~= nil
  return vim.lsp.start(settings, options)
end

---@param client vim.lsp.Client
---@param method string
---@param params table
---@param done fun(err: table?, result: any)
---@param buf integer whose unsent changes go first
function M.request(client, method, params, done, buf)
  return call(client, "request", method, params, done, buf)
end

---@param client vim.lsp.Client
---@param method string
---@param params table
function M.notify(client, method, params)
  return call(client, "notify", method, params)
end

---@param client vim.lsp.Client
function M.stop(client)
  return call(client, "stop")
end

--- JSON's null, which comes as nil or as vim.NIL.
---@generic T
---@param value T
---@return T?
function M.some(value)
  if value == vim.NIL then
    return nil
  end
  return value
end

--- A byte column as the server counts it.
---@param line string
---@param column integer from 0
---@param encoding string
---@return integer
function M.character(line, column, encoding)
  column = math.max(0, math.min(column, #line))
  if encoding == "utf-8" then
    return column
  end
  if methods then
    return vim.str_utfindex(line, encoding, column, false)
  end
  local utf32, utf16 = vim.str_utfindex(line, column)
  return encoding == "utf-16" and utf16 or utf32
end

--- Returns the byte column of a position. It is the inverse of character.
---@param line string
---@param character integer from 0
---@param encoding string
---@return integer
function M.byte(line, character, encoding)
  if encoding == "utf-8" then
    return math.min(character, #line)
  end
  if methods then
    return vim.str_byteindex(line, encoding, character, false)
  end
  local ok, column = pcall(vim.str_byteindex, line, character, encoding == "utf-16")
  return ok and column or #line
end

--- Whether all clients know a document by the same versions. Before 0.11, each begins at 0.
M.same_versions = methods

--- A unified diff.
---@param old string
---@param new string
---@return string
function M.diff(old, new)
  local diff = vim.text and vim.text.diff or vim.diff
  return diff(old, new, { ctxlen = 3, algorithm = "histogram" }) --[[@as string]]
end

return M
