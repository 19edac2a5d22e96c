--- The changes of turns: shows them side by side, and reverts them.
local compat = require("hermes.compat")
local protocol = require("hermes.protocol")
local say = require("hermes.connection").say

local M = {}

--- Files that are larger are not read again by themselves.
local most_bytes = 64 * 1024 * 1024

--- Has Neovim read files again that have changed. If a command has put something else in
--- the place of a file, such as a named pipe, or a very large file, Neovim would wait for
--- it forever, so its buffer is not read again by itself any more.
function M.look()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == "" and name ~= "" then
      local stat = vim.uv.fs_stat(name)
      if stat and (stat.type ~= "file" or stat.size > most_bytes) then
        vim.bo[buf].autoread = false
      else
        pcall(vim.cmd, buf .. "checktime")
      end
    end
  end
end

--- Shows a file beside its earlier text, in a tab page of its own.
---@param path string
---@param before string? nil: it was not there
local function compare(path, before)
  vim.cmd.tabedit(vim.fn.fnameescape(path))
  local filetype = vim.bo.filetype
  local tab = vim.api.nvim_get_current_tabpage()
  vim.cmd.diffthis()
  vim.cmd("leftabove vertical new")
  local buf = vim.api.nvim_get_current_buf()
  local lines = before and vim.split((before:gsub("\n$", "")), "\n") or {}
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].buftype, vim.bo[buf].bufhidden, vim.bo[buf].swapfile = "nofile", "wipe", false
  pcall(vim.api.nvim_buf_set_name, buf, "hermes://before" .. path)
  vim.bo[buf].filetype = filetype
  vim.bo[buf].modifiable, vim.bo[buf].modified = false, false
  vim.cmd.diffthis()
  vim.keymap.set("n", "q", function()
    if #vim.api.nvim_list_tabpages() > 1 then
      vim.cmd.tabclose(vim.api.nvim_tabpage_get_number(tab))
    end
  end, { buffer = buf, desc = "Hermes: close the comparison" })
  vim.cmd.wincmd("p")
  vim.cmd("normal! gg]c")
end

--- Passes the files of the last turn that changed some, and a function that returns the earlier text of each.
---@param session hermes.Session
---@param go_on fun(files: string[], before: fun(path: string, done: fun(text: string?)))
local function last_changes(session, go_on)
  local connection = session.connection
  local function absolute(path)
    return path:sub(1, 1) == "/" and path or connection.root .. "/" .. path
  end
  session:request(protocol.method.checkpoint_list, {}, function(err, result)
    for _, checkpoint in ipairs(not err and result.checkpoints or {}) do
      if #checkpoint.files > 0 then
        return go_on(vim.tbl_map(absolute, checkpoint.files), function(path, done)
          session:request(protocol.method.checkpoint_file, {
            checkpointId = checkpoint.id,
            path = path,
          }, function(failed, file)
            if failed then
              return say(failed.message, vim.log.levels.ERROR)
            end
            done(compat.some(file.content))
          end)
        end)
      end
    end
    -- There are no checkpoints: the edits have the earlier texts.
    local files = vim.tbl_keys(session.before)
    table.sort(files)
    go_on(files, function(path, done)
      done(session.before[path] or nil)
    end)
  end)
end

