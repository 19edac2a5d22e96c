--- Times as people read them.
local M = {}

--- A time of the server's, in the local zone.
---@param stamp? string RFC 3339, UTC
---@return string such as "2026-11-20 15:24"; empty where there is none
function M.short(stamp)
  local year, month, day, hour, minute, second = tostring(stamp):match("^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)")
  if not year then
    return ""
  end
  local utc = os.time({ year = year, month = month, day = day, hour = hour, min = minute, sec = second, isdst = false })
  local now = os.time()
  local zone = os.date("!*t", now) --[[@as osdateparam]]
  zone.isdst = false
  return os.date("%Y-%m-%d %H:%M", utc + os.difftime(now, os.time(zone))) --[[@as string]]
end

return M
