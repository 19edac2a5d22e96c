-- The plugin with wrong options and without its server: it says so, and goes on.
local host = dofile(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2)) .. "/host.lua")
local said = {}
vim.notify = function(text)
  table.insert(said, text)
end

vim.opt.rtp:append(vim.env.HERMES_NVIM)
vim.cmd.source(vim.env.HERMES_NVIM .. "/plugin/hermes.lua")
require("hermes").setup({ cmd = { "no-such-hermes" }, chta = {}, chat = { size = "big" } })
vim.cmd.edit(host.workspace .. "/shop.py")
vim.cmd("Hermes hello there")

local conversation
host.wait("the chat to say that there is no server", function()
  for _, connection in pairs(require("hermes.connection").all()) do
    conversation = connection.current or conversation
  end
  local text = conversation and table.concat(vim.api.nvim_buf_get_lines(require("hermes.view").get(conversation).buf, 0, -1, false), "\n")
  return text and text:find("hello there", 1, true) and text:find("no-such-hermes could not be started", 1, true)
end)
host.wait("the words", function()
  local all = table.concat(said, "\n")
  return all:find("there is no option chta", 1, true)
    and all:find("chat.size must be a number", 1, true)
    and all:find("no-such-hermes is not on the PATH", 1, true)
end)
if conversation:running() then
  host.fail("what was never asked is said to run")
end
if not require("hermes").statusline():find("no server", 1, true) then
  host.fail("the statusline is " .. require("hermes").statusline())
end
vim.cmd("qall!")
