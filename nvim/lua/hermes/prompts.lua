--- The user's own prompts: changes and sends one again, restores the files to their state before it,
--- and repeats one that failed.
local connection = require("hermes.connection")
local protocol = require("hermes.protocol")
local view = require("hermes.view")

local M = {}

---@param item hermes.Item
---@return string
local function label(item)
  local first = require("hermes.context").unlinked(item.lines)[1]
  local short = vim.fn.strcharpart(first, 0, 60)
  return short .. ((short ~= first or #item.lines > 1) and "…" or "")
end

--- Returns the prompts of a session, the newest first. Slash commands are not among them, because
--- the history does not have them.
---@param session hermes.Session
---@return hermes.Item[]
local function all(session)
  local list = {}
  for _, item in ipairs(session.items) do
    if item.kind == "user" and item.message and not item.lines[1]:find("^/") then
      table.insert(list, 1, item)
    end
  end
  return list
end

--- Passes the prompt at the cursor of the chat. Elsewhere, the user chooses one.
---@param session hermes.Session
---@param title string
---@param done fun(item: hermes.Item)
local function choose(session, title, done)
  local list = all(session)
  local shown = view.of(vim.api.nvim_get_current_buf())
  local here = shown and shown:prompt_here()
  if here and vim.tbl_contains(list, here) then
    return done(here)
  elseif #list == 0 then
    return connection.say("the session has no prompt yet")
  end
  vim.ui.select(list, { prompt = title, kind = "hermes.prompt", format_item = label }, function(item)
    if item then
      done(item)
    end
  end)
end

--- Moves the session back to before a prompt, which is then the draft.
---@param session hermes.Session
---@param item hermes.Item
---@param files boolean restore the files, too
local function rewind(session, item, files)
  session:request(protocol.method.session_rewind, { prompt = item.message, files = files }, function(err, result)
    if err then
      return connection.say(err.message, vim.log.levels.ERROR)
    end
    require("hermes.changes").look()
    require("hermes.signs").refresh(session.connection)
    view.show(session, { focus = true }):put_back(vim.split(result.text or "", "\n"))
    if result.files then
      connection.say((result.files:gsub("`", "")))
    end
  end)
end

--- Passes whether a turn of the session has changed files.
---@param session hermes.Session
---@param done fun(changed: boolean)
local function changed_files(session, done)
  session:request(protocol.method.checkpoint_list, {}, function(err, result)
    done(not err and vim.iter(result.checkpoints):any(function(checkpoint)
      return #checkpoint.files > 0
    end))
  end)
end

--- Edit and resend: the session is rewound to before a prompt, and the prompt is the draft. If files
--- have changed, the user chooses whether they are restored.
---@param session hermes.Session
function M.resend(session)
  choose(session, "Edit and resend", function(item)
    changed_files(session, function(changed)
      if not changed then
        return rewind(session, item, false)
      end
      vim.ui.select({ "Keep the files as they are", "Restore the files to before this prompt" }, {
        prompt = ("Edit and resend “%s”"):format(label(item)),
        kind = "hermes.resend",
      }, function(_, choice)
        vim.cmd.redraw() -- clears the list, so that the message asks for no key
        if choice then
          rewind(session, item, choice == 2)
        end
      end)
    end)
  end)
end

--- Restore files to here: the session is rewound to before a prompt, with the files as they were.
---@param session hermes.Session
function M.restore(session)
  choose(session, "Restore the files to before", function(item)
    rewind(session, item, true)
  end)
end

--- Sends the prompt again whose turn failed.
---@param session hermes.Session
function M.retry(session)
  local failed = session.failed
  if not failed then
    return connection.say("no prompt has failed")
  end
  local shown = view.show(session, { focus = false })
  local text = table.concat(failed.item.lines, "\n")
  if shown:draft() == vim.trim(table.concat(require("hermes.context").unlinked(failed.item.lines), "\n")) then
    shown:set_draft({ "" }) -- it is sent
  end
  session:send(failed.blocks, text)
end

return M
