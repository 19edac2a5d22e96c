--- The options and their defaults.
local M = {}

---@class hermes.Keys the keys of the chat; false leaves one out
---@field send? string|false in normal mode
---@field send_insert? string|false in insert mode
---@field cancel? string|false
---@field hide? string|false
---@field fold? string|false
---@field next? string|false to the next message
---@field previous? string|false
---@field diff? string|false go to the file under the cursor, or review what the call there changed
---@field file? string|false go to the file under the cursor
---@field help? string|false

---@class hermes.ChatConfig
---@field position? "right"|"left"|"bottom"|"top"|"tab"
---@field size? number columns or lines; below 1 it is a share of the screen
---@field keys? hermes.Keys

---@class hermes.Config
---@field cmd? string[] the server
---@field env? table<string, string> its environment, beside Neovim's own
---@field attach? boolean start it with the first file that has a root
---@field filetypes? string[] only these; all where nothing is said
---@field root_markers? (string|string[])[] groups of names, the first group that is found counts
---@field root_dir? fun(buf: integer): string? chooses the root in another way
---@field init_options? table keys of config.yaml that go before everything else
---@field settings? table keys of config.yaml that are harmless, as a project may set them
---@field on_new_prompt? "interrupt"|"queue" what a message does to the turn that runs
---@field chat? hermes.ChatConfig
---@field save_edits? boolean save a buffer after an edit, if it had no unsaved changes
---@field signs? boolean mark the lines that the agent has changed, until they are accepted or reverted
---@field subagents? { float: boolean } show them in a small window while they work

---@type hermes.Config
M.defaults = {
  cmd = { "hermes-ls" },
  attach = true,
  root_markers = { { ".git", ".hg", ".jj", ".svn" }, { "go.mod", "Cargo.toml", "package.json", "pyproject.toml", "Makefile" } },
  init_options = {},
  settings = {},
  chat = {
    position = "right",
    size = 0.4,
    keys = {
      send = "<CR>",
      send_insert = "<C-s>",
      cancel = "<C-c>",
      hide = "q",
      fold = "<Tab>",
      next = "]]",
      previous = "[[",
      diff = "gd",
      file = "gf",
      help = "g?",
    },
  },
  save_edits = true,
  signs = true,
  subagents = { float = true },
}

---@type hermes.Config
M.current = M.defaults

---@class hermes.Rule what a value must be
---@field words string
---@field holds fun(value: any): boolean

---@param name type
---@return hermes.Rule
local function a(name)
  return {
    words = "a " .. name,
    holds = function(value)
      return type(value) == name
    end,
  }
end

---@param ... string
---@return hermes.Rule
local function one_of(...)
  local values = { ... }
  return {
    words = '"' .. table.concat(values, '" or "') .. '"',
    holds = function(value)
      return vim.tbl_contains(values, value)
    end,
  }
end

---@param key type of the keys; "number" is a list
---@return hermes.Rule
local function strings_by(key, words)
  return {
    words = words,
    holds = function(value)
      for k, v in pairs(type(value) == "table" and value or { false }) do
        if type(k) ~= key or type(v) ~= "string" then
          return false
        end
      end
      return key == "string" or next(value) ~= nil
    end,
  }
end

local mapped = {
  words = "a key such as <CR>, or false",
  holds = function(value)
    return value == false or type(value) == "string" and value ~= ""
  end,
}

local size = {
  words = "a number above 0",
  holds = function(value)
    return type(value) == "number" and value > 0
  end,
}

--- The rule for each option, or a table of the options below it.
local shape = {
  cmd = strings_by("number", 'a list of words, such as { "hermes-ls" }'),
  env = strings_by("string", "a table of strings by name"),
  attach = a("boolean"),
  filetypes = strings_by("number", "a list of file types"),
  root_markers = a("table"),
  root_dir = a("function"),
  init_options = a("table"),
  settings = a("table"),
  on_new_prompt = one_of("interrupt", "queue"),
  chat = {
    position = one_of("right", "left", "bottom", "top", "tab"),
    size = size,
    keys = vim.tbl_map(function()
      return mapped
    end, M.defaults.chat.keys),
  },
  save_edits = a("boolean"),
  signs = a("boolean"),
  subagents = { float = a("boolean") },
}

--- Removes invalid options.
---@param given table
---@param want table
---@param prefix string
---@param problems string[]
local function check(given, want, prefix, problems)
  local names = vim.tbl_keys(given)
  table.sort(names, function(x, y)
    return tostring(x) < tostring(y)
  end)
  for _, key in ipairs(names) do
    local name, value, rule = prefix .. tostring(key), given[key], want[key]
    if rule and not rule.holds and type(value) == "table" then
      check(value, rule, name .. ".", problems)
    elseif not rule then
      table.insert(problems, ("there is no option %s"):format(name))
      given[key] = nil
    elseif not rule.holds or not rule.holds(value) then
      local shown = vim.inspect(value, { newline = " ", indent = "" })
      table.insert(problems, ("%s must be %s, not %s"):format(name, rule.words or "a table", shown))
      given[key] = nil
    end
  end
end

--- The problems with the options of the last setup.
---@type string[]
M.problems = {}

--- Applies the user's options. Invalid options are reported, and all others apply.
---@param given? hermes.Config
---@return string[] problems
function M.set(given)
  M.problems = {}
  if type(given or {}) ~= "table" then
    M.problems = { "the options must be a table, not " .. vim.inspect(given) }
    given = {}
  end
  given = vim.deepcopy(given or {})
  check(given, shape, "", M.problems)
  M.current = vim.tbl_deep_extend("force", M.defaults, given)
  for _, list in ipairs({ "cmd", "filetypes", "root_markers" }) do -- lists are taken whole
    M.current[list] = given[list] or M.current[list]
  end
  return M.problems
end

return M
