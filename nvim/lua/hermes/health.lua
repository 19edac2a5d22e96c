--- :checkhealth hermes
local M = {}

local health = vim.health

local function neovim()
  health.start("Neovim")
  if vim.fn.has("nvim-0.10") == 1 then
    health.ok(tostring(vim.version()))
  else
    health.error("Neovim 0.10 or later is needed")
  end
  if pcall(vim.treesitter.language.inspect, "markdown") then
    health.ok("the chat has the colors of Markdown")
  else
    health.warn("there is no Tree-sitter parser for Markdown: the chat has few colors", { ":TSInstall markdown markdown_inline" })
  end
  if vim.o.autoread then
    health.ok("files that commands change are read again ('autoread')")
  else
    health.warn("'autoread' is off: files that commands change are not read again", { "set autoread" })
  end
end

--- Runs the program as the server is run.
---@param word string
---@param limit integer ms
---@return vim.SystemCompleted
local function run(word, limit)
  local config = require("hermes.config").current
  return vim.system({ config.cmd[1], word }, { text = true, env = config.env }):wait(limit)
end

local function program()
  health.start("The program")
  local command = require("hermes.config").current.cmd[1]
  if vim.fn.executable(command) == 0 then
    health.error(command .. " is not on the PATH", { "install hermes-ls, or set cmd in require('hermes').setup{}" })
    return
  end
  local version = run("version", 10000)
  if version.code ~= 0 or not vim.startswith(version.stdout or "", "hermes-ls ") then
    local said = vim.trim((version.stdout or "") .. (version.stderr or ""))
    health.error(vim.fn.exepath(command) .. " is not hermes-ls: " .. said, { "set cmd in require('hermes').setup{}" })
    return
  end
  health.ok(vim.fn.exepath(command) .. ": " .. vim.trim(version.stdout):gsub("\n", ", "))
  local doctor = run("doctor", 60000)
  for line in vim.gsplit(vim.trim(doctor.stdout or ""), "\n") do
    local state, said = line:match("^(%S+)%s+(.*)$")
    local report = ({ ok = health.ok, fail = health.error })[state] or health.info
    report(said or line)
  end
  if doctor.code ~= 0 then
    health.error("hermes-ls doctor: the main job cannot run", { "see the lines above" })
  end
end

local function plugin()
  health.start("The plugin")
  if require("hermes").done then
    health.ok("set up")
  else
    health.info("require('hermes').setup{} was not called: the server starts with the first :Hermes")
  end
  for _, problem in ipairs(require("hermes.config").problems) do
    health.warn("setup: " .. problem, { ":help hermes-options" })
  end
  local any = false
  for root, connection in pairs(require("hermes.connection").all()) do
    any = true
    if connection.client then
      health.ok(("at work in %s (%s)"):format(root, connection.client.server_info and connection.client.server_info.version or "?"))
    else
      health.warn("no server runs for " .. root, { ":Hermes restart", ":Hermes doctor" })
    end
  end
  if not any then
    health.info("no server runs yet")
  end
end

function M.check()
  neovim()
  program()
  plugin()
end

return M
