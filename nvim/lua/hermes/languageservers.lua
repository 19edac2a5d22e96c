--- Passes requests of the agent on to the language servers that are attached in Neovim.
local compat = require("hermes.compat")
local diagnostics = require("hermes.diagnostics")
local encoding = require("hermes.encoding")

local M = {}

local methods = {
  ["textDocument/definition"] = true,
  ["textDocument/implementation"] = true,
  ["textDocument/typeDefinition"] = true,
  ["textDocument/references"] = true,
  ["textDocument/hover"] = true,
  ["textDocument/documentSymbol"] = true,
  ["textDocument/diagnostic"] = true,
  ["textDocument/prepareRename"] = true,
  ["textDocument/rename"] = true,
  ["textDocument/codeAction"] = true,
  ["codeAction/resolve"] = true,
  ["workspace/symbol"] = true,
}

local code = { method_not_found = -32601, invalid_params = -32602, request_failed = -32803 }

--- The agent's positions are in this encoding.
local ours = "utf-16"

--- How long a server may take to attach, in milliseconds: one that starts, and one of which nothing is seen yet.
local starting, unseen = 30000, 1000

--- How long the first diagnostics of a file may take that was just opened, and the first work of a server that has just
--- started.
local first_diagnostics, first_work = 3000, 10000

--- How many files are kept open for the language servers, and how large they may be.
local most_hidden, most_bytes = 20, 4 * 1024 * 1024

--- Buffers that only the language servers use, the oldest first. The agent does not know them: for it, these
--- files are not open.
---@type integer[]
local hidden = {}

--- Buffers that were opened for the language servers and have not got diagnostics yet.
---@type table<integer, true>
local unjudged = {}

--- Files that the agent has edited and of which the language servers have not been told, with the kind of the change.
---@type table<string, integer>
local edited = {}

--- Clients that know the workspace, or the functions that wait for that.
---@type table<integer, true|fun()[]>
local warm = {}

--- Buffers with a client that has loaded their project, or the functions that wait for that.
---@type table<string, true|fun()[]>
local loaded = {}

--- File types of which a buffer was without a language server.
---@type table<string, true>
local without = {}

--- How long after a change of a text a server may still look for fixes, and how often it is asked in this time. gopls does
--- not tell when it has found them.
local fixes_late, fixes_again = 3000, 250

--- When the language servers got the text of a document, in milliseconds.
---@type table<string, integer>
local sent = {}

local group = vim.api.nvim_create_augroup("hermes.languageservers", {})

vim.api.nvim_create_autocmd("LspNotify", {
  group = group,
  callback = function(event)
    if event.data.method == "textDocument/didOpen" or event.data.method == "textDocument/didChange" then
      sent[event.data.params.textDocument.uri] = vim.uv.now()
    end
  end,
})

vim.api.nvim_create_autocmd("LspAttach", {
  group = group,
  callback = function(event)
    if not M.is_agent(vim.lsp.get_client_by_id(event.data.client_id)) then
      without[vim.bo[event.buf].filetype] = nil
    end
  end,
})

--- Whether a client is the agent's own.
---@param client vim.lsp.Client?
---@return boolean
function M.is_agent(client)
  return client ~= nil and (client.name == "hermes" or vim.tbl_get(client.server_capabilities or {}, "experimental", "agentClientProtocol") ~= nil)
end

---@param buf integer
local function forget(buf)
  hidden = vim.tbl_filter(function(b)
    return b ~= buf
  end, hidden)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.b[buf].hermes_hidden = nil
  end
end

--- Returns the buffer of a file, if there is one.
---@param uri string
---@return integer?
local function buffer_of(uri)
  local path = vim.uri_to_fname(uri)
  return vim.iter(vim.api.nvim_list_bufs()):find(function(buf)
    return vim.api.nvim_buf_get_name(buf) == path
  end)
end

--- The user uses a hidden buffer now: it becomes one like others.
---@param buf integer
local function hand_over(buf)
  if vim.tbl_contains(hidden, buf) then
    forget(buf)
    require("hermes.connection").attach(buf)
  end
end