--- Shows the changes of the last turn, with :diffthis.
---@param session hermes.Session
---@param name? string a file, as it is called in the root
function M.review(session, name)
  local root = session.connection.root
  last_changes(session, function(files, before)
    local function show(path)
      if path then
        before(path, function(text)
          compare(path, text)
        end)
      end
    end
    if name then
      files = vim.tbl_filter(function(path)
        return path == name or path == root .. "/" .. name
      end, files)
    end
    if #files == 0 then
      return say(name and name .. " was not changed by the last turn" or "the last turn changed no file")
    elseif #files == 1 then
      return show(files[1])
    end
    vim.ui.select(files, {
      prompt = "Changed by the last turn",
      kind = "hermes.file",
      format_item = function(path)
        local shown = vim.startswith(path, root .. "/") and path:sub(#root + 2) or path
        return (shown:gsub("%c", "?"))
      end,
    }, show)
  end)
end

--- Shows the changes of one call.
---@param item hermes.Item
function M.review_call(item)
  for _, content in ipairs(compat.some(item.call.content) or {}) do
    if content.type == "diff" then
      return compare(content.path, compat.some(content.oldText))
    end
  end
  say("this call has changed no file")
end

--- The files of a restore that are kept, with the reasons.
---@param result hermes.RestoreResult
---@return string
local function kept(result)
  local list = {}
  for i, name in ipairs(result.kept) do
    local why = (result.why or {})[i]
    list[i] = why and name .. " (" .. why .. ")" or name
  end
  return table.concat(list, ", ")
end

--- What a restore has done: in the buffers, and on the disk where it differs.
---@param result hermes.RestoreResult
---@param all? boolean also the files that are kept
---@return string
local function outcome(result, all)
  local text = #result.restored > 0 and "restored " .. table.concat(result.restored, ", ") or "no file had to be restored"
  if all and #result.kept > 0 then
    text = text .. "; kept " .. kept(result)
  end
  for _, file in ipairs(result.unsaved or {}) do
    text = text .. "; not saved: " .. file.path .. (file.why and " (" .. file.why .. ")" or "")
  end
  return text
end

--- Tells what a restore has done.
---@param result hermes.RestoreResult
---@param all? boolean
local function tell(result, all)
  say(outcome(result, all), #(result.unsaved or {}) > 0 and vim.log.levels.WARN or nil)
end

---@param session hermes.Session
---@param checkpoint string
---@param files? string[]
local function restore(session, checkpoint, files)
  session:request(protocol.method.checkpoint_restore, {
    checkpointId = checkpoint,
    files = files,
  }, function(err, result)
    if err then
      return say(err.message, vim.log.levels.ERROR)
    end
    M.look()
    require("hermes.signs").refresh(session.connection)
    local can = result.overwritable or {} -- the others would be kept again
    tell(result, files ~= nil or #can == 0)
    if #can == 0 or files then
      return
    end
    local these = #can == #result.kept and "Bring these back too" or ("Bring %s back too"):format(table.concat(can, ", "))
    vim.ui.select({ "Keep what I have changed", these }, {
      prompt = "Not restored: " .. kept(result),
      kind = "hermes.kept",
    }, function(_, choice)
      vim.cmd.redraw() -- clears the list, so that the message of the edit asks for no key
      if choice == 2 then
        restore(session, checkpoint, can)
      end
    end)
  end)
end

--- A file of a turn that waits for the user.
---@class hermes.Waiting
---@field turn hermes.TurnChanges
---@field files string[] as the server names them; several for “all”
---@field label string
---@field missed? boolean there is no checkpoint: it can be accepted, and not reverted

--- The entry of a turn without a checkpoint.
---@param turn hermes.MissedChanges
---@return hermes.Waiting
local function missed_entry(turn)
  local files = vim.list_extend({}, turn.files)
  if turn.commands then
    files[#files + 1] = "what commands have changed"
  end
  local label = ("%s  (%s; cannot be reverted: %s)"):format(table.concat(files, ", "), turn.title, turn.why)
  return { turn = turn, files = turn.files, label = label, missed = true }
end

--- The entries of the list of changes: all, if there are several, then each file. A turn without a checkpoint has one entry.
---@param result hermes.ChangesResult
---@return hermes.Waiting[]
local function entries(result)
  local list = vim.tbl_map(missed_entry, result.missed or {}) ---@type hermes.Waiting[]
  for _, turn in ipairs(result.changes) do
    if #turn.files > 1 then
      list[#list + 1] = { turn = turn, files = turn.files, label = ("all %d files  (%s)"):format(#turn.files, turn.title) }
    end
    for _, file in ipairs(turn.files) do
      list[#list + 1] = { turn = turn, files = { file }, label = ("%s  (%s)"):format(file, turn.title) }
    end
  end
  return list
end

--- Accepts, reverts or compares an entry.
---@param of hermes.Connection
---@param entry hermes.Waiting
---@param action string
local function judge(of, entry, action)
  local args = { sessionId = entry.turn.sessionId, checkpointId = entry.turn.checkpointId, files = entry.files }
  if action == "Accept" then
    return of:request(protocol.method.checkpoint_accept, args, function(err, result)
      say(err and err.message or ("accepted " .. table.concat(result.accepted, ", ")), err and vim.log.levels.ERROR)
      require("hermes.signs").refresh(of)
    end)
  elseif action == "Revert" then
    return of:request(protocol.method.checkpoint_restore, args, function(err, result)
      if err then
        return say(err.message, vim.log.levels.ERROR)
      end
      M.look()
      require("hermes.signs").refresh(of)
      tell(result, true)
    end)
  end
  local path = entry.files[1]:sub(1, 1) == "/" and entry.files[1] or of.root .. "/" .. entry.files[1]
  of:request(
    protocol.method.checkpoint_file,
    vim.tbl_extend("error", { path = path }, { sessionId = args.sessionId, checkpointId = args.checkpointId }),
    function(err, file)
      if err then
        return say(err.message, vim.log.levels.ERROR)
      end
      compare(path, compat.some(file.content))
    end
  )
end

--- Lists the changes of all sessions of the folder that wait, also of sessions that are closed, and judges one.
---@param of hermes.Connection
---@param name? string only those of a file
function M.waiting(of, name)
  of:request(protocol.method.checkpoint_changes, { cwd = of.root }, function(err, result)
    if err then
      return say(err.message, vim.log.levels.ERROR)
    end
    local list = vim.tbl_filter(function(entry)
      return not name or (#entry.files == 1 and (entry.files[1] == name or of.root .. "/" .. entry.files[1] == name))
    end, entries(result))
    if #list == 0 then
      return say(name and ("no change of %s waits"):format(name) or "no change waits")
    end
    vim.ui.select(list, {
      prompt = "Changes that wait",
      kind = "hermes.change",
      format_item = function(entry)
        return (entry.label:gsub("%c", "?"))
      end,
    }, function(entry)
      vim.cmd.redraw() -- as below
      if not entry then
        return
      end
      local actions = #entry.files == 1 and { "Compare", "Accept", "Revert" } or { "Accept", "Revert" }
      if entry.missed then
        actions = { "Accept" }
      end
      vim.ui.select(actions, { prompt = (entry.label:gsub("%c", "?")), kind = "hermes.judge" }, function(action)
        vim.cmd.redraw()
        if action then
          judge(of, entry, action)
        end
      end)
    end)
  end)
end

--- Restores files to their state before a turn that the user chooses.
---@param session hermes.Session
function M.rollback(session)
  session:request(protocol.method.checkpoint_list, {}, function(err, result)
    if err then
      return say(err.message, vim.log.levels.ERROR)
    elseif #result.checkpoints == 0 then
      return say("there is nothing to go back to: no turn of this session has changed a file")
    end
    vim.ui.select(result.checkpoints, {
      prompt = "Bring the files back to before",
      kind = "hermes.checkpoint",
      ---@param c hermes.CheckpointInfo
      format_item = function(c)
        local when = require("hermes.when").short(c.createdAt)
        return ("%s  %s  (%s)"):format(when, c.title, table.concat(c.files, ", "))
      end,
    }, function(checkpoint)
      vim.cmd.redraw() -- as above
      if checkpoint then
        restore(session, checkpoint.id)
      end
    end)
  end)
end

return M
