--- The chat buffer of a session: its items above, the user's draft below
--- the last “## You”. Only the latter can be changed by hand.
local config = require("hermes.config")
local items = require("hermes.items")

---@class hermes.View
---@field session hermes.Session
---@field buf integer
---@field placed table<hermes.Item, { mark: integer, lines: string[] }>
---@field fresh hermes.Item[] not drawn yet
---@field dirty table<hermes.Item, true> drawn, and changed since
---@field waiting boolean a flush is on its way
---@field prompt integer the extmark of the last heading
---@field writing boolean the change that comes is ours
---@field watcher fun(event: hermes.Event, item?: hermes.Item)
local View = {}
View.__index = View

local M = {}

---@type table<integer, hermes.View>
local views = {}

local places = vim.api.nvim_create_namespace("hermes.places")
local colours = vim.api.nvim_create_namespace("hermes.colours")

local heading = "## You"
local flush_every = 40 -- ms

--- The view of a chat buffer.
---@param buf integer
---@return hermes.View?
function M.of(buf)
  return views[buf]
end

--- Window options of a chat.
---@param win integer
local function dress(win)
  local wo = vim.wo[win][0]
  wo.wrap, wo.linebreak, wo.breakindent = true, true, true
  wo.number, wo.relativenumber, wo.spell, wo.list = false, false, false, false
  wo.signcolumn, wo.foldcolumn = "no", "0"
  wo.foldmethod, wo.foldexpr = "expr", "v:lua.require'hermes.items'.fold(v:lnum)"
  wo.foldtext, wo.foldenable, wo.foldlevel, wo.foldminlines = "v:lua.require'hermes.view'.foldtext()", true, 0, 0
  wo.fillchars = "fold: ,eob: "
  wo.winbar = "%{%v:lua.require'hermes.status'.winbar()%}"
end

---@param session hermes.Session
---@return hermes.View
local function new(session)
  local buf = vim.api.nvim_create_buf(true, true)
  local self = setmetatable({ session = session, buf = buf, placed = {}, fresh = {}, dirty = {}, waiting = false, writing = false }, View)
  views[buf] = self
  vim.api.nvim_buf_set_name(buf, "hermes://chat/" .. buf)
  vim.bo[buf].bufhidden = "hide"
  vim.bo[buf].swapfile = false
  vim.bo[buf].modeline = false
  self:write(function()
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, { heading, "", "" })
  end)
  self:place_prompt(0)
  vim.bo[buf].filetype = "hermes"
  vim.api.nvim_buf_attach(buf, false, {
    on_lines = function(_, _, _, first)
      if not self.writing and first <= self:prompt_row() then
        vim.schedule(function()
          self:redraw() -- by a command, since keys cannot do it
        end)
      end
    end,
  })
  vim.api.nvim_create_autocmd({ "CursorMoved", "CursorMovedI", "BufEnter" }, {
    buffer = buf,
    callback = function()
      self:guard()
    end,
  })
  vim.api.nvim_create_autocmd({ "BufUnload", "BufWipeout" }, {
    buffer = buf,
    callback = function()
      self:close()
    end,
  })
  self.watcher = function(event, item)
    self:heard(event, item)
  end
  session:watch(self.watcher)
  self:redraw()
  if session.draft then
    self:set_draft(vim.list_slice(session.draft, 2))
    session.draft = nil
  end
  return self
end

--- The buffer is unloaded, as by :bdelete, and its text with it. What the user has written
--- stays as the draft of the next chat of the session; a window that still shows the buffer, as
--- after :edit, gets that one at once.
function View:close()
  if not views[self.buf] then
    return
  end
  views[self.buf] = nil
  self.session:unwatch(self.watcher)
  self.session.draft = self:draft() ~= "" and self:draft_lines() or nil
  vim.schedule(function()
    for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
      vim.api.nvim_win_set_buf(win, M.get(self.session).buf)
      dress(win)
    end
    if self:valid() then
      vim.api.nvim_buf_delete(self.buf, { force = true })
    end
  end)
end

---@param session hermes.Session
---@return hermes.View
function M.get(session)
  for _, view in pairs(views) do
    if view.session == session then
      return view
    end
  end
  return new(session)
end

---@return boolean
function View:valid()
  return vim.api.nvim_buf_is_valid(self.buf)
end

--- Only the draft can be edited.
function View:guard()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  vim.bo[self.buf].modifiable = row > self:prompt_row()
end

