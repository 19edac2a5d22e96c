local links = require("hermes.links")

---@param got any
---@param want any
local function same(got, want)
  if not vim.deep_equal(got, want) then
    error(("got %s\nwant %s"):format(vim.inspect(got), vim.inspect(want)), 2)
  end
end

--- A session in a new folder with files.
---@param files string[]
---@return table session, string root
local function session(files)
  local root = vim.uv.fs_realpath(vim.fn.tempname():match("^(.*)/")) .. "/" .. vim.uv.hrtime()
  for _, name in ipairs(files) do
    vim.fn.mkdir(vim.fs.dirname(root .. "/" .. name), "p")
    vim.fn.writefile({ "one", "two", "three" }, root .. "/" .. name)
  end
  return { connection = { root = root }, items = {} }, root
end

local T = {}

T["a place in an answer is found under the cursor"] = function()
  local s, root = session({ "a.go", "lib/b.go", "x/same.go", "y/same.go", "a b.md" })
  for text, want in pairs({
    ["See «a.go:12» for it"] = { path = root .. "/a.go", line = 12 },
    ["See `«a.go:2:5»`."] = { path = root .. "/a.go", line = 2, column = 5 },
    ["In («lib/b.go»)."] = { path = root .. "/lib/b.go" },
    ["in ./lib/«b.go:3»"] = { path = root .. "/lib/b.go", line = 3 },
    ["the file «b.go:1», which"] = { path = root .. "/lib/b.go", line = 1 },
    ["[the «total»](lib/b.go#L7)"] = { path = root .. "/lib/b.go", line = 7 },
    ["[«it»](file://" .. root .. "/a.go#L2)"] = { path = root .. "/a.go", line = 2 },
    ["[«notes»](a%20b.md)"] = { path = root .. "/a b.md" },
    ["**«a.go»:** is"] = { path = root .. "/a.go" },
    ["@«a.go» please"] = { path = root .. "/a.go" },
    [root .. "/«a.go:9»"] = { path = root .. "/a.go", line = 9 },
    ["«same.go» is there twice"] = false,
    ["«none.go:1»"] = false,
    ["[a page](https://«a.go»)"] = false,
    ["an ordinary «word» here"] = false,
  }) do
    local col = text:find("«", 1, true)
    vim.api.nvim_buf_set_lines(0, 0, -1, false, { (text:gsub("«", ""):gsub("»", "")) })
    vim.api.nvim_win_set_cursor(0, { 1, col - 1 })
    local got = links.here(s)
    if not vim.deep_equal(got or false, want) then
      error(("%s: got %s"):format(text, vim.inspect(got)))
    end
  end
end

T["a name that is there twice is the file that a call has touched"] = function()
  local s, root = session({ "x/same.go", "y/same.go" })
  s.items = { { kind = "call", call = { locations = { { path = root .. "/y/same.go" } } } } }
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "same.go:2" })
  vim.api.nvim_win_set_cursor(0, { 1, 1 })
  same(links.here(s), { path = root .. "/y/same.go", line = 2 })
end

return T
