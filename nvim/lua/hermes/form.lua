--- Forms of MCP servers: a list of all fields with their values. The user changes one field after the other, then
--- sends, declines or cancels.
local compat = require("hermes.compat")

local M = {}

---@class hermes.FormChoice
---@field value any
---@field title string

---@class hermes.FormField
---@field name string
---@field title string
---@field description? string
---@field required boolean
---@field kind "text"|"email"|"uri"|"date"|"date-time"|"number"|"boolean"|"choice"|"several"
---@field choices hermes.FormChoice[]
---@field whole? boolean
---@field least? number
---@field most? number
---@field pattern? string
---@field initial any

--- Writes characters that are invisible, or that turn text around, as their code.
---@param text any
---@return string
local function revealed(text)
  return (tostring(text):gsub("[%z\1-\31\127]", " "):gsub("\226\128[\139\142\143\170-\174]", "⟨?⟩"):gsub("\226\129[\160\166-\169]", "⟨?⟩"))
end

---@param property table
---@return hermes.FormChoice[]?
local function choices_of(property)
  local choices = {}
  local titled = compat.some(property.oneOf) or compat.some(property.anyOf)
  for _, one in ipairs(titled or {}) do
    table.insert(choices, { value = one.const, title = revealed(compat.some(one.title) or one.const) })
  end
  local names = compat.some(property.enumNames) or {}
  for i, value in ipairs(compat.some(property.enum) or {}) do
    table.insert(choices, { value = value, title = revealed(compat.some(names[i]) or value) })
  end
  return #choices > 0 and choices or nil
end

local formats = { email = true, uri = true, date = true, ["date-time"] = true }

---@param name string
---@param p table
---@param required boolean
---@return hermes.FormField
local function field_of(name, p, required)
  local title, description = compat.some(p.title), compat.some(p.description)
  local field = {
    name = name,
    title = revealed(title and title ~= "" and title or name),
    description = description and revealed(description),
    required = required,
    kind = "text",
    choices = choices_of(p) or {},
    initial = compat.some(p.default),
  }
  if #field.choices > 0 then
    field.kind = "choice"
  elseif p.type == "array" then
    field.kind, field.least, field.most = "several", compat.some(p.minItems), compat.some(p.maxItems)
    field.choices = choices_of(compat.some(p.items) or {}) or {}
  elseif p.type == "boolean" then
    field.kind = "boolean"
    field.choices = { { value = true, title = "Yes" }, { value = false, title = "No" } }
  elseif p.type == "number" or p.type == "integer" then
    field.kind, field.whole = "number", p.type == "integer"
    field.least, field.most = compat.some(p.minimum), compat.some(p.maximum)
  else
    field.kind = formats[p.format] and p.format or "text"
    field.least, field.most, field.pattern = compat.some(p.minLength), compat.some(p.maxLength), compat.some(p.pattern)
  end
  return field
end

--- Reads a schema. A table of Lua has no order, so the order of the fields comes with it; others are sorted by name.
---@param schema table
---@param order? string[]
---@return hermes.FormField[]
function M.fields(schema, order)
  local fields, required, place = {}, compat.some(schema.required) or {}, {}
  for i, name in ipairs(order or {}) do
    place[name] = i
  end
  for name, property in pairs(compat.some(schema.properties) or {}) do
    table.insert(fields, field_of(name, property, vim.tbl_contains(required, name)))
  end
  table.sort(fields, function(a, b)
    local first, second = place[a.name] or math.huge, place[b.name] or math.huge
    if first ~= second then
      return first < second
    end
    return a.name < b.name
  end)
  return fields
end

---@param f hermes.FormField
---@return string
local function range(f)
  if f.least and f.most then
    return (" from %s to %s"):format(f.least, f.most)
  end
  return f.least and (" of at least %s"):format(f.least) or f.most and (" of at most %s"):format(f.most) or ""
end

--- Says how many choices or characters there may be.
---@param f hermes.FormField
---@param verb string
---@param what string
---@return string
local function amount(f, verb, what)
  local least = f.least and f.least > 0 and f.least or nil
  if least and f.most then
    return least == f.most and ("%s %d%s."):format(verb, least, what) or ("%s %d to %d%s."):format(verb, least, f.most, what)
  end
  return f.most and ("%s at most %d%s."):format(verb, f.most, what) or ("%s at least %d%s."):format(verb, least or 1, what)
end

