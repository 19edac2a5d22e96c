local form = require("hermes.form")

---@param got any
---@param want any
local function same(got, want)
  if not vim.deep_equal(got, want) then
    error(("got %s\nwant %s"):format(vim.inspect(got), vim.inspect(want)), 2)
  end
end

local schema = vim.json.decode([[{
  "type": "object", "required": ["name", "color"],
  "properties": {
    "name": {"type": "string", "title": "Name", "description": "As on the letter box", "minLength": 2, "maxLength": 4},
    "color": {"type": "string", "enum": ["r", "b"], "enumNames": ["Red", "Blue"]},
    "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
    "day": {"type": "string", "format": "date"},
    "extras": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"anyOf": [{"const": "x", "title": "X"}, {"const": "y"}]}},
    "gift": {"type": "boolean"},
    "mail": {"type": "string", "format": "email"}
  }
}]])

--- A user who gives these answers: the number of an entry, a text, or false to close.
---@param answers any[]
local function user(answers)
  local seen = {}
  local function next_answer()
    assert(#answers > 0, "a question too many:\n" .. table.concat(seen, "\n"))
    return table.remove(answers, 1)
  end
  return {
    seen = seen,
    left = answers,
    select = function(choices, text, _, name, chosen)
      table.insert(seen, text .. "\n" .. table.concat(vim.tbl_map(name, choices), "\n"))
      local answer = next_answer()
      if not answer then
        return chosen(nil)
      end
      for _, choice in ipairs(choices) do
        if vim.startswith(name(choice), answer) then
          return chosen(choice)
        end
      end
      error("there is no " .. answer .. " in " .. seen[#seen])
    end,
    write = function(text, _, default, done)
      table.insert(seen, text .. "\n> " .. default)
      done(next_answer() or nil)
    end,
  }
end

---@param wanted table
---@param answers any[]
---@return table result, string[] seen
local function filled(wanted, answers, message)
  local u, result = user(answers), nil
  form.fill(message or "shop (MCP server) asks: Your order", wanted, u, function(r)
    result = r
  end)
  same(u.left, {})
  return result, u.seen
end

local T = {}

T["fields: in the order that comes with them, then by name"] = function()
  same(
    vim.tbl_map(function(f)
      return f.name .. " " .. f.kind
    end, form.fields(schema, { "name", "mail", "color" })),
    { "name text", "mail email", "color choice", "count number", "day date", "extras several", "gift boolean" }
  )
end

T["a form is shown whole, filled in and sent"] = function()
  local result, seen = filled(schema, {
    "Name",
    "Anna",
    "color",
    "Blue",
    "gift",
    "Yes",
    "extras",
    "[ ] y",
    "[ ] X",
    "Done",
    "day",
    "2026-02-28",
    "Send",
  })
  same(
    seen[1],
    table.concat({
      "Hermes asks: shop (MCP server) asks: Your order",
      "color (required): ",
      "count (optional): 3",
      "day (optional): ",
      "extras (optional): ",
      "gift (optional): ",
      "mail (optional): ",
      "Name (required): ",
      "Send",
      "Decline",
      "Cancel",
    }, "\n")
  )
  same(seen[2], "Name (required)\nAs on the letter box\nEnter 2 to 4 characters.\n> ")
  same(result, { action = "accept", content = { name = "Anna", color = "b", count = 3, gift = true, extras = { "x", "y" }, day = "2026-02-28" } })
end

T["what does not fit is refused with a sentence, at its field"] = function()
  local result, seen = filled(schema, { "Send", "Name", "Annabel", "Anna", "color", "Red", "count", "0", "2", "mail", "ann", false, "Send" })
  assert(seen[2]:find("color (required):  ✗ Choose one of these.", 1, true), seen[2])
  assert(seen[2]:find("Name (required):  ✗ This field is required.", 1, true), seen[2])
  same(seen[4], "Name (required)\nAs on the letter box\n✗ Enter 2 to 4 characters.\n> Annabel")
  assert(table.concat(seen, "\n"):find("count (optional)\n✗ Enter a whole number from 1 to 9.\n> 0", 1, true), table.concat(seen, "\n"))
  same(result.content, { name = "Anna", color = "r", count = 2 })
end

T["a form is declined, canceled and closed"] = function()
  same(filled(schema, { "Decline" }), { action = "decline" })
  same(filled(schema, { "Cancel" }), { action = "cancel" })
  same(filled(schema, { false }), { action = "cancel" })
end

T["a form without values is an object"] = function()
  local result = filled({ properties = { note = { type = "string" } } }, { "Send" })
  same(vim.json.encode(result.content), "{}")
end

T["values can be removed"] = function()
  local result = filled(
    { properties = { n = { type = "number", default = 2 }, c = { enum = { "a" }, default = "a" } } },
    { "n", "", "c", "No answer", "Send" }
  )
  same(vim.json.encode(result.content), "{}")
end

T["values that the server refused are kept"] = function()
  local one = { properties = { note = { type = "string" } } }
  filled(one, { "note", "tea", "Send" })
  local _, seen = filled(one, { "Cancel" }, "shop (MCP server) asks: Order\n\nThe last values do not fit: no tea")
  assert(seen[1]:find("note (optional): tea", 1, true), seen[1])
  _, seen = filled(one, { "Cancel" })
  assert(seen[1]:find("note (optional): \n", 1, true), seen[1])
end

T["texts are judged by their format"] = function()
  for kind, cases in pairs({
    email = { ["a@b"] = true, a = false, ["a b@c"] = false },
    uri = { ["https://x.org/a"] = true, ["x.org"] = false, ["https://a b"] = false },
    date = { ["2024-02-29"] = true, ["2026-02-29"] = false, ["2026-13-01"] = false, ["1.2.2026"] = false },
    ["date-time"] = {
      ["2026-11-23T14:30:00Z"] = true,
      ["2026-11-23T14:30:00.5+01:00"] = true,
      ["2026-11-23T14:30:00"] = false,
      ["2026-11-23"] = false,
    },
    number = { ["1e2"] = true, ["0x"] = false, nan = false, inf = false },
  }) do
    for text, fits in pairs(cases) do
      local value = form.parse({ kind = kind, title = "T", name = "t", required = true, choices = {} }, text)
      same({ kind, text, value ~= nil }, { kind, text, fits })
    end
  end
end

return T
