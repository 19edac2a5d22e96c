--- What the user reads of a failed turn: the server's text names settings and commands of a shell;
--- here are the commands of this plugin.
local compat = require("hermes.compat")

local M = {}

local again = ", then send the prompt again."

---@param data table details of the server
---@return string
local function name_of(data)
  local provider = compat.some(data.provider)
  if provider and provider ~= "custom" then
    return provider
  end
  local host = (compat.some(data.endpoint) or ""):match("^%a+://([^/]+)")
  return host and "your endpoint " .. host or "your endpoint"
end

--- Returns the text for an error of a prompt.
---@param err lsp.ResponseError
---@return string
function M.text(err)
  local data = type(err.data) == "table" and err.data or {}
  if data.kind == "no key" then
    local missing = data.key ~= false and compat.some(data.provider)
    return (missing and ("No API key for %s."):format(name_of(data)) or "The endpoint of the model has no address.")
      .. " Set it with :Hermes setup"
      .. again
  elseif data.kind == "key refused" then
    local why = {}
    for _, part in ipairs({ compat.some(data.status) or "", ((compat.some(data.reason) or ""):gsub("[.%s]+$", "")) }) do
      if part ~= "" then
        table.insert(why, tostring(part))
      end
    end
    local because = #why > 0 and (" (%s)"):format(table.concat(why, ": ")) or ""
    return ("The key for %s was refused%s. Enter another one with :Hermes setup"):format(name_of(data), because) .. again
  end
  return (err.message:gsub("^%l", string.upper))
end

--- Returns the text of a failure with the command that sends the prompt again.
---@param text string
---@return string
function M.repeatable(text)
  if vim.endswith(text, again) then
    return text:sub(1, #text - #again) .. ", then :Hermes retry."
  end
  return text .. "\n:Hermes retry sends the prompt again."
end

return M
