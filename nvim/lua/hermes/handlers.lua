--- Handlers for the server's messages of the Agent Client Protocol on the LSP connection.
local protocol = require("hermes.protocol")

local M = {}

--- Answers a request when start's callback is called: Neovim runs handlers of requests
--- in a coroutine of their own.
---@param start fun(answer: fun(result: table?, err: lsp.ResponseError?))
---@return table? result
---@return lsp.ResponseError? err
local function await(start)
  local running = coroutine.running()
  local answered = false
  start(function(result, err)
    if answered then
      return
    end
    answered = true
    vim.schedule(function()
      coroutine.resume(running, result, err)
    end)
  end)
  return coroutine.yield()
end

---@param connection hermes.Connection
---@return table<string, lsp.Handler>
function M.of(connection)
  ---@param id string
  ---@return hermes.Session
  local function session(id)
    return connection:session(id)
  end
  local method = protocol.method
  return {
    ["workspace/applyEdit"] = require("hermes.edits").apply,
    [method.session_update] = function(_, params)
      session(params.sessionId):update(params.update)
      if params.update.sessionUpdate == "tool_call_update" and params.update.status == "completed" then
        require("hermes.edits").reload_all()
      end
      require("hermes.languageservers").observe(params.update)
    end,
    [method.request_permission] = function(_, params)
      return await(function(answer)
        require("hermes.questions").permission(session(params.sessionId), params, answer)
      end)
    end,
    [method.elicit] = function(_, params)
      return await(function(answer)
        require("hermes.questions").form(session(params.sessionId), params, answer)
      end)
    end,
    [method.diagnostics] = function(_, params)
      if not params.uri then
        return require("hermes.editorstate").diagnostics(connection.client.offset_encoding)
      end
      return await(function(answer)
        require("hermes.diagnostics").news(params, connection.client.offset_encoding, answer)
      end)
    end,
    [method.lsp] = function(_, params)
      return await(function(answer)
        require("hermes.languageservers").ask(params, answer)
      end)
    end,
    [method.subagents_ready] = function(_, params)
      session(params.sessionId):subagents_ready(params.subagents, params.start)
    end,
  }
end

return M
