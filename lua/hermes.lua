-- require("hermes") for plugin managers that use the top folder of the repository.
local root = vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2)))
vim.opt.rtp:append(root .. "/nvim")
return dofile(root .. "/nvim/lua/hermes/init.lua")
