--- The context of a message: quoted lines and mentions.
local M = {}

---@param path string
---@param root string
---@return string
local function shortened(path, root)
  if vim.startswith(path, root .. "/") then
    return path:sub(#root + 2)
  end
  return path
end

--- Lines of a buffer as Markdown, in a fence that they cannot close.
---@param buf integer
---@param first integer
---@param last integer
---@param root string
---@return string[]
function M.quote(buf, first, last, root)
  local lines = vim.api.nvim_buf_get_lines(buf, first - 1, last, false)
  local fence = "```"
  while table.concat(lines, "\n"):find(fence, 1, true) do
    fence = fence .. "`"
  end
  local place = shortened(vim.api.nvim_buf_get_name(buf), root)
  local numbers = first == last and ("line %d"):format(first) or ("lines %d–%d"):format(first, last)
  local out = { ("About `%s`, %s:"):format(place, numbers), "", fence .. vim.bo[buf].filetype }
  vim.list_extend(out, lines)
  table.insert(out, fence)
  return out
end

--- A piece of a buffer, or all of it, as a resource of a message.
---@param buf integer
---@param first? integer
---@param last? integer
---@return hermes.ContentBlock
function M.resource(buf, first, last)
  local uri = vim.uri_from_bufnr(buf)
  if first then
    uri = ("%s#L%d-L%d"):format(uri, first, last)
  end
  local lines = vim.api.nvim_buf_get_lines(buf, (first or 1) - 1, last or -1, false)
  return { type = "resource", resource = { uri = uri, text = table.concat(lines, "\n") .. "\n" } }
end

--- The lines of the last selection of a buffer.
---@param buf integer
---@return integer? first, integer? last
local function selection(buf)
  local first = vim.api.nvim_buf_get_mark(buf, "<")[1]
  local last = vim.api.nvim_buf_get_mark(buf, ">")[1]
  if first > 0 and last >= first then
    return first, last
  end
end

--- Returns the target of a mention: a file of the root, or a part of the buffer that was used last.
---@param word string
---@param root string
---@param buf? integer
---@return hermes.ContentBlock?
local function pointed_at(word, root, buf)
  if buf and vim.api.nvim_buf_is_valid(buf) then
    if word == "buffer" or word == "file" then
      return M.resource(buf)
    elseif word == "selection" then
      local first, last = selection(buf)
      return first and M.resource(buf, first, last) or nil
    elseif word == "diagnostics" then
      local lines = vim.tbl_map(function(d)
        return ("- line %d: %s"):format(d.lnum + 1, (d.message:gsub("%s+", " ")))
      end, vim.diagnostic.get(buf))
      if #lines > 0 then
        return { type = "resource", resource = { uri = vim.uri_from_bufnr(buf) .. "#diagnostics", text = table.concat(lines, "\n") } }
      end
      return nil
    end
  end
  local path = vim.fs.normalize(word:sub(1, 1) == "/" and word or root .. "/" .. word, { expand_env = false })
  if vim.uv.fs_stat(path) then
    return { type = "resource_link", name = word, uri = vim.uri_from_fname(path) }
  end
end

--- References that stay text: the server expands them.
local expanded_by_server = { "problems", "diff", "staged", "file:", "folder:", "symbol:", "git:", "url:" }

--- Returns the name after the “@” at start, and where it ends. If it is none, or the server reads it, it returns nil. A name with
--- spaces, brackets and the like is in quotes.
---@param text string
---@param start integer
---@return string? word
---@return integer stop
local function mention_at(text, start)
  local word, stop = text:match('^"([^"\n]*)"()', start + 1)
  if not word or word == "" or word:sub(-1) == "\\" then -- an escaped quotation mark: the server reads it
    word = text:match('^([^%s@"(]+)', start + 1)
    if not word then
      return nil, start
    end
    word = word:gsub("[.,;:!?)%]}'`>*]+$", "")
    stop = start + #word + 1
  end
  stop = stop - 1
  local next = text:sub(stop + 1, stop + 2)
  local kind = word:match("^%a+:") or word .. (next:sub(1, 1) == ":" and ":" or "")
  if vim.list_contains(expanded_by_server, kind) or next:find("^[#(]") or next:find("^:%d") then
    return nil, stop
  end
  return word, stop
end

--- A name as a mention has it: in quotes if its word would end before it.
---@param name string
---@return string
local function quoted(name)
  if name:find('^[^%s"@()]*[^%s"@().,;:!?%]}\'`>*]$') then
    return name
  end
  name = '"' .. name:gsub('"', '\\"')
  return name:sub(-1) == "/" and name or name .. '"' -- a path goes on after a folder
end

--- A message as blocks: its text, with what “@file”, “@selection”, “@diagnostics” and
--- “@path” point at in their places.
---@param text string
---@param root string
---@param buf? integer the buffer that was used last
---@return hermes.ContentBlock[]
function M.blocks(text, root, buf)
  local blocks = {} ---@type hermes.ContentBlock[]
  local from, at = 1, 1
  while true do
    local start = text:find("@", at, true)
    if not start then
      break
    end
    local word, stop = mention_at(text, start)
    local alone = start == 1 or text:sub(start - 1, start - 1):find("[%s(]")
    local block = alone and word and pointed_at(word, root, buf)
    if block then
      if start > from then
        table.insert(blocks, { type = "text", text = text:sub(from, start - 1) })
      end
      table.insert(blocks, block)
      from = stop + 1
    end
    at = math.max(start, stop) + 1
  end
  if from <= #text then
    table.insert(blocks, { type = "text", text = text:sub(from) })
  end
  return blocks
end

--- A message as it was written: a mention, which the log has as a link, is a word again.
---@param lines string[]
---@return string[]
function M.unlinked(lines)
  return vim.tbl_map(function(line)
    local plain = line:gsub("%[@(.-)%]%(%a[%w+.-]*:[^()%s]*%)", function(name)
      return "@" .. quoted(name)
    end)
    return plain
  end, lines)
end

--- The paths below the root that begin with a text. The directory is listed, not expanded
--- as a pattern: Vim gives a pattern with a backtick to a shell, also one in the root's name.
---@param root string
---@param base string
---@return string[]
local function paths(root, base)
  local parent, start = base:match("^(.-)([^/]*)$")
  local found = {}
  local entries = vim.uv.fs_scandir(root .. "/" .. parent)
  while entries do
    local name = vim.uv.fs_scandir_next(entries)
    if not name then
      break
    elseif vim.startswith(name, start) and (start ~= "" or name:sub(1, 1) ~= ".") then
      local stat = vim.uv.fs_stat(root .. "/" .. parent .. name)
      table.insert(found, parent .. name .. (stat and stat.type == "directory" and "/" or ""))
    end
  end
  table.sort(found)
  return found
end

--- 'omnifunc' of the chat: slash commands at the start, “@” and what it may point at.
---@param findstart integer
---@param base string
---@return integer|table
function M.complete(findstart, base)
  if findstart == 1 then
    local before = vim.api.nvim_get_current_line():sub(1, vim.api.nvim_win_get_cursor(0)[2])
    local start = before:find('@%a*:?"[^"]*$') or before:find('@[^%s@"]*$') or before:find("^/%S*$")
    return start and start - 1 or -3
  end
  local view = require("hermes.view").of(vim.api.nvim_get_current_buf())
  if not view then
    return {}
  end
  if base:sub(1, 1) == "/" then
    local found = {}
    for _, command in ipairs(view.session.commands) do
      if vim.startswith("/" .. command.name, base) then
        table.insert(found, { word = "/" .. command.name, menu = command.description })
      end
    end
    return found
  end
  local root = view.session.connection.root
  local found = {}
  for _, word in ipairs({ "@file", "@selection", "@diagnostics" }) do
    if vim.startswith(word, base) then
      table.insert(found, word)
    end
  end
  for _, word in ipairs(expanded_by_server) do
    if vim.startswith("@" .. word, base) then
      table.insert(found, "@" .. word)
    end
  end
  local kind, rest = base:match('^@(%a+):"?(.*)$')
  if kind == "file" or kind == "folder" then
    for _, path in ipairs(paths(root, rest)) do
      if kind == "file" or path:sub(-1) == "/" then
        table.insert(found, ("@%s:%s"):format(kind, quoted(path)))
      end
    end
    return found
  end
  for _, path in ipairs(paths(root, (base:gsub('^@"?', "")))) do
    table.insert(found, "@" .. quoted(path))
  end
  return found
end

return M