--- Changes the buffer without the user. Undo would break the text, so the state before
--- is removed from the undo history: undo reverts the draft only.
---@param change fun()
function View:write(change)
  local bo = vim.bo[self.buf]
  local modifiable, levels = bo.modifiable, bo.undolevels
  bo.modifiable, bo.undolevels, self.writing = true, -1, true
  local ok, err = pcall(change)
  bo.modifiable, bo.undolevels, self.writing = modifiable, levels, false
  bo.modified = false
  if not ok then
    error(err, 0)
  end
end

---@param row integer
function View:place_prompt(row)
  self.prompt = vim.api.nvim_buf_set_extmark(self.buf, places, row, 0, { id = self.prompt, right_gravity = true })
  vim.api.nvim_buf_set_extmark(self.buf, colours, row, 0, { id = 1, end_row = row + 1, hl_group = "HermesHeading", hl_eol = false })
end

--- The row of the last heading, from 0.
---@return integer
function View:prompt_row()
  return vim.api.nvim_buf_get_extmark_by_id(self.buf, places, self.prompt, {})[1] or 0
end

-- Drawing.

--- Stops the parser of Markdown if lines are nested so deeply that it would end Neovim.
--- The chat has fewer colors then.
---@param lines string[]
function View:protect(lines)
  if vim.b[self.buf].ts_highlight and vim.iter(lines):any(items.too_deep) then
    vim.treesitter.stop(self.buf)
  end
end

---@param event hermes.Event
---@param item? hermes.Item
function View:heard(event, item)
  if event == "reset" then
    return self:redraw()
  elseif event == "rewound" or event == "failed" then
    return self:ask_again(item.lines)
  elseif event == "added" then
    table.insert(self.fresh, item)
  elseif event == "changed" and self.placed[item] then
    self.dirty[item] = true
  else
    return
  end
  if not self.waiting then
    self.waiting = true
    vim.defer_fn(function()
      self:flush()
    end, flush_every)
  end
end

--- Draws the items that are new or changed.
function View:flush()
  self.waiting = false
  if not views[self.buf] or #self.fresh == 0 and not next(self.dirty) then
    return
  end
  local fresh, dirty = self.fresh, self.dirty
  self.fresh, self.dirty = {}, {}
  self:write(function()
    for item in pairs(dirty) do
      self:replace(item)
    end
    self:append(fresh)
  end)
  self:follow()
end

--- Windows that stand at the prompt stay there, with the end of the chat at their lower
--- edge.
function View:follow()
  local prompt, last = self:prompt_row(), vim.api.nvim_buf_line_count(self.buf)
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    local cursor = vim.api.nvim_win_get_cursor(win)
    if cursor[1] > prompt then
      vim.api.nvim_win_call(win, function()
        vim.api.nvim_win_set_cursor(win, { last, 0 })
        vim.cmd("normal! zb")
        vim.api.nvim_win_set_cursor(win, cursor)
      end)
    end
  end
end

--- Puts items before the last heading, in one piece: many come at once when a
--- session is opened.
---@param list hermes.Item[]
function View:append(list)
  if #list == 0 then
    return
  end
  local row = self:prompt_row()
  local first = row == 0
  row = math.max(0, row - 1) -- the blank line before the heading comes after them
  local lines, drawn, starts = {}, {}, {}
  for i, item in ipairs(list) do
    drawn[i], starts[i] = items.render(item), row + #lines
    vim.list_extend(lines, drawn[i].lines)
  end
  if first then
    table.insert(lines, "")
  end
  self:protect(lines)
  vim.api.nvim_buf_set_lines(self.buf, row, row, true, lines)
  for i, item in ipairs(list) do
    local mark = vim.api.nvim_buf_set_extmark(self.buf, places, starts[i], 0, { right_gravity = false })
    self.placed[item] = { mark = mark, lines = drawn[i].lines }
    self:paint(starts[i], drawn[i])
  end
end

