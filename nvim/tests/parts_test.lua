local context = require("hermes.context")
local inline = require("hermes.inline")
local items = require("hermes.items")
local sessions = require("hermes.sessions")
local status = require("hermes.status")
local when = require("hermes.when")

---@param got any
---@param want any
local function same(got, want)
  if not vim.deep_equal(got, want) then
    error(("got %s\nwant %s"):format(vim.inspect(got), vim.inspect(want)), 2)
  end
end

---@param lines string[]
---@param name? string
---@return integer
local function buffer(lines, name)
  local buf = vim.api.nvim_create_buf(true, false)
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  if name then
    vim.api.nvim_buf_set_name(buf, name)
  end
  return buf
end

--- The lines of an item.
local function render(item)
  return items.render(item).lines
end

local T = {}

T["a call is a row with its state, its diff and its text"] = function()
  same(
    render({
      kind = "call",
      took = 65000,
      call = {
        title = "Edit  a.py\nmore",
        status = "completed",
        content = {
          { type = "diff", path = "/w/a.py", oldText = "a\nb\n", newText = "a\nc\n" },
          { type = "content", content = { type = "text", text = "done\r\n" } },
        },
      },
    }),
    { "✓ Edit a.py …  +1 −1 · 1 min 5 s", "▏ @@ -1,2 +1,2 @@", "▏  a", "▏ -b", "▏ +c", "▏ done" }
  )
end

T["a command that has failed says its exit code"] = function()
  for code, want in pairs({ [0] = "✓ $ make", [2] = "✗ $ make  exit code 2" }) do
    same(render({ kind = "call", call = { title = "$ make", status = "completed", rawOutput = { exit_code = code } } }), { want })
  end
end

T["a call that asks says so"] = function()
  same(render({ kind = "call", asking = true, call = { title = "Run", status = "pending" } }), { "? Run  waits for you" })
end

