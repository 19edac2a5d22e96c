--- The parts of changes that the user has accepted, over restarts of Neovim. The server knows whole files
--- only. There is a file for each workspace, which only the user can read: it has text of the workspace.
local M = {}

--- The part of a change that the user has not accepted.
---@class hermes.Rest
---@field id string the checkpoint
---@field before string[] the earlier text with the accepted part

---@param root string
---@return string
local function file_of(root)
  return vim.fs.joinpath(vim.fn.stdpath("state"), "hermes-ls", "accepted", vim.fn.sha256(root) .. ".json")
end

--- Returns the rests of a workspace by path. If the file is missing or damaged, there are none.
---@param root string
---@return table<string, hermes.Rest>
local function read(root)
  local f = io.open(file_of(root), "r")
  if not f then
    return {}
  end
  local ok, all = pcall(vim.json.decode, f:read("*a"))
  f:close()
  return ok and type(all) == "table" and all or {}
end

--- Replaces the file. If Neovim ends during the write, the earlier file stays.
---@param root string
---@param all table<string, hermes.Rest>
local function write(root, all)
  local file = file_of(root)
  if not next(all) then
    vim.uv.fs_unlink(file)
    return
  end
  vim.fn.mkdir(vim.fs.dirname(file), "p", tonumber("700", 8))
  local new = ("%s.%d"):format(file, vim.uv.os_getpid())
  local fd = vim.uv.fs_open(new, "w", tonumber("600", 8))
  local done = fd and vim.uv.fs_write(fd, vim.json.encode(all))
  if fd then
    vim.uv.fs_close(fd)
  end
  if not done or not vim.uv.fs_rename(new, file) then
    require("hermes.connection").say("the accepted part is known until Neovim ends: it cannot be written to " .. file, vim.log.levels.WARN)
  end
end

--- Returns the earlier text of a file with the accepted part. If no part of the change is accepted, it returns nil.
---@param root string
---@param path string
---@param checkpoint string
---@return string[]?
function M.before(root, path, checkpoint)
  local rest = read(root)[path]
  return type(rest) == "table" and rest.id == checkpoint and type(rest.before) == "table" and rest.before or nil
end

--- Stores the rest of a change. If rest is nil, it removes the stored one.
---@param root string
---@param path string
---@param rest hermes.Rest?
function M.keep(root, path, rest)
  local all = read(root)
  all[path] = rest
  write(root, all)
end

--- Forgets the rests of changes that wait no longer.
---@param root string
---@param waiting table<string, boolean> by checkpoint
function M.prune(root, waiting)
  local all = read(root)
  local kept = {}
  for path, rest in pairs(all) do
    kept[path] = type(rest) == "table" and waiting[rest.id] and rest or nil
  end
  if vim.tbl_count(kept) < vim.tbl_count(all) then
    write(root, kept)
  end
end

return M
