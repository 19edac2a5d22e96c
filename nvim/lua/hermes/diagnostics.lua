--- Neovim's diagnostics of a file, in the server's form.
local compat = require("hermes.compat")

local M = {}

--- The diagnostics of a buffer, counted as the server counts columns.
---@param buf integer
---@param encoding string
---@param keep? fun(d: vim.Diagnostic): boolean
---@return hermes.Diagnostic[]
function M.of(buf, encoding, keep)
  local list = {} ---@type hermes.Diagnostic[]
  ---@param row integer
  ---@param column integer
  local function position(row, column)
    local line = vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
    return { line = row, character = compat.character(line, column, encoding) }
  end
  for _, d in ipairs(vim.diagnostic.get(buf)) do
    if not keep or keep(d) then
      table.insert(list, {
        range = { start = position(d.lnum, d.col), ["end"] = position(d.end_lnum or d.lnum, d.end_col or d.col) },
        severity = d.severity,
        source = d.source,
        code = d.code,
        message = d.message,
      })
    end
  end
  return list
end

--- Answers with the diagnostics of a file that was just edited: with those that come
--- within the wait, else with those there are.
---@param params hermes.DiagnosticsRequest
---@param encoding string
---@param answer fun(result: hermes.DiagnosticsResponse)
function M.news(params, encoding, answer)
  local buf = vim.fn.bufnr(vim.uri_to_fname(params.uri))
  if buf == -1 or not vim.api.nvim_buf_is_loaded(buf) then
    return answer({ diagnostics = {} })
  end
  local done = false
  local watch ---@type integer
  local function finish()
    if not done then
      done = true
      vim.api.nvim_del_autocmd(watch)
      answer({ diagnostics = vim.api.nvim_buf_is_loaded(buf) and M.of(buf, encoding) or {} })
    end
  end
  watch = vim.api.nvim_create_autocmd("DiagnosticChanged", {
    buffer = buf,
    callback = function()
      vim.schedule(finish)
    end,
  })
  vim.defer_fn(finish, params.wait or 0)
end

return M
