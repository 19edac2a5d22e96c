--- Edits of the server: made in the buffer, so that undo works, and saved if the buffer had no
--- unsaved changes, so that commands and tests see them.
local config = require("hermes.config")

local M = {}

--- Reloads a buffer without unsaved changes if its file has changed.
---@param buf integer
local function reload(buf)
  local autoread = vim.bo[buf].autoread
  vim.bo[buf].autoread = true -- else Neovim asks
  pcall(vim.cmd, "silent! checktime " .. buf)
  if vim.api.nvim_buf_is_valid(buf) then
    vim.bo[buf].autoread = autoread
  end
end

---@param buf integer
---@return boolean
local function is_clean_file(buf)
  return vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" and not vim.bo[buf].modified and vim.api.nvim_buf_get_name(buf) ~= ""
end

--- Reloads the files that a tool call has changed on disk. Buffers with 'noautoread' stay as they are.
function M.reload_all()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if is_clean_file(buf) and vim.o.autoread and vim.bo[buf].autoread ~= false then
      reload(buf)
    end
  end
end

--- Writes a buffer.
---@param buf integer
---@return string? why it was not saved
local function save(buf)
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent lockmarks write")
  end)
  if not ok then
    return (tostring(err):gsub("^.-(E%d+:)", "%1"))
  end
  if vim.bo[buf].modified then
    return "the buffer is still modified after :write"
  end
end

--- The documents of an edit, with the versions that it is for.
---@param edit lsp.WorkspaceEdit
---@return { buf: integer, version: integer? }[]
local function documents(edit)
  local list = {}
  for _, change in ipairs(edit.documentChanges or {}) do
    if change.textDocument then
      local buf = vim.uri_to_bufnr(change.textDocument.uri)
      table.insert(list, { buf = buf, version = tonumber(change.textDocument.version) })
    end
  end
  return list
end

--- Handles workspace/applyEdit.
---@param err lsp.ResponseError?
---@param params { edit: lsp.WorkspaceEdit, label?: string, save?: boolean }
---@param ctx lsp.HandlerContext
---@return table result
function M.apply(err, params, ctx)
  local clean = {}
  for _, doc in ipairs(documents(params.edit)) do
    if is_clean_file(doc.buf) then
      reload(doc.buf)
      table.insert(clean, doc.buf)
    end
    local now = vim.lsp.util.buf_versions[doc.buf]
    if now and doc.version and now > doc.version then -- Neovim would confirm an edit that it does not make
      return { applied = false, failureReason = "the buffer has changed" }
    end
  end
  -- Without the label: Neovim prints it, and two messages before the next redraw make it ask for Enter.
  local result = vim.lsp.handlers["workspace/applyEdit"](err, { edit = params.edit }, ctx)
  if not result.applied or params.save == false then
    return result
  end
  if not config.current.save_edits then
    result.failureReason, result.notSaved = "save_edits is off", true
    return result
  end
  for _, buf in ipairs(clean) do
    local why = vim.bo[buf].modified and save(buf)
    if why then
      result.failureReason, result.notSaved = why, true
    end
  end
  return result
end

return M