T["a long result is cut"] = function()
  local text = ("x\n"):rep(300)
  local lines = render({
    kind = "call",
    call = { title = "Read", status = "completed", content = { { type = "content", content = { type = "text", text = text } } } },
  })
  same({ #lines, lines[#lines] }, { 202, "▏ … 100 more lines: :Hermes transcript" })
end

T["a text of the model has no blank lines at its end"] = function()
  same(render({ kind = "text", spaced = true, lines = { "One", "", "" } }), { "", "One" })
end

T["a plan has a box for each step"] = function()
  same(
    render({ kind = "plan", entries = { { status = "completed", content = "a" }, { status = "later", content = "b" } } }),
    { "Plan", "☑ a", "☐ b" }
  )
end

T["lines that nest too deep are found"] = function()
  for line, want in pairs({
    [("> "):rep(300)] = true,
    [("- "):rep(300)] = true,
    [(" "):rep(1000)] = true,
    ["1. 2. 3. text"] = false,
    [("-"):rep(80)] = false,
  }) do
    same({ line, items.too_deep(line) }, { line, want })
    same(render({ kind = "text", lines = { "Before", line } }), { "Before", (want and "\\" or "") .. line })
  end
end

T["hunks are accepted and rejected one by one"] = function()
  local before, now = { "a", "b", "c", "d" }, { "a", "B", "c", "d", "e" }
  local hunks = inline.hunks(before, now)
  same(#hunks, 2)
  same(inline.accepted(before, now, hunks[1]), { "a", "B", "c", "d" })
  same(inline.accepted(before, now, hunks[2]), { "a", "b", "c", "d", "e" })
  same(inline.rejected(before, now, hunks[1]), { "a", "b", "c", "d", "e" })
  same(inline.rejected(before, now, hunks[2]), { "a", "B", "c", "d" })
  same(inline.hunks({}, {}), {})
  local first = inline.hunks({ "a" }, {})
  same({ inline.accepted({ "a" }, {}, first[1]), inline.rejected({ "a" }, {}, first[1]) }, { {}, { "a" } })
end

T["the accepted part of a change outlives Neovim, and is forgotten with the change"] = function()
  local rests = require("hermes.rests")
  local stdpath, state = vim.fn.stdpath, vim.fn.tempname()
  vim.fn.stdpath = function(what) ---@diagnostic disable-line: duplicate-set-field
    return what == "state" and state or stdpath(what)
  end
  rests.keep("/w", "/w/a", { id = "c1", before = { "one", "" } })
  rests.keep("/w", "/w/b", { id = "c2", before = { "two" } })
  rests.keep("/w", "/w/b", nil)
  same({ rests.before("/w", "/w/a", "c1"), rests.before("/w", "/w/a", "c0"), rests.before("/v", "/w/a", "c1") }, { { "one", "" } })
  same(rests.before("/w", "/w/b", "c2"), nil)
  local files = vim.fn.glob(state .. "/hermes-ls/accepted/*", true, true)
  same({ #files, vim.fn.getfperm(files[1]) }, { 1, "rw-------" })
  rests.prune("/w", { c1 = true })
  same(rests.before("/w", "/w/a", "c1"), { "one", "" })
  rests.prune("/w", {})
  same(rests.before("/w", "/w/a", "c1"), nil)
  same(vim.fn.glob(state .. "/hermes-ls/accepted/*", true, true), {})
  vim.fn.stdpath = stdpath
end

T["of changed lines, only the agent's are found"] = function()
  local before, after = { "a", "b", "c", "d" }, { "a", "B", "c", "d", "new" }
  for _, case in ipairs({
    { after, before },
    { { "mine", "a", "B", "c", "d", "new" }, { "mine", "a", "b", "c", "d" } },
    { { "a", "mine", "B", "c", "mine too", "d", "new", "last" }, { "a", "mine", "b", "c", "mine too", "d", "last" } },
    { { "a", "B, edited", "c", "d", "new" }, { "a", "B, edited", "c", "d" } },
    { { "a", "  B", "c", "d", "new" }, before }, -- formatted
    { before, before },
  }) do
    local buf = vim.api.nvim_create_buf(true, false)
    vim.api.nvim_buf_set_lines(buf, 0, -1, false, case[1])
    inline.review(buf, before, after)
    inline.decide(buf, 1, 100, false)
    same({ case[1], vim.api.nvim_buf_get_lines(buf, 0, -1, false) }, { case[1], case[2] })
  end
end

T["forks stand below their session"] = function()
  local function s(id, parent)
    return { sessionId = id, title = id .. "\n", updatedAt = "", _meta = parent and { hermes = { parentId = parent } } }
  end
  local rows = sessions.tree({ s("c", "b"), s("a"), s("b", "a"), s("x", "gone") })
  same(
    vim.tbl_map(function(row)
      return row.text
    end, rows),
    { "a ", "└ b ", "  └ c ", "x " }
  )
end

T["hits are grouped by session, the best first"] = function()
  local rows = sessions.found({
    { sessionId = "1", title = "One", snippet = "first\nhit" },
    { sessionId = "2", title = "Two", snippet = "x" },
    { sessionId = "1", title = "One", snippet = "second" },
  })
  same(
    vim.tbl_map(function(row)
      return row.text
    end, rows),
    { "One", "  “first hit”", "  “second”", "Two", "  “x”" }
  )
end

T["a late answer to an earlier search is not shown"] = function()
  local asked = {}
  local of = { root = "/w" }
  of.request = function(_, method, _, answer)
    table.insert(asked, { method = method, answer = answer })
  end
  sessions.open(of, "garden", {})
  local input = vim.ui.input
  vim.ui.input = function(_, done)
    done("")
  end
  vim.api.nvim_feedkeys("s", "xt", false)
  vim.ui.input = input
  same(#asked, 2)
  asked[2].answer(nil, { sessions = { { sessionId = "1", title = "One", updatedAt = "" } } })
  asked[1].answer(nil, { hits = {} })
  same(vim.api.nvim_buf_get_lines(0, 0, -1, false), { "One" })
end

T["quoted lines stand in a fence that they cannot close"] = function()
  local buf = buffer({ "a", "```", "b" }, "/w/doc.md")
  same(context.quote(buf, 2, 3, "/w"), { "About `doc.md`, lines 2–3:", "", "````", "```", "b", "````" })
  same(context.quote(buf, 1, 1, "/other")[1], "About `/w/doc.md`, line 1:")
end

T["mentions of files become resources, those of the server stay words"] = function()
  local dir = vim.fn.tempname()
  vim.fn.mkdir(dir, "p")
  vim.fn.writefile({ "x" }, dir .. "/a.py")
  local blocks = context.blocks("See @a.py and @diff, @file:a.py, mail@a.py, @none.py.", dir)
  same(#blocks, 3)
  same({ blocks[1].text, blocks[3].text }, { "See ", " and @diff, @file:a.py, mail@a.py, @none.py." })
  same(context.unlinked({ "See [@a.py](file:///w/a.py) and [b](c)" }), { "See @a.py and [b](c)" })
end

T["mentions have names with spaces, quotes, brackets and other letters"] = function()
  local dir = vim.fn.tempname()
  vim.fn.mkdir(dir .. "/docs", "p")
  local names = { "docs/a note.md", "docs/ü.md", "docs/a(1).md", "docs/[id].md" }
  for _, name in ipairs(names) do
    vim.fn.writefile({ "x" }, dir .. "/" .. name)
  end
  local function shape(text)
    return vim.tbl_map(function(b)
      return b.text or { b.name, vim.uri_to_fname(b.uri) }
    end, context.blocks(text, dir))
  end
  local function file(name)
    return { name, dir .. "/" .. name }
  end
  same(
    shape('See @"docs/a note.md", (@docs/ü.md) and @docs/[id].md.'),
    { "See ", file(names[1]), ", (", file(names[2]), ") and ", file(names[4]), "." }
  )
  same(shape('@"docs/a(1).md"'), { file(names[3]) })
  for _, text in ipairs({
    "@docs/a(1).md",
    '@"docs/a note.md":1-2',
    "@docs/ü.md#L1",
    '@file:"docs/a note.md"',
    '@"none.md"',
    '@"a \\"b\\".md"',
    '@"',
  }) do
    same(shape(text), { text }) -- the server reads them
  end
  same(
    context.unlinked({ "[@docs/a note.md](file:///w/docs/a%20note.md), [@a [1].md](file:///w/a%20[1].md) [@docs/ü.md](file:///w/x)" }),
    { '@"docs/a note.md", @"a [1].md" @docs/ü.md' }
  )
end

T["a statusline runs nothing of a title"] = function()
  local session = {
    asking = 0,
    options = {},
    connection = { client = true },
    doing = "%{system('id')} " .. ("x"):rep(80),
    running = function()
      return true
    end,
    usage = {
      used = 1500,
      size = 128000,
      _meta = { hermes = { lastRequest = { input = 1000, cachedRead = 500 } } },
      cost = { amount = 0.5, currency = "USD" },
    },
  }
  local all = package.loaded["hermes.connection"].all
  package.loaded["hermes.connection"].all = function()
    return { { current = session, client = true } }
  end
  local line = status.line()
  package.loaded["hermes.connection"].all = all
  same({ line:find("%%%%{system") ~= nil, line:find("…", 1, true) ~= nil }, { true, true })
  same(line:match("· (.*)$"), "1.5k/128.0k · 50%% cached · 0.50 USD")
end

T["times are local"] = function()
  same({ when.short(nil), when.short("soon") }, { "", "" })
  same(when.short("2026-11-20T15:24:00Z"), os.date("%Y-%m-%d %H:%M", 1795188240))
end

return T