--- Has hidden buffers read again whose files have changed, and closes the oldest if there are too many.
---@param keep integer?
local function refresh(keep)
  for _, buf in ipairs(vim.deepcopy(hidden)) do
    if not vim.api.nvim_buf_is_loaded(buf) then
      forget(buf)
    elseif vim.bo[buf].buflisted or vim.bo[buf].modified or #vim.fn.win_findbuf(buf) > 0 then
      hand_over(buf)
    elseif not vim.uv.fs_stat(vim.api.nvim_buf_get_name(buf)) or (#hidden >= most_hidden and buf ~= keep) then
      forget(buf)
      pcall(vim.api.nvim_buf_delete, buf, { force = true })
    else
      pcall(vim.cmd, buf .. "checktime")
    end
  end
end

--- Returns the language servers of a buffer, or all.
---@param filter table
---@return vim.lsp.Client[]
local function servers(filter)
  return vim.tbl_filter(function(client)
    return not M.is_agent(client)
  end, vim.lsp.get_clients(filter))
end

--- Remembers the files that a tool call has edited.
---@param update table of the session
function M.observe(update)
  for _, content in ipairs(type(update.content) == "table" and update.content or {}) do
    if content.type == "diff" and type(content.path) == "string" and content.path:sub(1, 1) == "/" then
      edited[content.path] = compat.some(content.oldText) and (edited[content.path] or 2) or 1
    end
  end
end

--- Tells the language servers of the files that the agent has edited: on some systems, Neovim does not watch files.
local function tell_edited()
  if not next(edited) then
    return
  end
  local changes = {}
  for path, kind in pairs(edited) do
    table.insert(changes, { uri = vim.uri_from_fname(path), type = vim.uv.fs_stat(path) and kind or 3 })
  end
  edited = {}
  for _, client in ipairs(servers({})) do
    compat.notify(client, "workspace/didChangeWatchedFiles", { changes = changes })
  end
end

--- Returns the loaded buffer of a file. If the file is not open, it opens it without showing it.
---@param uri string
---@return integer? buf
---@return string? err
local function open(uri)
  local path, buf = vim.uri_to_fname(uri), buffer_of(uri)
  if buf and vim.api.nvim_buf_is_loaded(buf) then
    refresh(buf)
    return buf
  end
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= "file" or stat.size > most_bytes then
    return nil, ("%s cannot be opened in Neovim"):format(path)
  end
  refresh()
  buf = vim.fn.bufadd(path)
  vim.b[buf].hermes_hidden = true -- before events tell others of it
  unjudged[buf] = true
  vim.api.nvim_create_autocmd("DiagnosticChanged", {
    buffer = buf,
    once = true,
    callback = function()
      unjudged[buf] = nil
      sent[uri] = vim.uv.now()
    end,
  })
  vim.api.nvim_create_autocmd("BufWinEnter", {
    buffer = buf,
    once = true,
    callback = function()
      hand_over(buf)
    end,
  })
  vim.fn.bufload(buf)
  table.insert(hidden, buf)
  if vim.bo[buf].filetype == "" then
    vim.bo[buf].filetype = vim.filetype.match({ buf = buf }) or ""
  end
  return buf
end

--- Calls a function once: when a condition holds, which is looked at after each event, or after a limit in milliseconds.
---@param events string|string[]
---@param limit integer
---@param condition fun(): boolean?
---@param done fun()
local function when(events, limit, condition, done)
  if condition() then
    return done()
  end
  local watch ---@type integer?
  local function finish()
    if watch then
      vim.api.nvim_del_autocmd(watch)
      watch = nil
      done()
    end
  end
  watch = vim.api.nvim_create_autocmd(events, {
    callback = vim.schedule_wrap(function()
      if watch and condition() then
        finish()
      end
    end),
  })
  vim.defer_fn(finish, limit)
end

--- Calls a function when the language servers of a buffer are attached, or when there seem to be none.
---@param buf integer
---@param done fun()
local function when_attached(buf, done)
  local filetype = vim.bo[buf].filetype
  local function attached()
    return #servers({ bufnr = buf }) > 0
  end
  local function starts()
    return #servers({ bufnr = buf, _uninitialized = true }) > #servers({ bufnr = buf })
  end
  when("LspAttach", without[filetype] and 0 or unseen, function()
    return attached() or starts()
  end, function()
    if not attached() and not starts() then
      without[filetype] = true
      return done()
    end
    when("LspAttach", starting, function()
      return not starts()
    end, done)
  end)
end

--- Calls a function when something was done, which is done once. Others wait for the same.
---@param states table<any, true|fun()[]>
---@param key any
---@param start fun(finish: fun())
---@param done fun()
local function after(states, key, start, done)
  local state = states[key]
  if state == true then
    return done()
  end
  if state then
    return table.insert(state, done)
  end
  states[key] = { done }
  start(function()
    local waiting = states[key] --[[@as fun()[] ]]
    states[key] = true
    for _, go_on in ipairs(waiting) do
      go_on()
    end
  end)
end

--- Calls a function when a buffer that was opened for its servers has got diagnostics.
---@param buf integer
---@param limit integer in milliseconds
---@param done fun()
local function when_judged(buf, limit, done)
  if #servers({ bufnr = buf }) == 0 then
    return done()
  end
  when("DiagnosticChanged", limit, function()
    return not unjudged[buf]
  end, function()
    unjudged[buf] = nil
    done()
  end)
end

--- Calls a function when the servers of a buffer that have just been started know the workspace: they have judged the
--- buffer and report no work.
---@param buf integer
---@param done fun()
local function when_warm(buf, done)
  local all = servers({ bufnr = buf })
  local open_clients = #all + 1
  local function one_more()
    open_clients = open_clients - 1
    if open_clients == 0 then
      done()
    end
  end
  for _, client in ipairs(all) do
    after(warm, client.id, function(finish)
      when_judged(buf, first_work, function()
        when("LspProgress", first_work, function()
          return next(client.progress.pending) == nil
        end, finish)
      end)
    end, one_more)
  end
  one_more()
end

--- Returns the diagnostics of some lines as their server sent them: it finds its fixes by them.
---@param client vim.lsp.Client
---@param buf integer
---@param range lsp.Range
---@return lsp.Diagnostic[]
local function diagnostics_in(client, buf, range)
  local list = vim.diagnostic.get(buf)
  local told = diagnostics.of(buf, client.offset_encoding)
  local out = {}
  for i, d in ipairs(list) do
    if d.lnum <= range["end"].line and (d.end_lnum or d.lnum) >= range.start.line then
      table.insert(out, vim.tbl_extend("force", vim.tbl_get(d, "user_data", "lsp") or {}, told[i]))
    end
  end
  return out
end

--- Returns the buffers that an edit changes, with the state of their text.
---@return table<integer, integer>
local function ticks()
  local out = {}
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      out[buf] = vim.api.nvim_buf_get_changedtick(buf)
    end
  end
  return out
end

--- Returns the edit with versions that the agent knows, or nil if a document has changed since the request.
---@param edit any
---@param before table<integer, integer>
---@return boolean
local function up_to_date(edit, before)
  if type(edit) ~= "table" then
    return true
  end
  local uris = vim.tbl_keys(compat.some(edit.changes) or {})
  for _, change in ipairs(compat.some(edit.documentChanges) or {}) do
    if change.textDocument then
      table.insert(uris, change.textDocument.uri)
      if not compat.same_versions or change.textDocument.version == nil then
        change.textDocument.version = vim.NIL
      end
    end
  end
  return vim.iter(uris):all(function(uri)
    local buf = buffer_of(uri)
    return not buf or not before[buf] or (vim.api.nvim_buf_is_loaded(buf) and vim.api.nvim_buf_get_changedtick(buf) == before[buf])
  end)
end

--- Brings the result of a server into the form for the agent. It returns nil if a document has changed since the request.
---@param client vim.lsp.Client
---@param method string
---@param uri string?
---@param result any
---@param before table<integer, integer>
---@return any
local function for_agent(client, method, uri, result, before)
  result = encoding.convert(result, client.offset_encoding, ours, uri)
  if method == "textDocument/rename" then
    return up_to_date(compat.some(result), before) and result or nil
  end
  if method == "textDocument/codeAction" then
    for _, action in ipairs(compat.some(result) or {}) do
      if not up_to_date(compat.some(action.edit), before) then
        return nil
      end
      if type(action.command) ~= "string" and not compat.some(action.edit) then
        action.data = { hermes = { client = client.id, uri = uri }, data = action.data }
      end
    end
  end
  return result
end

--- Sends a request to servers, and answers with the results of those that respond without an error.
---@param clients vim.lsp.Client[]
---@param method string
---@param buf integer
---@param uri string?
---@param params_for fun(client: vim.lsp.Client): table
---@param answer fun(result: table?, err: lsp.ResponseError?)
local function request(clients, method, buf, uri, params_for, answer)
  local before = ticks()
  local open_requests, results, failed = #clients, {}, nil
  if #clients == 0 then
    return answer({ results = {} })
  end
  local stopped ---@type integer
  local done = {} ---@type table<integer, true>
  ---@param client vim.lsp.Client
  local function answered(client, err, result)
    if done[client.id] then
      return
    end
    done[client.id] = true
    if not err then
      result = for_agent(client, method, uri, result == nil and vim.NIL or result, before)
      err = result == nil and { message = "a document has changed meanwhile" } or nil
    end
    if err then
      failed = failed or { code = code.request_failed, message = err.message }
    else
      table.insert(results, { server = client.name, result = result })
    end
    open_requests = open_requests - 1
    if open_requests > 0 then
      return
    end
    pcall(vim.api.nvim_del_autocmd, stopped)
    if #results == 0 then
      return answer(nil, failed)
    end
    local found = vim.tbl_filter(function(r)
      return type(r.result) == "table" and next(r.result) ~= nil
    end, results)
    answer({ results = #found > 0 and found or results })
  end
  local gone = { message = "the language server has stopped" }
  stopped = vim.api.nvim_create_autocmd("LspDetach", {
    callback = function(event)
      for _, client in ipairs(clients) do
        if client.id == event.data.client_id and (event.buf == buf or vim.tbl_count(client.attached_buffers) <= 1) then
          vim.schedule(function()
            answered(client, gone)
          end)
        end
      end
    end,
  })
  for _, client in ipairs(clients) do
    local params = encoding.convert(params_for(client), ours, client.offset_encoding, uri)
    local accepted = compat.request(client, method, params, function(err, result)
      answered(client, err, result)
    end, buf)
    if not accepted then
      answered(client, gone)
    end
  end
end

--- While a server of TypeScript loads a project, it answers most requests from single files. It does not do so for
--- types: their answer comes after the project is loaded.
local in_parts = { typescript = true, typescriptreact = true, javascript = true, javascriptreact = true }

--- Calls a function when the servers of a buffer have loaded its project.
---@param buf integer
---@param uri string
---@param done fun()
local function when_loaded(buf, uri, done)
  local method = "textDocument/typeDefinition"
  local all = in_parts[vim.bo[buf].filetype] and servers({ bufnr = buf, method = method }) or {}
  if #all == 0 then
    return done()
  end
  after(loaded, buf .. " " .. all[1].id, function(finish)
    request(all, method, buf, uri, function()
      return { textDocument = { uri = uri }, position = { line = 0, character = 0 } }
    end, finish)
  end, done)
end

--- Resolves a code action by the server that listed it.
---@param action table
---@param answer fun(result: table?, err: lsp.ResponseError?)
local function resolve(action, answer)
  local mark = vim.tbl_get(action, "data", "hermes")
  local client = type(mark) == "table" and vim.lsp.get_client_by_id(mark.client)
  if not client or compat.some(action.edit) then
    return answer({ results = { { server = "neovim", result = action } } })
  end
  local supported = vim.lsp.get_clients({ id = client.id, method = "codeAction/resolve" })
  action = vim.tbl_extend("force", action, { data = action.data.data })
  request(supported, "codeAction/resolve", buffer_of(mark.uri) or 0, mark.uri, function()
    return action
  end, answer)
end

--- Answers with the diagnostics of a buffer: those that Neovim shows, and those that servers give on request.
---@param buf integer
---@param uri string
---@param answer fun(result: table?, err: lsp.ResponseError?)
local function answer_diagnostics(buf, uri, answer)
  local method = "textDocument/diagnostic"
  local asked = servers({ bufnr = buf, method = method })
  ---@param given table?
  local function finish(given)
    local list = vim.api.nvim_buf_is_loaded(buf) and diagnostics.of(buf, ours) or {}
    local seen = {}
    local function key(d)
      return table.concat({ d.range.start.line, d.range.start.character, d.message }, "\n")
    end
    for _, d in ipairs(list) do
      seen[key(d)] = true
    end
    for _, r in ipairs(given and given.results or {}) do
      for _, d in ipairs(type(r.result) == "table" and compat.some(r.result.items) or {}) do
        if not seen[key(d)] then
          table.insert(list, d)
        end
      end
    end
    local names = vim.tbl_map(function(client)
      return client.name
    end, servers({ bufnr = buf }))
    if #names == 0 and #list == 0 then
      return answer({ results = {} })
    end
    answer({ results = { { server = #names > 0 and table.concat(names, ", ") or "neovim", result = { kind = "full", items = list } } } })
  end
  if #asked == 0 then
    return when_judged(buf, first_diagnostics, finish)
  end
  request(asked, method, buf, uri, function()
    return { textDocument = { uri = uri } }
  end, finish)
end

--- Whether a result has a fix of a problem.
---@param result table?
---@return boolean
local function has_fix(result)
  return vim.iter(result and result.results or {}):any(function(r)
    return vim.iter(compat.some(r.result) or {}):any(function(action)
      return vim.startswith(compat.some(action.kind) or "", "quickfix")
    end)
  end)
end

--- Sends a request about a document to the servers of its buffer.
---@param method string
---@param params table
---@param buf integer
---@param uri string
---@param answer fun(result: table?, err: lsp.ResponseError?)
local function ask_about(method, params, buf, uri, answer)
  request(servers({ bufnr = buf, method = method }), method, buf, uri, function()
    return params
  end, answer)
end

--- Asks for the code actions of some lines. If there are problems without a fix and the text is new, it asks again.
---@param params table
---@param buf integer
---@param uri string
---@param answer fun(result: table?, err: lsp.ResponseError?)
local function ask_actions(params, buf, uri, answer)
  local method, problems = "textDocument/codeAction", 0
  request(servers({ bufnr = buf, method = method }), method, buf, uri, function(client)
    local range = encoding.convert(params.range, ours, client.offset_encoding, uri)
    local known = encoding.convert(diagnostics_in(client, buf, range), client.offset_encoding, ours, uri)
    problems = problems + #known
    return vim.tbl_extend("force", params, { context = vim.tbl_extend("force", params.context or {}, { diagnostics = known }) })
  end, function(result, err)
    if problems == 0 or has_fix(result) or vim.uv.now() - (sent[uri] or 0) > fixes_late then
      return answer(result, err)
    end
    vim.defer_fn(function()
      if not vim.api.nvim_buf_is_loaded(buf) then
        return answer(result, err)
      end
      ask_actions(params, buf, uri, answer)
    end, fixes_again)
  end)
end

--- Answers a request of the agent.
---@param request_of hermes.LSPRequest
---@param answer fun(result: hermes.LSPResponse?, err: lsp.ResponseError?)
function M.ask(request_of, answer)
  local method, params = request_of.method, request_of.params
  if not methods[method] then
    return answer(nil, { code = code.method_not_found, message = ("%s is not passed on to language servers"):format(method) })
  end
  if method == "codeAction/resolve" then
    return resolve(params, answer)
  end
  tell_edited()
  if method == "workspace/symbol" then
    refresh()
    return request(servers({ method = method }), method, 0, nil, function()
      return params
    end, answer)
  end
  local uri = vim.tbl_get(params, "textDocument", "uri")
  if type(uri) ~= "string" then
    return answer(nil, { code = code.invalid_params, message = "textDocument is missing" })
  end
  local ok, buf, err = pcall(open, uri)
  if not ok or not buf then
    return answer(nil, { code = code.request_failed, message = tostring(ok and err or buf) })
  end
  when_attached(buf, function()
    if not vim.api.nvim_buf_is_loaded(buf) then
      return answer({ results = {} })
    end
    when_warm(buf, function()
      when_loaded(buf, uri, function()
        if method == "textDocument/diagnostic" then
          return answer_diagnostics(buf, uri, answer)
        end
        if method ~= "textDocument/codeAction" then
          return ask_about(method, params, buf, uri, answer)
        end
        when_judged(buf, first_diagnostics, function()
          ask_actions(params, buf, uri, answer)
        end)
      end)
    end)
  end)
end

return M
