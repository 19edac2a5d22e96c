-- The chat: keys, colours, completion.
if vim.b.did_ftplugin then
  return
end
vim.b.did_ftplugin = true

local buf = vim.api.nvim_get_current_buf()
local keys = require("hermes.config").current.chat.keys

pcall(vim.treesitter.start, buf, "markdown")
vim.bo[buf].omnifunc = "v:lua.require'hermes.context'.complete"
vim.bo[buf].textwidth = 0
vim.bo[buf].commentstring = ""

---@param modes string|string[]
---@param key string|false|nil
---@param what string
---@param run string|fun(view: hermes.View)
local function map(modes, key, what, run)
  if not key then
    return
  end
  vim.keymap.set(modes, key, type(run) == "string" and run or function()
    local view = require("hermes.view").of(buf)
    if view then
      run(view)
    end
  end, { buffer = buf, nowait = true, silent = true, desc = "Hermes: " .. what })
end

map("n", keys.send, "send the message", function(view)
  view:send()
end)
map("i", keys.send_insert, "send the message", function(view)
  vim.cmd.stopinsert()
  view:send()
end)
map("n", keys.cancel, "cancel what runs", function(view)
  view.session:cancel()
end)
map("n", keys.hide, "hide the chat", function()
  require("hermes.view").hide()
end)
map("n", keys.fold, "open or close a fold", "za")
map("n", keys.next, "next message", function()
  vim.fn.search("^## \\(You\\|Hermes\\)$", "W")
end)
map("n", keys.previous, "previous message", function()
  vim.fn.search("^## \\(You\\|Hermes\\)$", "bW")
end)
map("n", keys.diff, "go to the file under the cursor, or review what this call changed", function(view)
  if not require("hermes.links").go(view.session) then
    view:review_here()
  end
end)
map("n", keys.file, "go to the file under the cursor", function(view)
  if not require("hermes.links").go(view.session) then
    require("hermes.connection").say("there is no file under the cursor")
  end
end)
map("n", keys.help, "keys", function()
  vim.cmd.help("hermes-chat")
end)
