local encoding = require("hermes.encoding")
local languageservers = require("hermes.languageservers")

---@param got any
---@param want any
local function same(got, want)
  if not vim.deep_equal(got, want) then
    error(("got %s\nwant %s"):format(vim.inspect(got), vim.inspect(want)), 2)
  end
end

--- A file with a line on which each encoding counts differently, and its address.
---@return string uri
local function file()
  local path = vim.fn.tempname() .. ".txt"
  vim.fn.writefile({ "äö😀 x", "plain" }, path)
  return vim.uri_from_fname(path)
end

local function range(line, from, to)
  return { start = { line = line, character = from }, ["end"] = { line = line, character = to } }
end

local T = {}

T["positions change their encoding"] = function()
  local uri = file()
  for name, at in pairs({ ["utf-8"] = { 9, 10 }, ["utf-16"] = { 5, 6 }, ["utf-32"] = { 4, 5 } }) do
    local theirs = { { uri = uri, range = range(0, at[1], at[2]) } }
    local ours = { { uri = uri, range = range(0, 5, 6) } }
    same(encoding.convert(theirs, name, "utf-16"), ours)
    same(encoding.convert(ours, "utf-16", name), theirs)
    same(encoding.convert({ position = { line = 0, character = 5 } }, "utf-16", name, uri), { position = { line = 0, character = at[1] } })
  end
  same(encoding.convert(range(0, 100, 101), "utf-8", "utf-16", uri), range(0, 6, 6))
  same(encoding.convert(range(7, 1, 2), "utf-8", "utf-16", uri), range(7, 0, 0))
end

T["each part of a message is about its own document"] = function()
  local uri, other = file(), "file:///nowhere/other.txt"
  local function message(at)
    return {
      { originSelectionRange = range(0, at, at), targetUri = other, targetRange = range(0, 0, 0), targetSelectionRange = range(0, 0, 0) },
      { edit = { changes = { [uri] = { { range = range(0, at, at), newText = "y" } }, [other] = { { range = range(0, 0, 0), newText = "" } } } } },
      {
        edit = {
          documentChanges = {
            { textDocument = { uri = uri, version = 3 }, edits = { { range = range(0, at, at), newText = "y" } } },
            { kind = "rename", oldUri = uri, newUri = other },
          },
        },
        data = { range = range(0, 9, 9) },
        command = { title = "x", command = "x", arguments = { { uri = uri, range = range(0, 9, 9) } } },
      },
      { name = "f", kind = 12, range = range(0, at, at), selectionRange = range(1, 2, 2), children = { { name = "g", range = range(0, at, at) } } },
      { location = { uri = uri, range = range(0, at, at) } },
    }
  end
  same(encoding.convert(message(9), "utf-8", "utf-16", uri), message(5))
  same(encoding.convert(message(5), "utf-16", "utf-8", uri), message(9))
end

T["an empty object stays one"] = function()
  same(vim.json.encode(encoding.convert({ a = vim.empty_dict() }, "utf-8", "utf-16")), '{"a":{}}')
end

T["the text of an open buffer decides"] = function()
  local buf = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_buf_set_name(buf, vim.fn.tempname())
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, { "ää" })
  same(encoding.convert(range(0, 2, 4), "utf-8", "utf-16", vim.uri_from_bufnr(buf)), range(0, 1, 2))
end

--- The answer to a request.
local function ask(method, params)
  local got
  languageservers.ask({ method = method, params = params }, function(result, err)
    got = { result = result, err = err }
  end)
  vim.wait(5000, function()
    return got ~= nil
  end, 1)
  return got
end

T["other methods are not passed on"] = function()
  for _, method in ipairs({ "workspace/executeCommand", "textDocument/formatting", "initialize", "$/cancelRequest" }) do
    same(ask(method, {}).err.code, -32601)
  end
end

T["without a language server there is no answer"] = function()
  same(ask("textDocument/hover", { textDocument = { uri = file() }, position = { line = 0, character = 0 } }), { result = { results = {} } })
  same(ask("workspace/symbol", { query = "x" }), { result = { results = {} } })
  same(ask("textDocument/hover", { textDocument = { uri = "file:///nowhere/none.txt" } }).err.code, -32803)
  same(ask("textDocument/hover", {}).err.code, -32602)
end

