-- Loads the plugin as plugin managers do, by the steps in the documentation. No manager is
-- available as a package, so this file does their work.
local here = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
local host = dofile(here .. "/host.lua")
local repository = vim.fs.normalize(here .. "/../..")
vim.env.PATH = vim.fs.dirname(vim.env.HERMES_BIN) .. ":" .. vim.env.PATH

--- A command that is there before its plugin, and loads it: lazy.nvim's, by an API call.
local function when_called(load)
  vim.api.nvim_create_user_command("Hermes", function(event)
    vim.api.nvim_del_user_command("Hermes")
    load()
    local range = ({ {}, { event.line1 }, { event.line1, event.line2 } })[event.range + 1]
    vim.cmd({ cmd = "Hermes", args = event.fargs, range = range })
  end, { bang = true, range = true, nargs = "*" })
end

local ways = {
  -- A native package that is loaded when it is wanted.
  packadd = function()
    vim.cmd.packadd("hermes")
    require("hermes").setup({})
  end,
  -- lazy.nvim, `cmd = "Hermes"`: the folder, its plugin files, then setup with opts. The module is
  -- the only one in lua/.
  lazy = function()
    local doc = table.concat(vim.fn.readfile(repository .. "/docs/neovim.md"), "\n")
    local spec = assert(loadstring("return " .. doc:match("```lua\n(.-)```")))()
    when_called(function()
      vim.opt.rtp:prepend(repository)
      for _, file in ipairs(vim.fn.glob(repository .. "/plugin/**/*.lua", true, true)) do
        vim.cmd.source(file)
      end
      local modules = vim.fn.readdir(repository .. "/lua")
      assert(#modules == 1, "lazy.nvim finds the module by its folder lua/")
      require(vim.fn.fnamemodify(modules[1], ":r")).setup(spec.opts)
    end)
  end,
  -- The repository as a native package.
  start = function()
    vim.opt.rtp:prepend(repository)
    vim.cmd("runtime! plugin/**/*.vim plugin/**/*.lua")
    require("hermes").setup({})
  end,
  -- vim-plug and packer, `rtp = "nvim"`: the folder in it, sourced at once.
  rtp = function()
    vim.opt.rtp:prepend(repository .. "/nvim")
    vim.cmd("runtime! plugin/**/*.vim plugin/**/*.lua")
    require("hermes").setup({})
  end,
  -- vim-plug, `on: 'Hermes'`: the command again as text.
  on = function()
    vim.api.nvim_create_user_command("Hermes", function(event)
      vim.api.nvim_del_user_command("Hermes")
      vim.opt.rtp:prepend(repository .. "/nvim")
      vim.cmd.source(repository .. "/nvim/plugin/hermes.lua")
      local lines = event.line1 == event.line2 and "" or event.line1 .. "," .. event.line2
      vim.cmd(("%sHermes %s"):format(lines, event.args))
    end, { bang = true, range = true, nargs = "*" })
  end,
}

vim.cmd.filetype("plugin indent on")
ways[vim.g.way]()
vim.cmd.edit(host.workspace .. "/shop.py")
if vim.fn.exists(":Hermes") ~= 2 then
  host.fail(":Hermes is not there")
end
vim.cmd("1,2Hermes chat")
host.wait("the lines in the chat, and the server", function()
  return vim.bo.filetype == "hermes"
    and table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n"):find("About `shop.py`, lines 1–2:", 1, true)
    and require("hermes").statusline():find("idle", 1, true)
end)
if vim.fn.maparg("<CR>", "n") == "" then
  host.fail("the chat has no keys")
end
if vim.fn.getcompletion("Hermes ex", "cmdline")[1] ~= "explain" then
  host.fail("sub-commands are not completed")
end
vim.cmd.help("hermes-chat")
if not vim.api.nvim_buf_get_name(0):find("hermes.txt", 1, true) then
  host.fail("there is no help")
end
vim.cmd("qall!")
