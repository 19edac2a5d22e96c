--- Pictures that go with the next prompt.
local M = {}

local limit = 25 * 1000 * 1000 -- bytes of a file. A message has at most 32 MB, and base64 makes a picture larger by a third

--- Programs that write the picture of the clipboard to stdout.
local programs = {
  { "wl-paste", "--no-newline", "--type", "image/png" },
  { "xclip", "-selection", "clipboard", "-target", "image/png", "-out" },
  { "pngpaste", "-" },
}

--- Returns the picture of the clipboard. If there is none, it returns nil and the reason.
---@return string? data
---@return string? reason
local function clipboard()
  local tried = false
  for _, program in ipairs(programs) do
    if vim.fn.executable(program[1]) == 1 then
      tried = true
      local done, out = pcall(function()
        return vim.system(program, { text = false, timeout = 5000 }):wait()
      end)
      if done and out.code == 0 and out.stdout and out.stdout ~= "" then
        return out.stdout
      end
    end
  end
  if tried then
    return nil, "the clipboard has no picture"
  end
  return nil, "no program reads pictures of the clipboard: install wl-paste, xclip or pngpaste"
end

--- Returns the content of a file. If it cannot be read, it returns nil and the reason.
---@param path string
---@return string? data
---@return string? reason
local function file(path)
  local stat = vim.uv.fs_stat(path)
  if not stat or stat.type ~= "file" then
    return nil, ("there is no file %s"):format(path)
  elseif stat.size > limit then
    return nil, ("%s is larger than %d MB"):format(path, limit / 1000 / 1000)
  end
  local handle, reason = io.open(path, "rb")
  if not handle then
    return nil, reason
  end
  local data = handle:read("*a")
  handle:close()
  return data
end

--- Reads a picture: a path, or “clipboard”. If it cannot be read, it returns nil and the reason.
---@param words string
---@return hermes.ContentBlock?
---@return string reason, or the name of the picture
function M.read(words)
  if words == "clipboard" then
    local data, reason = clipboard()
    if not data then
      return nil, reason or ""
    end
    return { type = "image", mimeType = "image/png", data = vim.base64.encode(data) }, "the picture of the clipboard"
  end
  local path = vim.fn.fnamemodify(vim.fs.normalize(words), ":p")
  local data, reason = file(path)
  if not data then
    return nil, reason or ""
  end
  local kind = path:match("%.(%w+)$") or "png" -- the server looks at the content
  local block = { type = "image", mimeType = "image/" .. kind:lower(), data = vim.base64.encode(data), uri = vim.uri_from_fname(path) }
  return block, vim.fs.basename(path)
end

return M