--- Returns the sentence for a text that is none of the field's kind.
---@param f hermes.FormField
---@return string
local function wrong(f)
  if f.kind == "number" then
    return ("Enter a %snumber%s."):format(f.whole and "whole " or "", range(f))
  end
  return ({
    email = "Enter an email address, such as name@example.org.",
    uri = "Enter a whole address, such as https://example.org.",
    date = "Enter a date, such as 2026-11-23.",
    ["date-time"] = "Enter a date and a time, such as 2026-11-23T14:30:00Z.",
  })[f.kind] or "Enter a text."
end

--- Says what a field takes. If it takes any text, it returns nil.
---@param f hermes.FormField
---@return string?
function M.hint(f)
  if f.kind == "several" then
    return ((f.least or 0) > 0 or f.most) and amount(f, "Choose", "") or nil
  elseif f.kind == "text" and f.pattern then
    return "The text must fit the pattern " .. revealed(f.pattern)
  elseif f.kind == "text" then
    return ((f.least or 0) > 1 or f.most) and amount(f, "Enter", " characters") or nil
  elseif f.kind == "choice" or f.kind == "boolean" then
    return nil
  end
  return wrong(f)
end

---@param n number
---@param f hermes.FormField
---@return boolean
local function outside(n, f)
  return (f.least ~= nil and n < f.least) or (f.most ~= nil and n > f.most)
end

---@param text string
---@return boolean
local function is_date(text)
  local year, month, day = text:match("^(%d%d%d%d)%-(%d%d)%-(%d%d)$")
  if not year then
    return false
  end
  local at = { year = tonumber(year), month = tonumber(month), day = tonumber(day), hour = 12 }
  return os.date("%Y-%m-%d", os.time(at)) == text
end

local fits = {
  text = function()
    return true
  end,
  email = function(text)
    return text:find("^[^%s@]+@[^%s@]+$") ~= nil
  end,
  uri = function(text)
    return text:find("^%a[%w+.-]*:%S+$") ~= nil
  end,
  date = is_date,
  ["date-time"] = function(text)
    local date, hour, minute, second, zone = text:match("^(%S-)[Tt](%d%d):(%d%d):(%d%d)%.?%d*(.+)$")
    return date ~= nil
      and is_date(date)
      and tonumber(hour) < 24
      and tonumber(minute) < 60
      and tonumber(second) < 61
      and (zone:find("^[Zz]$") or zone:find("^[+-]%d%d:%d%d$")) ~= nil
  end,
}

--- Returns the value that a text means, or nil and a sentence.
---@param f hermes.FormField
---@param text string
---@return any value, string? problem
function M.parse(f, text)
  if f.kind == "number" then
    local n = tonumber(text)
    -- nan and inf are numbers for Lua, and none in JSON.
    if not n or n ~= n or math.abs(n) == math.huge or (f.whole and n ~= math.floor(n)) or outside(n, f) then
      return nil, wrong(f)
    end
    return n
  end
  if not fits[f.kind](text) then
    return nil, wrong(f)
  elseif outside(vim.fn.strchars(text), f) then
    return nil, amount(f, "Enter", " characters")
  end
  return text
end

