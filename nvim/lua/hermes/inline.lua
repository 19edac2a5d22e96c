--- Inline edits: an instruction for some lines, and its changes, which are shown in the
--- buffer with the earlier lines above them until the user accepts or rejects them.
local connection = require("hermes.connection")
local protocol = require("hermes.protocol")

local M = {}

--- Changed lines. Numbers start at 1. If there are no lines, it is after that line.
---@class hermes.Hunk
---@field from integer its first line in the earlier text
---@field removed integer number of lines there
---@field at integer its first line in the buffer
---@field added integer number of lines there

---@class hermes.Inline
---@field before string[] the earlier lines
---@field running integer turns that may still change the buffer

---@type table<integer, hermes.Inline> by buffer
local shown = {}

local space = vim.api.nvim_create_namespace("hermes.inline")

---@param before string[]
---@param now string[]
---@return hermes.Hunk[]
function M.hunks(before, now)
  local diff = vim.text and vim.text.diff or vim.diff
  local function text(lines)
    return #lines > 0 and table.concat(lines, "\n") .. "\n" or ""
  end
  return vim.tbl_map(function(h)
    return { from = h[1], removed = h[2], at = h[3], added = h[4] }
  end, diff(text(before), text(now), { result_type = "indices" }))
end

--- Replaces lines of a list by lines of another. Both have the lines of a hunk.
---@param into string[]
---@param from integer
---@param count integer
---@param other string[]
---@param at integer
---@param added integer
---@return string[]
local function spliced(into, from, count, other, at, added)
  local first = count > 0 and from or from + 1
  local start = added > 0 and at or at + 1
  local out = vim.list_slice(into, 1, first - 1)
  vim.list_extend(out, other, start, start + added - 1)
  return vim.list_extend(out, into, first + count)
end

--- Returns the earlier lines with those of the hunk that are new.
---@param before string[]
---@param now string[]
---@param hunk hermes.Hunk
---@return string[]
function M.accepted(before, now, hunk)
  return spliced(before, hunk.from, hunk.removed, now, hunk.at, hunk.added)
end

--- Returns the present lines with those of the hunk that were there before.
---@param before string[]
---@param now string[]
---@param hunk hermes.Hunk
---@return string[]
function M.rejected(before, now, hunk)
  return spliced(now, hunk.at, hunk.added, before, hunk.from, hunk.removed)
end

---@param buf integer
---@return string[]
local function lines_of(buf)
  return vim.api.nvim_buf_get_lines(buf, 0, -1, false)
end

---@param buf integer
---@param hunk hermes.Hunk
---@param before string[]
local function mark(buf, hunk, before)
  local row = math.max(hunk.at, 1) - 1
  for line = row, row + hunk.added - 1 do
    vim.api.nvim_buf_set_extmark(buf, space, line, 0, { line_hl_group = "DiffAdd" })
  end
  local virtual = {}
  for i = hunk.from, hunk.from + hunk.removed - 1 do
    table.insert(virtual, { { "- " .. before[i]:gsub("\t", "    "), "DiffDelete" } })
  end
  vim.api.nvim_buf_set_extmark(buf, space, row, 0, {
    virt_lines = virtual,
    virt_lines_above = hunk.added > 0 or hunk.at == 0,
    virt_text = { { " :Hermes accept, :Hermes reject", "HermesDim" } },
  })
end

--- Draws the changes of a buffer. If none is left and no turn runs, the review ends.
---@param buf integer
local function draw(buf)
  local state = shown[buf]
  if not state or not vim.api.nvim_buf_is_loaded(buf) then
    shown[buf] = nil
    return
  end
  vim.api.nvim_buf_clear_namespace(buf, space, 0, -1)
  local hunks = M.hunks(state.before, lines_of(buf))
  for _, hunk in ipairs(hunks) do
    mark(buf, hunk, state.before)
  end
  if #hunks == 0 and state.running == 0 then
    shown[buf] = nil
  end
end

--- Starts to show the changes of a buffer.
---@param buf integer
---@return hermes.Inline
local function show(buf)
  if shown[buf] then
    return shown[buf]
  end
  local state = { before = lines_of(buf), running = 0 }
  shown[buf] = state
  local redraw = vim.schedule_wrap(function()
    if shown[buf] == state then
      draw(buf)
    end
  end)
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function()
      redraw()
      return shown[buf] ~= state
    end,
    on_reload = redraw,
  })
  return state
end

--- Runs an instruction for lines of a buffer. If it changes nothing there, the answer is shown.
---@param buf integer
---@param first integer
---@param last integer
---@param instruction string
function M.edit(buf, first, last, instruction)
  local state = show(buf)
  state.running = state.running + 1
  local session = connection.of(buf):newest()
  local ended = session:begin()
  session:execute(protocol.command.edit, {
    textDocument = { uri = vim.uri_from_bufnr(buf) },
    range = { start = { line = first - 1, character = 0 }, ["end"] = { line = last, character = 0 } },
    instruction = instruction,
    wait = true,
  }, function(err, result)
    ended(err, result)
    state.running = state.running - 1
    if err then
      connection.say(err.message, vim.log.levels.ERROR)
    elseif vim.deep_equal(state.before, lines_of(buf)) then
      local answer = type(result.text) == "string" and vim.trim(result.text) or ""
      connection.say(answer ~= "" and answer or "nothing was changed in this file")
    end
    draw(buf)
  end)
end

--- Accepts or rejects the changes in some lines.
---@param buf integer
---@param first integer
---@param last integer
---@param accept boolean
function M.decide(buf, first, last, accept)
  local state = shown[buf]
  local found = false
  local now = state and lines_of(buf) or {}
  local hunks = state and M.hunks(state.before, now) or {}
  local kept = now
  for i = #hunks, 1, -1 do -- from the end, so that the numbers above stay true
    local hunk = hunks[i]
    local start = math.max(hunk.at, 1)
    if start <= last and start + math.max(hunk.added, 1) - 1 >= first then
      found = true
      if accept then
        state.before = M.accepted(state.before, now, hunk)
      else
        kept = M.rejected(state.before, kept, hunk)
      end
    end
  end
  if not found then
    return connection.say("there is no change at the cursor")
  elseif not accept then
    M.replace(buf, kept)
  end
  draw(buf)
end

--- Replaces the lines of a buffer that differ, so that marks and the cursor stay elsewhere.
---@param buf integer
---@param lines string[]
function M.replace(buf, lines)
  local hunks = M.hunks(lines_of(buf), lines)
  for i = #hunks, 1, -1 do
    local h = hunks[i]
    local first = h.removed > 0 and h.from - 1 or h.from
    local start = h.added > 0 and h.at or h.at + 1
    vim.api.nvim_buf_set_lines(buf, first, first + h.removed, false, vim.list_slice(lines, start, start + h.added - 1))
  end
end

return M
