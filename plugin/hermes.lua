-- Plugin managers that use the top folder of the repository load the plugin in nvim/.
local root = vim.fs.dirname(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2)))
vim.opt.rtp:append(root .. "/nvim")
vim.cmd.source(vim.fn.fnameescape(root .. "/nvim/plugin/hermes.lua"))
