--- The server's commands as code actions and lenses run them: the answer goes into the
--- chat, whose session is the current one.
local protocol = require("hermes.protocol")

local M = {}

--- Shows the chat beside the user's window, and runs a command that starts a turn.
---@param connection hermes.Connection
---@param name string
---@param argument table
function M.turn(connection, name, argument)
  local session = connection:newest()
  require("hermes.view").show(session, { focus = false })
  session:command(name, argument)
end

--- Opens the chat and quotes the argument's lines in the draft.
---@param connection hermes.Connection
---@param argument hermes.ChatOpenArgs
local function chat(connection, argument)
  local view = require("hermes.view").show(connection:newest(), { focus = true })
  if argument.textDocument and argument.range then
    local first, last = argument.range.start.line + 1, argument.range["end"].line + 1
    if argument.range["end"].character == 0 and last > first then
      last = last - 1
    end
    view:quote(vim.uri_to_bufnr(argument.textDocument.uri), first, last)
  end
end

---@param connection hermes.Connection
---@return table<string, fun(command: lsp.Command)>
function M.of(connection)
  local command = protocol.command
  local run = {
    [command.chat_open] = function(c)
      chat(connection, (c.arguments or {})[1] or {})
    end,
  }
  for _, name in ipairs({ command.explain, command.fix, command.review, command.test, command.document, command.delegate, command.prompt }) do
    run[name] = function(c)
      M.turn(connection, name, (c.arguments or {})[1])
    end
  end
  return run
end

return M
