--- Hermes in Neovim: a chat with an agent that works in the workspace.
local M = {}

local groups = {
  HermesHeading = "Title",
  HermesTitle = "Special",
  HermesDim = "Comment",
  HermesThought = "Comment",
  HermesInput = "String",
  HermesNotice = "DiagnosticInfo",
  HermesDone = "DiagnosticOk",
  HermesRunning = "DiagnosticHint",
  HermesAsking = "DiagnosticWarn",
  HermesFailed = "DiagnosticError",
  HermesSignAdd = "Added",
  HermesSignChange = "Changed",
  HermesSignDelete = "Removed",
}

--- Takes the options, and starts the server with the first file that has a root.
---@param options? hermes.Config
function M.setup(options)
  local config = require("hermes.config")
  local problems = config.set(options)
  if #problems > 0 then
    vim.notify("Hermes: require('hermes').setup: " .. table.concat(problems, "\n  "), vim.log.levels.WARN)
  end
  M.done = true
  for name, link in pairs(groups) do
    vim.api.nvim_set_hl(0, name, { link = link, default = true })
  end
  local group = vim.api.nvim_create_augroup("hermes", {})
  if not config.current.attach then
    return
  end
  local connection = require("hermes.connection")
  vim.api.nvim_create_autocmd("FileType", {
    group = group,
    callback = function(event)
      connection.attach(event.buf)
    end,
  })
  vim.api.nvim_create_autocmd("ModeChanged", {
    group = group,
    pattern = "[vV\22]*:[^vV\22]*",
    callback = function()
      require("hermes.editorstate").keep_selection()
    end,
  })
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buf) then
      connection.attach(buf)
    end
  end
end

--- Applies the default options if setup() was not called.
function M.ensure()
  if not M.done then
    M.setup()
  end
end

--- Asks, as :Hermes ask does.
---@param prompt string
function M.ask(prompt)
  require("hermes.commands").ask(prompt)
end

--- A part of a statusline: the activity, the model, and the used part of the context window.
---@return string
function M.statusline()
  return M.done and require("hermes.status").line() or ""
end

return M