--- A language server in this process.
---@param answers table<string, fun(params: table): any>
---@param capabilities table
---@param heard? fun(method: string, params: table)
local function server(answers, capabilities, heard)
  return function(dispatchers)
    local closing, id = false, 0
    return {
      request = function(method, params, callback)
        id = id + 1
        if method == "initialize" then
          callback(nil, { capabilities = capabilities })
        elseif answers[method] then
          callback(nil, answers[method](params))
        else
          callback(nil, nil)
        end
        return true, id
      end,
      notify = function(method, params)
        if heard then
          heard(method, params)
        end
        if method == "exit" then
          closing = true
          dispatchers.on_exit(0, 0)
        end
        return true
      end,
      is_closing = function()
        return closing
      end,
      terminate = function()
        closing = true
      end,
    }
  end
end

T["the agent itself is not asked, and servers may count in UTF-8"] = function()
  local uri = file()
  vim.cmd.edit(vim.uri_to_fname(uri))
  local buf = vim.api.nvim_get_current_buf()
  local asked
  local capabilities = { hoverProvider = true, renameProvider = true, positionEncoding = "utf-8" }
  local answers = {
    ["textDocument/hover"] = function(params)
      asked = params.position
      return { contents = "text", range = range(0, 9, 10) }
    end,
    ["textDocument/rename"] = function()
      return { documentChanges = { { textDocument = { uri = uri, version = 0 }, edits = { { range = range(0, 9, 10), newText = "y" } } } } }
    end,
  }
  local ids = {
    vim.lsp.start({ name = "plain", cmd = server(answers, capabilities), offset_encoding = "utf-8" }, { bufnr = buf }),
    vim.lsp.start({ name = "hermes", cmd = server(answers, capabilities) }, { bufnr = buf }),
    vim.lsp.start({
      name = "other",
      cmd = server(answers, vim.tbl_extend("force", capabilities, { experimental = { agentClientProtocol = { protocolVersion = 1 } } })),
    }, { bufnr = buf }),
  }
  vim.wait(2000, function()
    return #vim.lsp.get_clients({ bufnr = buf }) == 3
  end, 1)
  vim.lsp.get_client_by_id(ids[1]).offset_encoding = "utf-8"
  local at = { textDocument = { uri = uri }, position = { line = 0, character = 5 }, newName = "y" }
  same(ask("textDocument/hover", at).result, { results = { { server = "plain", result = { contents = "text", range = range(0, 5, 6) } } } })
  same(asked, { line = 0, character = 9 })
  local edit = ask("textDocument/rename", at).result.results[1].result.documentChanges[1]
  same(edit.edits, { { range = range(0, 5, 6), newText = "y" } })
  -- An edit of a text that has changed meanwhile is of no use.
  local rename = answers["textDocument/rename"]
  answers["textDocument/rename"] = function()
    vim.api.nvim_buf_set_lines(buf, 0, 0, false, { "new" })
    return rename()
  end
  same(ask("textDocument/rename", at).err.code, -32803)
  vim.bo[buf].modified = false
  for _, id in ipairs(ids) do
    vim.lsp.get_client_by_id(id).stop(vim.fn.has("nvim-0.11") == 1 and vim.lsp.get_client_by_id(id) or nil)
  end
end

T["servers hear of files that the agent has edited, once"] = function()
  local path = vim.fn.tempname()
  vim.fn.writefile({ "x" }, path)
  local heard = {}
  vim.cmd.edit(path)
  local id = vim.lsp.start({
    name = "plain",
    cmd = server({}, { workspaceSymbolProvider = true }, function(method, params)
      if method == "workspace/didChangeWatchedFiles" then
        table.insert(heard, params.changes)
      end
    end),
  }, { bufnr = vim.api.nvim_get_current_buf() })
  vim.wait(2000, function()
    return #vim.lsp.get_clients({ id = id }) == 1
  end, 1)
  local function edit(name, old)
    languageservers.observe({ content = { { type = "diff", path = name, oldText = old, newText = "x" } } })
  end
  edit(path)
  edit(path, "x") -- it is new for the servers
  edit("/nowhere/gone.txt", "x")
  languageservers.observe({ content = { { type = "content", content = { type = "text", text = "x" } } } })
  languageservers.observe({ status = "completed" })
  ask("workspace/symbol", { query = "x" })
  ask("workspace/symbol", { query = "x" })
  same(#heard, 1)
  local kinds = {}
  for _, change in ipairs(heard[1]) do
    kinds[vim.uri_to_fname(change.uri)] = change.type
  end
  same(kinds, { [path] = 1, ["/nowhere/gone.txt"] = 3 })
  vim.lsp.get_client_by_id(id).stop(vim.fn.has("nvim-0.11") == 1 and vim.lsp.get_client_by_id(id) or nil)
end

return T
