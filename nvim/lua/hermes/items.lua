--- An item of a session as lines of the chat. What is folded away stands behind a
--- gutter, which is how the folds know it.
local compat = require("hermes.compat")
local context = require("hermes.context")
local session = require("hermes.session")

local M = {}

M.gutter = "▏ "

--- A result longer than this is cut here; the transcript has it whole.
local shown_lines = 200

---@class hermes.Mark a highlighted part of the item's lines
---@field line integer from 0
---@field from integer byte
---@field to integer byte, -1: the end
---@field group string

---@class hermes.Lines
---@field lines string[]
---@field marks hermes.Mark[]
local Lines = {}
Lines.__index = Lines

---@param text string
---@param group? string
function Lines:add(text, group)
  table.insert(self.lines, (text:gsub("[\r\n]", " ")))
  if group then
    self:mark(0, -1, group)
  end
end

--- Highlights a part of the last line.
function Lines:mark(from, to, group)
  table.insert(self.marks, { line = #self.lines - 1, from = from, to = to, group = group })
end

---@param text string
---@param group? string|fun(line: string): string?
function Lines:body(text, group)
  local lines = vim.split(vim.trim((text:gsub("\r\n", "\n"))), "\n")
  for i, line in ipairs(lines) do
    if i > shown_lines then
      self:add(("%s… %d more lines: :Hermes transcript"):format(M.gutter, #lines - shown_lines), "HermesDim")
      return
    end
    self:add(M.gutter .. line)
    self:mark(0, #M.gutter, "HermesDim")
    local of_line = group
    if type(group) == "function" then
      of_line = group(line)
    end
    if of_line then
      self:mark(#M.gutter, -1, of_line)
    end
  end
end

local icons = {
  pending = { "○", "HermesRunning" },
  in_progress = { "◐", "HermesRunning" },
  completed = { "✓", "HermesDone" },
  failed = { "✗", "HermesFailed" },
}

---@param icon string
---@return string group
function M.icon_group(icon)
  for _, known in pairs(icons) do
    if known[1] == icon then
      return known[2]
    end
  end
  return "HermesDim"
end

---@param line string
---@return string?
local function diff_group(line)
  if line:find("^@@") then
    return "Changed"
  end
  return line:find("^%+") and "Added" or line:find("^%-") and "Removed" or nil
end

--- Diffs that were made once: texts may be long, and items are drawn often.
---@type table<hermes.ToolCallContent, { diff: string, counts: string }>
local diffs_made = setmetatable({}, { __mode = "k" })

---@param content hermes.ToolCallContent
---@return string diff, string counts
local function diff_of(content)
  local made = diffs_made[content]
  if made then
    return made.diff, made.counts
  end
  local diff = compat.diff(compat.some(content.oldText) or "", compat.some(content.newText) or "")
  local _, added = ("\n" .. diff):gsub("\n%+", "")
  local _, removed = ("\n" .. diff):gsub("\n%-", "")
  made = { diff = diff, counts = ("+%d −%d"):format(added, removed) }
  diffs_made[content] = made
  return made.diff, made.counts
end

--- Files of pictures that were written once.
---@type table<hermes.ToolCallContent, string>
local pictures_written = setmetatable({}, { __mode = "k" })

--- Returns the file of a picture of a result: the file that the call names, else a copy.
---@param content hermes.ToolCallContent
---@param c hermes.ToolCall
---@return string? path
local function picture_of(content, c)
  local places = compat.some(c.locations) or {}
  if #places == 1 and compat.some(places[1].path) then
    return places[1].path
  elseif pictures_written[content] then
    return pictures_written[content]
  end
  local data, kind = compat.some(content.content.data), compat.some(content.content.mimeType)
  local decoded, bytes = pcall(vim.base64.decode, data or "")
  if not decoded or bytes == "" then
    return nil
  end
  local dir = vim.fn.stdpath("cache") .. "/hermes-pictures"
  vim.fn.mkdir(dir, "p", tonumber("700", 8))
  local path = ("%s/%s.%s"):format(dir, vim.fn.sha256(data):sub(1, 16), (kind or "image/png"):match("^image/(%w+)$") or "png")
  local file = io.open(path, "wb")
  if not file then
    return nil
  end
  file:write(bytes)
  file:close()
  pictures_written[content] = path
  return path
end

---@param ms integer
---@return string
local function took(ms)
  if ms < 60000 then
    return ("%.1f s"):format(ms / 1000)
  end
  return ("%d min %d s"):format(math.floor(ms / 60000), math.floor(ms / 1000) % 60)
end

---@param out hermes.Lines
---@param call hermes.ToolCall
local function input_of(out, call)
  local input = compat.some(call.rawInput)
  if type(input) ~= "table" then
    return
  end
  for _, field in ipairs({ "code", "command" }) do
    local text = input[field]
    if type(text) == "string" and (field == "code" or text:find("\n") or #text > 70) then
      out:body(text, "HermesInput")
    end
  end
end

---@param item hermes.Item
---@param out hermes.Lines
local function call(item, out)
  local c = item.call
  local extra = session.extra(c) or {}
  local icon = icons[c.status] or icons.pending
  local details = {} ---@type string[]
  local code = c.status == "completed" and vim.tbl_get(c, "rawOutput", "exit_code")
  if type(code) == "number" and code ~= 0 then
    icon = icons.failed
    table.insert(details, ("exit code %d"):format(code))
  end
  if item.asking then
    icon = { "?", "HermesAsking" }
  end
  if extra.subagent then
    local calls = extra.subagent.calls or 0
    table.insert(details, ("%d call%s"):format(calls, calls == 1 and "" or "s"))
  end
  if item.asking then
    table.insert(details, "waits for you")
  elseif c.status == "in_progress" and extra.message then
    table.insert(details, extra.message)
  end
  local diffs = {} ---@type string[]
  for _, content in ipairs(compat.some(c.content) or {}) do
    if content.type == "diff" then
      local diff, counts = diff_of(content)
      table.insert(diffs, diff)
      table.insert(details, counts)
    end
  end
  if item.took and item.took >= 1000 then
    table.insert(details, took(item.took))
  end
  local title, more = vim.trim(c.title or c.name or "?"):match("^([^\r\n]*)(.*)$")
  title = vim.trim(title:gsub("%s+", " ")) .. (more ~= "" and " …" or "")
  out:add(icon[1] .. " " .. title .. (#details > 0 and "  " .. table.concat(details, " · ") or ""))
  out:mark(0, #icon[1], icon[2])
  out:mark(#icon[1] + 1 + #title, -1, "HermesDim")

  input_of(out, c)
  for _, diff in ipairs(diffs) do
    out:body(diff, diff_group)
  end
  for _, inner in ipairs(compat.some(extra.sandbox_tool_calls) or {}) do
    out:body(("%s %s"):format(inner.status == "completed" and "✓" or "✗", inner.tool), "HermesDim")
  end
  for _, content in ipairs(compat.some(c.content) or {}) do
    local text = content.type == "content" and compat.some(content.content.text)
    if text and vim.trim(text) ~= "" then
      out:body(text)
    end
    local picture = content.type == "content" and content.content.type == "image" and picture_of(content, c)
    if picture then
      out:body(("[%s](%s)"):format(vim.fs.basename(picture), vim.uri_from_fname(picture)))
    end
  end
end

local boxes = { completed = "☑", in_progress = "◐", pending = "☐" }

---@type table<hermes.ItemKind, fun(item: hermes.Item, out: hermes.Lines)>
local renderers = {
  heading = function(_, out)
    out:add("## Hermes", "HermesHeading")
  end,
  user = function(item, out)
    out:add("## You", "HermesHeading")
    out:add("")
    for _, line in ipairs(context.unlinked(item.lines)) do
      out:add(line)
    end
  end,
  text = function(item, out)
    for _, line in ipairs(item.lines) do
      out:add(line)
    end
  end,
  thought = function(item, out)
    out:add("∴ Thought", "HermesDim")
    out:body(table.concat(item.lines, "\n"), "HermesThought")
  end,
  call = call,
  plan = function(item, out)
    out:add("Plan", "HermesTitle")
    for _, entry in ipairs(item.entries) do
      out:add((boxes[entry.status] or boxes.pending) .. " " .. entry.content, entry.status == "completed" and "HermesDim" or nil)
    end
  end,
  notice = function(item, out)
    local group = item.level >= vim.log.levels.ERROR and "HermesFailed" or "HermesNotice"
    for _, line in ipairs(item.lines) do
      out:add("> " .. line, group)
    end
  end,
}

---@param item hermes.Item
---@return hermes.Lines
function M.render(item)
  local out = setmetatable({ lines = {}, marks = {} }, Lines)
  if item.spaced then
    out:add("")
  end
  renderers[item.kind](item, out)
  while #out.lines > 1 and item.kind == "text" and out.lines[#out.lines] == "" do
    table.remove(out.lines) -- what follows brings its own blank line
  end
  for i, line in ipairs(out.lines) do
    if M.too_deep(line) then
      out.lines[i] = "\\" .. line -- a backslash makes it text; a parse that has begun cannot be stopped
    end
  end
  return out
end

--- The parser of Markdown ends Neovim if 256 blocks are open. A level needs a sign or two
--- columns.
local most_blocks = 200

--- Reports whether a line can open more nested blocks than the parser of Markdown can hold.
---@param line string
---@return boolean
function M.too_deep(line)
  local prefix = line:match("^[%s>%-+*%d.)]*")
  if #prefix < most_blocks / 4 then
    return false
  end
  local _, quotes = prefix:gsub(">", "")
  local _, lists = prefix:gsub("[%-+*.)]%s", "")
  local _, spaces = prefix:gsub(" ", "")
  local _, tabs = prefix:gsub("\t", "")
  return quotes + lists + spaces / 2 + tabs * 2 > most_blocks
end

---@param lnum integer
---@return string for 'foldexpr'
function M.fold(lnum)
  local behind = function(n)
    return vim.startswith(vim.fn.getline(n), M.gutter)
  end
  if behind(lnum) then
    return "1"
  end
  return behind(lnum + 1) and ">1" or "0"
end

return M
