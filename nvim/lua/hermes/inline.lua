--- Inline edits: an instruction for some lines, and its changes, which are shown in the
--- buffer with the earlier lines above them until the user accepts or rejects them. Lines that
--- the user has changed are not among them.
local compat = require("hermes.compat")
local connection = require("hermes.connection")
local protocol = require("hermes.protocol")

local M = {}

--- Changed lines. Numbers start at 1. If there are no lines, it is after that line.
---@class hermes.Hunk
---@field from integer its first line in the earlier text
---@field removed integer number of lines there
---@field at integer its first line in the later text
---@field added integer number of lines there
---@field row integer? its first line in the buffer, if that has changed since

---@class hermes.Inline
---@field before string[] the earlier lines
---@field after string[] the lines as the agent left them
---@field running integer edits that may still change the buffer
---@field signs? boolean only signs show the changes
---@field settled? fun(before: string[], accepted: boolean) is called after a decision of the user; accepted: no change is left, and some were accepted
---@field accepted? boolean the user has accepted some of the changes

---@type table<integer, hermes.Inline> by buffer
local shown = {}

local space = vim.api.nvim_create_namespace("hermes.inline")
local waiting = vim.api.nvim_create_namespace("hermes.inline.waiting") -- lines of edits that wait

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

--- Whether lines differ in spaces only, as after they were formatted.
---@param a string[]
---@param b string[]
---@return boolean
local function same_words(a, b)
  return (table.concat(a):gsub("%s+", "")) == (table.concat(b):gsub("%s+", ""))
end

--- Returns the lines as the agent left them, with the spaces of the present lines.
---@param after string[]
---@param now string[]
---@return string[]
local function formatted(after, now)
  local hunks = M.hunks(after, now)
  for i = #hunks, 1, -1 do
    local h = hunks[i]
    local old, new = vim.list_slice(after, h.from, h.from + h.removed - 1), vim.list_slice(now, h.at, h.at + h.added - 1)
    if h.removed > 0 and same_words(old, new) then
      after = M.accepted(after, now, h)
    end
  end
  return after
end

--- Returns the agent's hunks with their rows in the present lines, and the lines as the agent left
--- them. Hunks in which the user has changed lines since are left out.
---@param before string[]
---@param after string[]
---@param now string[]
---@return hermes.Hunk[] hunks
---@return string[] after
function M.own(before, after, now)
  after = formatted(after, now)
  local since = M.hunks(after, now)
  local own = {}
  for _, hunk in ipairs(M.hunks(before, after)) do
    local first = hunk.added > 0 and hunk.at or hunk.at + 1
    local shift, touched = 0, false
    for _, other in ipairs(since) do
      local from = other.removed > 0 and other.from or other.from + 1
      if from + other.removed <= first then
        shift = shift + other.added - other.removed
      elseif from < first + hunk.added then
        touched = true
      end
    end
    if not touched then
      hunk.row = hunk.at + shift
      table.insert(own, hunk)
    end
  end
  return own, after
end

--- Returns the present lines without those of the agent's hunk.
---@param before string[]
---@param now string[]
---@param hunk hermes.Hunk of M.own
---@return string[]
local function without(before, now, hunk)
  return spliced(now, hunk.row, hunk.added, before, hunk.from, hunk.removed)
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
  local row = math.max(hunk.row, 1) - 1
  for line = row, row + hunk.added - 1 do
    vim.api.nvim_buf_set_extmark(buf, space, line, 0, { line_hl_group = "DiffAdd" })
  end
  local virtual = {}
  for i = hunk.from, hunk.from + hunk.removed - 1 do
    table.insert(virtual, { { "- " .. before[i]:gsub("\t", "    "), "DiffDelete" } })
  end
  vim.api.nvim_buf_set_extmark(buf, space, row, 0, {
    virt_lines = virtual,
    virt_lines_above = hunk.added > 0 or hunk.row == 0,
    virt_text = { { " :Hermes accept, :Hermes reject", "HermesDim" } },
  })