--- Returns a sentence if a field cannot be sent as it is.
---@param f hermes.FormField
---@param value any
---@return string?
function M.problem(f, value)
  if value == nil then
    if not f.required then
      return nil
    elseif f.kind == "several" then
      return (f.least or 0) > 0 and amount(f, "Choose", "") or nil
    end
    return (f.kind == "choice" or f.kind == "boolean") and "Choose one of these." or "This field is required."
  elseif f.kind == "several" then
    return outside(#value, f) and amount(f, "Choose", "") or nil
  elseif f.kind ~= "choice" and f.kind ~= "boolean" then
    local _, problem = M.parse(f, tostring(value))
    return problem
  end
end

---@param f hermes.FormField
---@param value any
---@return string
local function shown(f, value)
  if value == nil then
    return ""
  end
  local titles = {}
  for _, choice in ipairs(f.choices) do
    if vim.deep_equal(choice.value, value) or (f.kind == "several" and vim.tbl_contains(value, choice.value)) then
      table.insert(titles, choice.title)
    end
  end
  return #f.choices > 0 and table.concat(titles, ", ") or tostring(value)
end

local no_answer = "No answer"

---@class hermes.FormAsk ways to ask the user
---@field select fun(choices: any[], text: string, kind: string, name: (fun(choice: any): string), chosen: fun(choice: any))
---@field write fun(text: string, title: string, default: string, done: fun(words: string?))

---@param f hermes.FormField
---@return string
local function heading(f)
  return f.title .. (f.required and " (required)" or " (optional)")
end

--- The text beside the input of a field.
---@param f hermes.FormField
---@param problem? string
---@return string
local function about(f, problem)
  local lines, hint = { heading(f) }, M.hint(f)
  for _, line in ipairs({ f.description or "", hint ~= problem and hint or "", problem and "✗ " .. problem or "" }) do
    if line ~= "" then
      table.insert(lines, line)
    end
  end
  return table.concat(lines, "\n")
end

---@param ask hermes.FormAsk
---@param f hermes.FormField
---@param value any
---@param problem string?
---@param done fun(value: any)
local function several(ask, f, value, problem, done)
  local chosen = vim.deepcopy(value or {})
  local entries = vim.list_extend({}, f.choices)
  table.insert(entries, { title = "Done" })
  ask.select(entries, about(f, problem), "hermes.form", function(entry)
    if entry.value == nil then
      return entry.title
    end
    return (vim.tbl_contains(chosen, entry.value) and "[x] " or "[ ] ") .. entry.title
  end, function(entry)
    if not entry then
      return done(value)
    elseif entry.value == nil then
      problem = M.problem(f, #chosen > 0 and chosen or nil)
      if problem then
        return several(ask, f, chosen, problem, done)
      end
      return done(#chosen > 0 and chosen or nil)
    end
    -- In the order of the form.
    local now = vim.tbl_filter(function(choice)
      return vim.tbl_contains(chosen, choice.value) ~= (choice.value == entry.value)
    end, f.choices)
    several(
      ask,
      f,
      vim.tbl_map(function(choice)
        return choice.value
      end, now),
      nil,
      done
    )
  end)
end

--- Asks for the value of a field. If the user closes the input, the value stays.
---@param ask hermes.FormAsk
---@param f hermes.FormField
---@param value any
---@param problem string?
---@param done fun(value: any)
---@param draft? string the text that does not fit
local function change(ask, f, value, problem, done, draft)
  if f.kind == "several" then
    return several(ask, f, value, problem, done)
  elseif #f.choices > 0 then
    local entries = vim.list_extend({}, f.choices)
    if not f.required then
      table.insert(entries, { title = no_answer })
    end
    return ask.select(entries, about(f, problem), "hermes.form", function(entry)
      return entry.title
    end, function(entry)
      if not entry then
        return done(value)
      end
      done(entry.value)
    end)
  end
  ask.write(about(f, problem), f.title, draft or value ~= nil and tostring(value) or "", function(words)
    if not words then
      return done(value)
    end
    words = vim.trim(words)
    if words == "" then
      return done(nil)
    end
    local parsed, sentence = M.parse(f, words)
    if sentence then
      return change(ask, f, value, sentence, done, words)
    end
    done(parsed)
  end)
end

--- What was sent last. If the server shows the form again because the values do not fit, it begins with them.
local sent ---@type { schema: table, values: table<string, any> }?

--- Shows a form until the user sends, declines or cancels it.
---@param message string
---@param schema table
---@param ask hermes.FormAsk
---@param done fun(result: hermes.ElicitResponse)
---@param order? string[] of the fields
function M.fill(message, schema, ask, done, order)
  local fields = M.fields(schema, order)
  local values, problems = {}, {}
  for _, f in ipairs(fields) do
    values[f.name] = f.initial
  end
  if sent and vim.deep_equal(sent.schema, schema) and message:find("The last values do not fit", 1, true) then
    values = vim.deepcopy(sent.values)
  end
  local entries = vim.list_extend({}, fields)
  vim.list_extend(
    entries,
    { { action = "accept", title = "Send" }, { action = "decline", title = "Decline" }, { action = "cancel", title = "Cancel" } }
  )
  local function name(entry)
    if entry.action then
      return entry.title
    end
    local line = ("%s: %s"):format(heading(entry), shown(entry, values[entry.name]))
    return problems[entry.name] and ("%s ✗ %s"):format(line, problems[entry.name]) or line
  end
  local function show()
    ask.select(entries, "Hermes asks: " .. message, "hermes.form", name, function(entry)
      if not entry then
        return done({ action = "cancel" })
      elseif entry.action == "accept" then
        problems = {}
        for _, f in ipairs(fields) do
          problems[f.name] = M.problem(f, values[f.name])
        end
        if next(problems) then
          return show()
        end
        local content = vim.empty_dict()
        for _, f in ipairs(fields) do
          content[f.name] = values[f.name]
          if f.required and f.kind == "several" and values[f.name] == nil then
            content[f.name] = {}
          end
        end
        sent = { schema = schema, values = vim.deepcopy(values) }
        return done({ action = "accept", content = content })
      elseif entry.action then
        return done({ action = entry.action })
      end
      change(ask, entry, values[entry.name], problems[entry.name], function(value)
        values[entry.name], problems[entry.name] = value, nil
        show()
      end)
    end)
  end
  show()
end

return M
