--- The current state as a short text.
local protocol = require("hermes.protocol")

local M = {}

--- As much of a text as there is room for, in columns of the screen.
---@param text string
---@param room integer
---@return string
local function shortened(text, room)
  if vim.fn.strdisplaywidth(text) <= room then
    return text
  elseif room < 8 then
    return ""
  end
  while vim.fn.strdisplaywidth(text) >= room do
    text = vim.fn.strcharpart(text, 0, vim.fn.strchars(text) - 1)
  end
  return text .. "…"
end

---@param session hermes.Session
---@return string words, string group
local function state(session)
  if session.asking > 0 then
    return require("hermes.questions").held() and "waiting for you: Esc to answer" or "waiting for you", "HermesAsking"
  elseif not session.connection.client then
    return "no server", "HermesFailed"
  elseif session:running() then
    local doing = session.doing and (session.doing:gsub("%s+", " "))
    return doing and "working: " .. shortened(doing, 40) or "working", "HermesRunning"
  end
  return "idle", "HermesDone"
end

---@param n integer
---@return string
local function short(n)
  return n < 1000 and tostring(n) or ("%.1fk"):format(n / 1000)
end

--- The mode if it is not `ask`, the model, tokens of the context, the cached share of the last
--- request, cost.
---@param session hermes.Session
---@return string
local function facts(session)
  local parts = {} ---@type string[]
  for _, option in ipairs(session.options) do
    local usual = option.category == protocol.category.mode and option.options[1].value
    local said = option.category == protocol.category.model or usual and option.currentValue ~= usual
    if said then
      table.insert(parts, tostring(option.currentValue))
    end
  end
  local usage = session.usage
  if usage and usage.used and usage.used > 0 then
    table.insert(parts, ("%s/%s"):format(short(usage.used), short(usage.size or 0)))
    local last = vim.tbl_get(usage, "_meta", "hermes", "lastRequest")
    if type(last) == "table" and (last.input or 0) > 0 and (last.cachedRead or 0) > 0 then
      table.insert(parts, ("%d%% cached"):format(math.floor(last.cachedRead * 100 / last.input + 0.5)))
    end
    if type(usage.cost) == "table" then
      table.insert(parts, ("%.2f %s"):format(usage.cost.amount, usage.cost.currency))
    end
  end
  return table.concat(parts, " · ")
end

local drawing = false

--- Has the bars drawn again, once for all that has changed meanwhile.
function M.redraw()
  if not drawing then
    drawing = true
    vim.schedule(function()
      drawing = false
      vim.cmd.redrawstatus({ bang = true })
    end)
  end
end

--- A text for a statusline or a winbar. Neovim runs what stands in %{…} there, so each
--- percent sign is doubled. Control characters become spaces.
---@param text string
---@return string
local function literal(text)
  return (text:gsub("%c", " "):gsub("%%", "%%%%"))
end

--- For a statusline: "Hermes: working: $ go test ./… · gpt-5 · 12.3k/128.0k". Empty where
--- no server runs.
---@return string
function M.line()
  local view = require("hermes.view").of(vim.api.nvim_get_current_buf())
  local session = view and view.session
  local running = false
  for _, connection in pairs(require("hermes.connection").all()) do
    session = session or connection.current
    running = running or connection.client ~= nil
  end
  if not session then
    return running and "Hermes: idle" or ""
  end
  local more = facts(session)
  local words = state(session)
  return "Hermes: " .. literal(words .. (more ~= "" and " · " .. more or ""))
end

--- The bar over the chat.
---@return string
function M.winbar()
  local view = require("hermes.view").of(vim.api.nvim_get_current_buf())
  if not view then
    return ""
  end
  local session = view.session
  local words, group = state(session)
  local more = facts(session)
  local title = session.title ~= "" and session.title or "new session"
  local width = vim.api.nvim_win_get_width(0)
  if vim.fn.strdisplaywidth(words .. more) + 6 > width then
    more = "" -- what it does matters most
  end
  title = shortened(title, width - vim.fn.strdisplaywidth(words .. more) - 8)
  return (" %%#%s#● %s%%*%%<  %s%%=%%#HermesDim#%s "):format(group, literal(words), literal(title), literal(more))
end

return M