end

--- A deletion has its sign at the line above it, or at the first line.
local marks = {
  add = { sign_text = "┃", sign_hl_group = "HermesSignAdd" },
  change = { sign_text = "┃", sign_hl_group = "HermesSignChange" },
  delete = { sign_text = "▁", sign_hl_group = "HermesSignDelete" },
  top = { sign_text = "▔", sign_hl_group = "HermesSignDelete" },
}

---@param buf integer
---@param hunk hermes.Hunk
local function place_signs(buf, hunk)
  local kind = hunk.removed == 0 and "add" or "change"
  if hunk.added == 0 then
    kind = hunk.row == 0 and "top" or "delete"
  end
  local row = math.max(hunk.row, 1) - 1
  for line = row, row + math.max(hunk.added, 1) - 1 do
    vim.api.nvim_buf_set_extmark(buf, space, line, 0, vim.tbl_extend("error", { priority = 5, strict = false }, marks[kind]))
  end
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
  local hunks = M.own(state.before, state.after, lines_of(buf))
  for _, hunk in ipairs(hunks) do
    if state.signs then
      place_signs(buf, hunk)
    else
      mark(buf, hunk, state.before)
    end
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
  local lines = lines_of(buf)
  local state = { before = lines, after = lines, running = 0 }
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

--- Makes what the user has changed since a part of the earlier lines and of the agent's.
---@param state hermes.Inline
---@param now string[]
local function rebase(state, now)
  local hunks = M.own(state.before, state.after, now)
  local before = now
  for i = #hunks, 1, -1 do
    before = without(state.before, before, hunks[i])
  end
  state.before, state.after = before, now
end

---@param text string
---@return string[]
function M.lines_in(text)
  local lines = vim.split(text:gsub("\r\n", "\n"), "\n")
  if #lines > 1 and lines[#lines] == "" then
    table.remove(lines)
  end
  return lines
end

--- Follows the agent's changes of a file during an edit.
---@param session hermes.Session
---@param buf integer
---@param state hermes.Inline
---@return fun(): boolean stop returns whether there were any
local function follow(session, buf, state)
  local path = vim.uv.fs_realpath(vim.api.nvim_buf_get_name(buf))
  local seen, changed = {}, false
  local function heard(_, item)
    local call = item and item.kind == "call" and item.call
    for _, content in ipairs(call and compat.some(call.content) or {}) do
      if content.type == "diff" and not seen[content] and vim.uv.fs_realpath(content.path) == path then
        seen[content], changed = true, true
        rebase(state, M.lines_in(compat.some(content.oldText) or ""))
        state.after = M.lines_in(compat.some(content.newText) or "")
        draw(buf)
      end
    end
  end
  session:watch(heard)
  return function()
    session:unwatch(heard)
    return changed
  end
end

---@param session hermes.Session
---@param buf integer
---@param range lsp.Range
---@param instruction string
local function run(session, buf, range, instruction)
  M.unsign(buf) -- earlier changes are not part of this review
  local state = show(buf)
  rebase(state, lines_of(buf))
  state.running = state.running + 1
  local stop = follow(session, buf, state)
  local ended = session:begin()
  session:execute(
    protocol.command.edit,
    { textDocument = { uri = vim.uri_from_bufnr(buf) }, range = range, instruction = instruction, wait = true },
    function(err, result)
      ended(err, result)
      state.running = state.running - 1
      local changed = stop()
      if err then
        connection.say(require("hermes.failure").text(err), vim.log.levels.ERROR)
      elseif not changed then
        local answer = type(result.text) == "string" and vim.trim(result.text) or ""
        connection.say(answer ~= "" and answer or "nothing was changed in this file")
      end
      draw(buf)
    end
  )
end

