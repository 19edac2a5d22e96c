-- Commands and mappings only; the rest is read when it is used first.
if vim.g.loaded_hermes then
  return
end
vim.g.loaded_hermes = true

if vim.fn.has("nvim-0.10") == 0 then
  vim.api.nvim_create_user_command("Hermes", function()
    vim.notify("Hermes needs Neovim 0.10 or later", vim.log.levels.ERROR)
  end, { nargs = "*" })
  return
end

vim.api.nvim_create_user_command("Hermes", function(command)
  require("hermes.commands").run(command)
end, {
  nargs = "*",
  range = true,
  desc = "Ask Hermes, or one of its sub-commands",
  complete = function(lead, line)
    return require("hermes.commands").complete(lead, line)
  end,
})

-- <Plug>(hermes-explain) and its kin; in visual mode they are about the selection.
for _, name in ipairs({
  "accept",
  "ask",
  "cancel",
  "chat",
  "close",
  "delegate",
  "diff",
  "document",
  "edit",
  "explain",
  "fix",
  "fork",
  "mode",
  "model",
  "new",
  "reject",
  "resume",
  "review",
  "rollback",
  "sessions",
  "subagents",
  "test",
  "toggle",
  "transcript",
}) do
  vim.keymap.set({ "n", "x" }, "<Plug>(hermes-" .. name .. ")", function()
    require("hermes.commands").mapped(name)
  end, { desc = "Hermes: " .. name })
end
