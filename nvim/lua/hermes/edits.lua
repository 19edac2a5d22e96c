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

---@param buf integer
---@return string
local function text_of(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
end

--- Whether the file of a buffer without unsaved changes has another text, which Neovim has been told
--- to leave alone. If it was written then, Neovim would ask.
---@param buf integer
---@return boolean
local function is_outdated(buf)
  local encoding = vim.bo[buf].fileencoding
  if encoding ~= "" and encoding ~= "utf-8" or vim.bo[buf].fileformat ~= "unix" or vim.bo[buf].bomb then
    return false
  end
  local file = io.open(vim.api.nvim_buf_get_name(buf), "rb")
  if not file then
    return false
  end
  local text = file:read("*a")
  file:close()
  return text ~= nil and (text:gsub("\n$", "")) ~= text_of(buf)
end

--- Reloads the files that a tool call has changed on disk. Buffers with 'noautoread' stay as they are.
function M.reload_all()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    if is_clean_file(buf) and vim.o.autoread and vim.bo[buf].autoread ~= false then
      reload(buf)
    end
  end
end

--- Writes a buffer. It asks the user nothing: the keys may be meant for another text.
---@param buf integer
---@return string? why it was not saved
local function save(buf)
  local confirm = vim.o.confirm
  vim.o.confirm = false
  local ok, err = pcall(vim.api.nvim_buf_call, buf, function()
    vim.cmd("silent lockmarks write")
  end)
  vim.o.confirm = confirm
  if not ok then
    local first = tostring(err):match("^[^\n]*") -- a stack trace follows
    return (first:gsub("^.-nvim_exec2%(%)%.%.", ""):gsub("^.-Vim%(write%):", ""):gsub("^.-(E%d+:)", "%1"))
  end
  if vim.bo[buf].modified then
    return "the buffer is still modified after :write"
  end
end

--- Reloads a buffer without unsaved changes before an edit of it.
---@param buf integer
---@return boolean changed the buffer has another text now
local function reload_before_edit(buf)
  local before = text_of(buf)
  reload(buf)
  if is_outdated(buf) then
    pcall(vim.api.nvim_buf_call, buf, function()
      vim.cmd("silent edit")
    end)
  end
  return text_of(buf) ~= before
end

--- Handles workspace/applyEdit.
---@param err lsp.ResponseError?
---@param params { edit: lsp.WorkspaceEdit, label?: string, save?: boolean }
---@param ctx lsp.HandlerContext
---@return table result
function M.apply(err, params, ctx)
  local clean = {}
  for _, change in ipairs(params.edit.documentChanges or {}) do
    local doc = change.textDocument
    if doc then
      local buf, version = vim.uri_to_bufnr(doc.uri), tonumber(doc.version)
      local now = vim.lsp.util.buf_versions[buf]
      local changed = now and version and now > version -- Neovim would confirm an edit that it does not make
      if is_clean_file(buf) then
        changed = reload_before_edit(buf) or changed
        table.insert(clean, buf)
      end
      if changed then
        return { applied = false, failureReason = "the buffer has changed" }
      end
      if version then
        doc.version = vim.lsp.util.buf_versions[buf] or version -- a reload of the same text changes it
      end
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
