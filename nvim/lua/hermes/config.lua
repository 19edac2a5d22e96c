--- What the user may set, and what holds where nothing is set.
local M = {}

---@class hermes.Keys the keys of the chat; false leaves one out
---@field send? string|false in normal mode
---@field send_insert? string|false in insert mode
---@field cancel? string|false
---@field hide? string|false
---@field fold? string|false
---@field next? string|false to the next message
---@field previous? string|false
---@field diff? string|false review what the call under the cursor changed
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
      help = "g?",
    },
  },
  subagents = { float = true },
}

---@type hermes.Config
M.current = M.defaults

--- What each key must be. A table stands for the keys below it.
local shape = {
  cmd = "table",
  env = "table",
  attach = "boolean",
  filetypes = "table",
  root_markers = "table",
  root_dir = "function",
  init_options = "table",
  settings = "table",
  on_new_prompt = "string",
  chat = { position = "string", size = "number", keys = "table" },
  subagents = { float = "boolean" },
}

--- Takes out what is wrong.
---@param given table
---@param want table
---@param prefix string
---@param problems string[]
local function check(given, want, prefix, problems)
  for _, key in ipairs(vim.tbl_keys(given)) do
    local name, value = prefix .. tostring(key), given[key]
    local kind = type(want[key]) == "table" and "table" or want[key]
    if not kind then
      table.insert(problems, ("there is no option %s"):format(name))
      given[key] = nil
    elseif type(value) ~= kind then
      table.insert(problems, ("%s must be a %s, not %s"):format(name, kind, vim.inspect(value)))
      given[key] = nil
    elseif type(want[key]) == "table" then
      check(value, want[key], name .. ".", problems)
    end
  end
end

--- Takes the user's options. What is wrong is said, and the rest counts.
---@param given? hermes.Config
---@return string[] problems
function M.set(given)
  local problems = {} ---@type string[]
  given = vim.deepcopy(given or {})
  check(given, shape, "", problems)
  M.current = vim.tbl_deep_extend("force", M.defaults, given)
  for _, list in ipairs({ "cmd", "filetypes", "root_markers" }) do -- lists are taken whole
    if type(given[list]) == "table" then
      M.current[list] = given[list]
    end
  end
  if type(M.current.cmd) ~= "table" or type(M.current.cmd[1]) ~= "string" then
    table.insert(problems, 'cmd must be a list of words, such as { "hermes-ls" }')
    M.current.cmd = M.defaults.cmd
  end
  return problems
end

return M
