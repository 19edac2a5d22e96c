-- The plugin with wrong options and without its server: it says so, and goes on.
local host = dofile(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2)) .. "/host.lua")
local said = {}
vim.notify = function(text)
  table.insert(said, text)
end

vim.opt.rtp:append(vim.env.HERMES_NVIM)
vim.cmd.source(vim.env.HERMES_NVIM .. "/plugin/hermes.lua")
require("hermes").setup({
  cmd = { "no-such-hermes" },
  chta = {},
  chat = { size = "big", position = "middle", keys = { send = 3, hide = false } },
  on_new_prompt = "later",
  env = { 1 },
})
vim.cmd.edit(host.workspace .. "/shop.py")
vim.cmd("Hermes hello there")

local session
host.wait("the chat to say that there is no server", function()
  for _, connection in pairs(require("hermes.connection").all()) do
    session = connection.current or session
  end
  local text = session and table.concat(vim.api.nvim_buf_get_lines(require("hermes.view").get(session).buf, 0, -1, false), "\n")
  return text and text:find("hello there", 1, true) and text:find("no-such-hermes could not be started", 1, true)
end)
host.wait("the words", function()
  local all = table.concat(said, "\n")
  return all:find("there is no option chta", 1, true)
    and all:find('on_new_prompt must be "interrupt" or "queue", not "later"', 1, true)
    and all:find("chat.keys.send must be a key such as <CR>, or false, not 3", 1, true)
    and all:find('chat.position must be "right"', 1, true)
    and all:find("env must be a table of strings by name, not { 1 }", 1, true)
    and all:find('chat.size must be a number above 0, not "big"', 1, true)
    and all:find("no-such-hermes is not on the PATH", 1, true)
end)
if require("hermes.config").current.chat.keys.hide ~= false or require("hermes.config").current.chat.keys.send ~= "<CR>" then
  host.fail("the options are " .. vim.inspect(require("hermes.config").current.chat))
end
vim.cmd.checkhealth("hermes")
local health = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n")
for _, want in ipairs({ "no-such-hermes is not on the PATH", "setup: there is no option chta", "no server runs for " .. host.workspace }) do
  if not health:find(want, 1, true) then
    host.fail("the health check does not say " .. want .. ":\n" .. health)
  end
end
if session:running() then
  host.fail("what was never asked is said to run")
end
if not require("hermes").statusline():find("no server", 1, true) then
  host.fail("the statusline is " .. require("hermes").statusline())
end
vim.cmd("qall!")