---@param item hermes.Item
function View:replace(item)
  local place = self.placed[item]
  local row = vim.api.nvim_buf_get_extmark_by_id(self.buf, places, place.mark, {})[1]
  local out = items.render(item)
  local old, now = place.lines, out.lines
  local first, last = 1, 0 -- lines that stay, from the start and from the end
  while first <= #old and first <= #now and old[first] == now[first] do
    first = first + 1
  end
  while last < #old - first and last < #now - first and old[#old - last] == now[#now - last] do
    last = last + 1
  end
  if first > #old and first > #now then
    return self:colour(row, out)
  end
  -- Within the item, so that the marks of its neighbours stay where they are.
  local text = vim.list_slice(now, first, #now - last)
  local end_row = row + #old - last - 1
  self:protect(text)
  if first > 1 then
    table.insert(text, 1, "")
    vim.api.nvim_buf_set_text(self.buf, row + first - 2, #old[first - 1], end_row, #old[#old - last], text)
  else
    vim.api.nvim_buf_set_text(self.buf, row, 0, end_row, #old[#old - last], text)
  end
  place.lines = now
  self:colour(row, out)
end

---@param row integer
---@param out hermes.Lines
function View:colour(row, out)
  vim.api.nvim_buf_clear_namespace(self.buf, colours, row, row + #out.lines)
  self:paint(row, out)
end

---@param row integer
---@param out hermes.Lines
function View:paint(row, out)
  for _, mark in ipairs(out.marks) do
    vim.api.nvim_buf_set_extmark(self.buf, colours, row + mark.line, mark.from, {
      end_row = row + mark.line,
      end_col = mark.to < 0 and #out.lines[mark.line + 1] or mark.to,
      hl_group = mark.group,
      strict = false,
    })
  end
end

--- Draws all items again and keeps the draft.
function View:redraw()
  if not views[self.buf] then
    return
  end
  local draft = self:draft_lines()
  self.placed, self.dirty, self.fresh = {}, {}, {}
  self:write(function()
    vim.api.nvim_buf_clear_namespace(self.buf, places, 0, -1)
    vim.api.nvim_buf_clear_namespace(self.buf, colours, 0, -1)
    vim.api.nvim_buf_set_lines(self.buf, 0, -1, false, vim.list_extend({ heading }, draft))
    self:place_prompt(0)
    self:append(self.session.items)
  end)
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    self:to_end(win)
  end
end

-- The draft.

---@return string[]
function View:draft_lines()
  local row = self:prompt_row()
  local lines = vim.api.nvim_buf_get_lines(self.buf, row + 1, -1, false)
  return #lines >= 2 and lines or { "", "" }
end

---@return string
function View:draft()
  return vim.trim(table.concat(self:draft_lines(), "\n"))
end

---@param lines string[]
function View:set_draft(lines)
  self:protect(lines)
  self:write(function()
    vim.api.nvim_buf_set_lines(self.buf, self:prompt_row() + 1, -1, false, vim.list_extend({ "" }, lines))
  end)
  for _, win in ipairs(vim.fn.win_findbuf(self.buf)) do
    self:to_end(win)
  end
end

---@param win integer
function View:to_end(win)
  vim.api.nvim_win_set_cursor(win, { vim.api.nvim_buf_line_count(self.buf), 0 })
  vim.bo[self.buf].modifiable = true
end

--- Puts a prompt that was undone into the input, so that the user can change it.
---@param lines string[]
function View:ask_again(lines)
  if self:draft() == "" then
    self:set_draft(require("hermes.context").unlinked(lines))
  end
end

--- Makes a prompt the draft. What the user has written meanwhile stays below it.
---@param lines string[]
function View:put_back(lines)
  local text = require("hermes.context").unlinked(lines)
  local draft = self:draft()
  if draft ~= "" and draft ~= vim.trim(table.concat(text, "\n")) then
    text = vim.list_extend(vim.list_extend(text, { "" }), vim.split(draft, "\n"))
  end
  self:set_draft(text)
end

--- Sends the draft.
function View:send()
  local item = self:item_here()
  if item and item.offers then
    return self:choose(item)
  end
  local text = self:draft()
  if text == "" then
    return require("hermes.connection").say("there is nothing to send: write below the last “## You”")
  end
  self:set_draft({ "" })
  local blocks = require("hermes.context").blocks(text, self.session.connection.root, self.session.connection.source)
  self.session:send(blocks, text)
end

--- Quotes lines of a buffer where the user writes.
---@param buf integer
---@param first integer
---@param last integer
function View:quote(buf, first, last)
  local lines = require("hermes.context").quote(buf, first, last, self.session.connection.root)
  local draft = self:draft()
  local all = draft ~= "" and vim.list_extend(vim.split(draft, "\n"), { "" }) or {}
  self:set_draft(vim.list_extend(vim.list_extend(all, lines), { "", "" }))
end

--- Returns the item under the cursor.
---@return hermes.Item?
function View:item_here()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  for item, place in pairs(self.placed) do
    local from = vim.api.nvim_buf_get_extmark_by_id(self.buf, places, place.mark, {})[1]
    if from and row >= from and row < from + #place.lines then
      return item
    end
  end
end

--- Returns the prompt at the cursor, else the last one above it. In the draft, it returns nil.
---@return hermes.Item?
function View:prompt_here()
  local row = vim.api.nvim_win_get_cursor(0)[1] - 1
  if row >= self:prompt_row() then
    return nil
  end
  local found, start
  for item, place in pairs(self.placed) do
    local from = item.kind == "user" and vim.api.nvim_buf_get_extmark_by_id(self.buf, places, place.mark, {})[1]
    if from and from <= row and (not start or from > start) then
      found, start = item, from
    end
  end
  return found
end

--- Lets the user choose one of the offers of a notice, and sends its prompt.
---@param item hermes.Item
function View:choose(item)
  vim.ui.select(item.offers, {
    prompt = "How did it go?",
    format_item = function(offer)
      return offer.label
    end,
  }, function(offer)
    if offer then
      self.session:send({ { type = "text", text = offer.prompt } }, offer.prompt)
    end
  end)
end

--- Compares the changes of the call under the cursor with the earlier text.
function View:review_here()
  local item = self:item_here()
  if item and item.kind == "call" then
    return require("hermes.changes").review_call(item)
  end
  require("hermes.changes").review(self.session)
end

-- Windows.

local splits = { right = "botright vertical", left = "topleft vertical", bottom = "botright", top = "topleft" }

--- A closed fold: its first line, and how much is behind it.
---@return table
function M.foldtext()
  local line = vim.fn.getline(vim.v.foldstart)
  local icon, rest = line:match("^(%S+)(.*)$")
  local hidden = ("  ⋯ %d"):format(vim.v.foldend - vim.v.foldstart)
  return { { icon, items.icon_group(icon) }, { rest }, { hidden, "HermesDim" } }
end

---@param buf integer
local function open_window(buf)
  local chat = config.current.chat
  if chat.position == "tab" then
    vim.cmd("tab sbuffer " .. buf)
  else
    local vertical = chat.position == "right" or chat.position == "left"
    local size = chat.size
    if size < 1 then
      size = math.floor(size * (vertical and vim.o.columns or vim.o.lines))
    end
    vim.cmd(("%s %dsplit"):format(splits[chat.position] or splits.right, math.max(size, vertical and 30 or 8)))
    vim.api.nvim_win_set_buf(0, buf)
  end
end

--- Shows a session's chat, in the window that shows one already where there is one.
---@param session hermes.Session
---@param options { focus: boolean }
---@return hermes.View
function M.show(session, options)
  local view = M.get(session)
  local was = vim.api.nvim_get_current_win()
  local win = M.window()
  if win then
    vim.api.nvim_win_set_buf(win, view.buf)
  else
    open_window(view.buf)
    win = vim.api.nvim_get_current_win()
  end
  dress(win)
  view:to_end(win)
  vim.api.nvim_set_current_win(options.focus and win or was)
  return view
end

--- Removes the chat of a deleted session. Its windows show the newest session.
---@param session? hermes.Session
function M.forget(session)
  for buf, view in pairs(views) do
    if view.session == session then
      for _, win in ipairs(vim.fn.win_findbuf(buf)) do
        vim.api.nvim_win_set_buf(win, M.get(session.connection:newest()).buf)
        dress(win)
      end
      return vim.api.nvim_buf_delete(buf, { force = true })
    end
  end
end

--- The window of this tab page that shows a chat.
---@return integer?
function M.window()
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if views[vim.api.nvim_win_get_buf(win)] then
      return win
    end
  end
end

--- Whether a window is one for files: no chat, no floating one, none of a tool's.
---@param win integer
---@return boolean
local function for_files(win)
  local buf = vim.api.nvim_win_get_buf(win)
  return vim.api.nvim_win_get_config(win).relative == "" and not views[buf] and vim.bo[buf].buftype == "" and not vim.wo[win].winfixbuf
end

--- Goes to a window in which a file can be opened, so that none takes the chat's place.
function M.leave()
  if for_files(vim.api.nvim_get_current_win()) then
    return
  end
  for _, win in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if for_files(win) then
      return vim.api.nvim_set_current_win(win)
    end
  end
  local chat = M.window()
  if chat then
    vim.api.nvim_set_current_win(chat)
  end
  vim.cmd("leftabove vertical new")
end

--- Draws at once all that is to be drawn.
function M.draw()
  for _, view in pairs(views) do
    view:flush()
  end
  vim.cmd.redrawstatus({ bang = true })
  vim.cmd.redraw()
end

--- Hides the chat. A running turn continues.
--- Reports whether a window shows the chat of a session.
---@param session hermes.Session
---@return boolean
function M.visible(session)
  for buf, view in pairs(views) do
    if view.session == session and #vim.fn.win_findbuf(buf) > 0 then
      return true
    end
  end
  return false
end

function M.hide()
  local win = M.window()
  if not win then
    return
  end
  if #vim.api.nvim_list_wins() == 1 then
    return vim.cmd.enew()
  end
  vim.api.nvim_win_close(win, false)
end

return M
