-- A conversation with hermes-ls through plain vim.lsp, with no plugin: code actions,
-- the chat document, an edit to an unsaved buffer, an approval, progress.
local host = dofile(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2)) .. "/host.lua")
local wait, request = host.wait, host.request
local report = { actions = {}, lenses = {}, progress = {}, asked = {}, failures = {} }
host.report = report

local function text(buf)
  return table.concat(vim.api.nvim_buf_get_lines(buf, 0, -1, false), "\n")
end

-- A user who answers the question with the first option that says "once".
local function choose(items)
  for i, item in ipairs(items) do
    table.insert(report.asked, item)
    if item:find("once") then
      return i
    end
  end
  return 0
end
vim.lsp.handlers["window/showMessageRequest"] = function(_, params)
  local titles = {}
  table.insert(report.asked, params.message)
  for _, action in ipairs(params.actions or {}) do
    table.insert(titles, action.title)
  end
  local chosen = choose(titles)
  return chosen > 0 and params.actions[chosen] or vim.NIL
end

vim.api.nvim_create_autocmd("LspProgress", {
  callback = function(event)
    local value = event.data.params.value
    table.insert(report.progress, (value.title or "") .. (value.message or ""))
  end,
})

-- Handlers of the server's requests must not fail.
local show = vim.lsp.handlers["window/showDocument"]
vim.lsp.handlers["window/showDocument"] = function(...)
  local ok, result = pcall(show, ...)
  if not ok then
    table.insert(report.failures, result)
    error(result)
  end
  return result
end

host.start("shop.py", function(buf)
  vim.api.nvim_buf_set_lines(buf, 0, 0, false, { "# typed, not saved" })
end)
local source, id = host.buf, host.id

local function code_actions(buf, line)
  return request(buf, "textDocument/codeAction", {
    textDocument = { uri = vim.uri_from_bufnr(buf) },
    range = { start = { line = line, character = 0 }, ["end"] = { line = line, character = 0 } },
    context = { diagnostics = {} },
  }) or {}
end

local function run(buf, action)
  local command = type(action.command) == "table" and action.command or action
  return request(buf, "workspace/executeCommand", { command = command.command, arguments = command.arguments })
end

local function titled(actions, title)
  for _, action in ipairs(actions) do
    if action.title == title then
      return action
    end
  end
  host.fail("no code action " .. title .. " in " .. vim.inspect(actions))
end

for _, action in ipairs(code_actions(source, 1)) do
  table.insert(report.actions, action.title)
end

-- Chat: open, write, send.
local function chat_of(uri)
  local buf = vim.uri_to_bufnr(uri)
  vim.fn.bufload(buf)
  vim.lsp.buf_attach_client(buf, id)
  return buf
end

local opened = run(source, titled(code_actions(source, 1), "Chat with Hermes"))
local chat = chat_of(opened.uri)
wait("the chat to be shown", function()
  return vim.fn.bufwinid(chat) ~= -1
end)
wait("the cursor below the last heading", function()
  return #report.failures > 0 or vim.api.nvim_win_get_cursor(vim.fn.bufwinid(chat))[1] == vim.api.nvim_buf_line_count(chat)
end)
local script = {
  '[{"text":"Let me look. "},{"call":{"name":"read_file","args":{"path":"shop.py"}}}]',
  '[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]',
  '[{"call":{"name":"terminal","args":{"command":"rm -rf build"}}}]',
  '[{"text":"The sum "},{"text":"is right "},{"text":"now."}]',
}
local lines = { "Please mend `total`.", "", "```hermes-script" }
vim.list_extend(lines, script)
table.insert(lines, "```")
vim.api.nvim_buf_set_lines(chat, -1, -1, false, lines)

local function ended()
  local all = text(chat)
  local last = vim.trim(all):match("[^\n]*$")
  return all:find("## Hermes", 1, true) and last == "## You"
end

wait("the code lens", function()
  local lens = (request(chat, "textDocument/codeLens", { textDocument = { uri = opened.uri } }) or {})[1]
  report.lenses = lens and { lens.command.title }
  return lens ~= nil
end)
run(chat, titled(code_actions(chat, vim.api.nvim_buf_line_count(chat) - 1), "Send to Hermes"))
wait("the answer", function()
  return text(chat):find("right now.", 1, true) and ended()
end)
report.chat = text(chat)
report.buffer = text(source)
report.modified = vim.bo[source].modified

-- A code action's answer lands in a chat document too.
run(source, titled(code_actions(source, 1), "Explain"))
wait("the explanation", function()
  for _, buf in ipairs(vim.api.nvim_list_bufs()) do
    local name = vim.api.nvim_buf_get_name(buf)
    if name:find("/.hermes/chats/", 1, true) then
      if not vim.lsp.buf_is_attached(buf, id) then
        vim.fn.bufload(buf)
        vim.lsp.buf_attach_client(buf, id)
      end
      local all = text(buf)
      local _, answers = all:gsub("## Hermes", "")
      local done = vim.trim(all):match("[^\n]*$") == "## You"
      if done and (buf ~= chat and answers > 0 or buf == chat and answers > 1) then
        report.explain = all
        return true
      end
    end
  end
end)

host.finish(report)
