--- An input below the cursor's line. If the user has another vim.ui.input, that one asks.
local M = {}

local builtin = debug.getinfo(vim.ui.input, "S").source

--- Opens the input and calls done with the text, or with nil if the user cancels.
---@param prompt string
---@param done fun(text: string?)
function M.ask(prompt, done)
  if not builtin:find("vim/ui.lua", 1, true) or debug.getinfo(vim.ui.input, "S").source ~= builtin then
    return vim.ui.input({ prompt = prompt }, done)
  end
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  local win = vim.api.nvim_open_win(buf, true, {
    relative = "cursor",
    row = 1,
    col = 0,
    width = math.max(20, math.min(72, vim.o.columns - 4)),
    height = 1,
    border = "rounded",
    style = "minimal",
    title = " " .. vim.trim(prompt) .. " ",
  })
  local open = true
  local function close(text)
    if not open then
      return
    end
    open = false
    vim.cmd.stopinsert()
    if vim.api.nvim_win_is_valid(win) then
      vim.api.nvim_win_close(win, true)
    end
    vim.schedule(function()
      done(text)
    end)
  end
  vim.keymap.set({ "i", "n" }, "<CR>", function()
    close(table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), " "))
  end, { buffer = buf })
  for _, key in ipairs({ "<Esc>", "<C-c>" }) do
    vim.keymap.set({ "i", "n" }, key, function()
      close()
    end, { buffer = buf })
  end
  vim.api.nvim_create_autocmd("WinLeave", {
    buffer = buf,
    once = true,
    callback = function()
      close()
    end,
  })
  vim.cmd.startinsert()
end

return M