--- Runs an instruction for lines of a buffer, once the session is idle. If it changes nothing
--- there, the answer is shown.
---@param buf integer
---@param first integer
---@param last integer
---@param instruction string
function M.edit(buf, first, last, instruction)
  local session = connection.of(buf):newest()
  local place = vim.api.nvim_buf_set_extmark(buf, waiting, first - 1, 0, { end_row = last - 1, end_col = 0 })
  session:when_idle(function()
    if not vim.api.nvim_buf_is_loaded(buf) then
      return
    end
    local row, _, details = unpack(vim.api.nvim_buf_get_extmark_by_id(buf, waiting, place, { details = true }))
    vim.api.nvim_buf_del_extmark(buf, waiting, place)
    local range = { start = { line = row, character = 0 }, ["end"] = { line = details.end_row + 1, character = 0 } }
    run(session, buf, range, instruction)
  end)
end

--- Shows the changes that the agent has made in a buffer.
---@param buf integer
---@param before string[]
---@param after string[]
function M.review(buf, before, after)
  local state = show(buf)
  state.before, state.after = before, after
  draw(buf)
end

--- Shows the changes that the agent has made in a buffer by signs. An edit that is reviewed in the
--- buffer stays as it is.
---@param buf integer
---@param before string[]
---@param after string[]
---@param settled fun(before: string[], accepted: boolean)
function M.signs(buf, before, after, settled)
  if shown[buf] and not shown[buf].signs then
    return
  end
  local state = show(buf)
  state.signs, state.before, state.after, state.settled = true, before, after, settled
  draw(buf)
end

--- Removes the signs of a buffer.
---@param buf integer
function M.unsign(buf)
  if shown[buf] and shown[buf].signs then
    shown[buf] = nil
    vim.api.nvim_buf_clear_namespace(buf, space, 0, -1)
  end
end

--- Returns the first lines of the changes of a buffer.
---@param buf integer
---@return integer[]
function M.rows(buf)
  local state = shown[buf]
  return vim.tbl_map(function(hunk)
    return math.max(hunk.row, 1)
  end, state and M.own(state.before, state.after, lines_of(buf)) or {})
end

--- Returns the change at a line, and the earlier lines. If there is none, it returns nil.
---@param buf integer
---@param row integer
---@return hermes.Hunk? hunk
---@return string[]? before
function M.hunk_at(buf, row)
  local state = shown[buf]
  for _, hunk in ipairs(state and M.own(state.before, state.after, lines_of(buf)) or {}) do
    local start = math.max(hunk.row, 1)
    if start <= row and row <= start + math.max(hunk.added, 1) - 1 then
      return hunk, state.before
    end
  end
end

--- Accepts or rejects the changes in some lines.
---@param buf integer
---@param first integer
---@param last integer
---@param accept boolean
---@param signs? boolean also changes that only signs show
function M.decide(buf, first, last, accept, signs)
  local state = shown[buf]
  if state and state.signs and not signs then
    state = nil
  end
  local found = false
  local now = state and lines_of(buf) or {}
  local hunks, after = {}, {} ---@type hermes.Hunk[], string[]
  if state then
    hunks, after = M.own(state.before, state.after, now)
    state.after = after
  end
  local kept = now
  for i = #hunks, 1, -1 do -- from the end, so that the numbers above stay true
    local hunk = hunks[i]
    local start = math.max(hunk.row, 1)
    if start <= last and start + math.max(hunk.added, 1) - 1 >= first then
      found = true
      if accept then
        state.accepted = true
        state.before = M.accepted(state.before, after, hunk)
      else
        kept = without(state.before, kept, hunk)
        state.after = M.rejected(state.before, state.after, hunk)
      end
    end
  end
  if not found then
    return connection.say("there is no change at the cursor")
  elseif not accept then
    M.replace(buf, kept)
  end
  draw(buf)
  local settled = state.settled or function(_, all)
    if all then
      require("hermes.signs").accepted(buf)
    end
  end
  settled(state.before, shown[buf] == nil and state.accepted == true)
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
