--- Lets the user choose an MCP server, a skill, a file of the memory or a learning for an action of :Hermes.
local compat = require("hermes.compat")
local protocol = require("hermes.protocol")

local M = {}

---@class hermes.Choices
---@field list "mcp"|"skills"|"memory"|"learnings" part of the result of hermes.extensions
---@field suits? fun(item: table): boolean
---@field argument fun(item: table): string for the action
---@field line fun(item: table): string
---@field none string

--- Returns the choices of servers that suit.
---@param suits fun(server: hermes.MCPServerState): boolean
---@return hermes.Choices
local function servers(suits)
  return {
    list = "mcp",
    suits = suits,
    argument = function(server)
      return server.name
    end,
    line = function(server)
      local state = server.state == "connected" and ("connected, %d tools"):format(server.tools) or server.state
      return ("%s  %s  %s"):format(server.name, state, compat.some(server.error) or server.from)
    end,
    none = "there is no MCP server for this; :Hermes mcp lists them",
  }
end

---@param ... string
local function in_state(...)
  local states = { ... }
  return servers(function(server)
    return vim.tbl_contains(states, server.state)
  end)
end

---@type table<string, hermes.Choices> by subcommand and action
local choices = {
  ["mcp login"] = in_state("needs login", "failed", "connected"),
  ["mcp logout"] = in_state("connected", "needs login"),
  ["mcp restart"] = in_state("connected", "failed", "needs login"),
  ["mcp approve"] = in_state("not approved"),
  ["mcp revoke"] = servers(function(server)
    return server.approved == true
  end),
  ["mcp logs"] = servers(function(server)
    return compat.some(server.log) ~= nil
  end),
  ["skills open"] = {
    list = "skills",
    argument = function(skill)
      return skill.name
    end,
    line = function(skill)
      return skill.name .. "  " .. (compat.some(skill.error) or compat.some(skill.description) or "")
    end,
    none = "there are no skills",
  },
  ["memory open"] = {
    list = "memory",
    argument = function(file)
      return file.target
    end,
    line = function(file)
      return file.heading .. "  " .. file.usage
    end,
    none = "there is no memory",
  },
  ["learnings forget"] = {
    list = "learnings",
    argument = function(learning)
      return tostring(learning.id)
    end,
    line = function(learning)
      return ("%s  (not: %s)"):format(learning.worked, learning.failed)
    end,
    none = "there are no learnings",
  },
}

--- How often, and after how many milliseconds, servers that connect are listed again.
local tries, pause = 20, 500

---@param servers_of hermes.MCPServerState[]
---@return boolean
local function connecting(servers_of)
  return vim.iter(servers_of):any(function(server)
    return server.state == "connecting"
  end)
end

--- Lets the user choose the argument of an action. If there is nothing to choose for it, pick returns false.
---@param session hermes.Session
---@param action string such as "mcp login"
---@param picked fun(argument: string)
---@param left? integer how often servers that connect are listed again
---@return boolean
function M.pick(session, action, picked, left)
  local wanted = choices[action]
  if not wanted then
    return false
  end
  local say = require("hermes.connection").say
  session:execute(protocol.command.extensions, {}, function(err, result)
    if err then
      return say(err.message, vim.log.levels.ERROR)
    end
    local items = vim.tbl_filter(wanted.suits or function()
      return true
    end, result[wanted.list] or {})
    left = left or tries
    if #items == 0 and wanted.list == "mcp" and left > 0 and connecting(result.mcp) then
      return vim.defer_fn(function()
        M.pick(session, action, picked, left - 1)
      end, pause)
    elseif #items == 0 then
      return say(wanted.none)
    end
    vim.ui.select(items, {
      prompt = ":Hermes " .. action,
      kind = "hermes." .. wanted.list,
      format_item = function(item)
        return (wanted.line(item):gsub("%s*\n%s*", " "))
      end,
    }, function(item)
      if item then
        picked(wanted.argument(item))
      end
    end)
  end)
  return true
end

return M
