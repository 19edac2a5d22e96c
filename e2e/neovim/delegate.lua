-- Two subagents through plain vim.lsp, with no plugin: each has a bar; the person
-- cancels one by its bar, and the other one comes to its end.
local workspace, report_file = vim.env.HERMES_WS, vim.env.HERMES_REPORT
local bars, order = {}, {}

local function fail(message)
  io.stderr:write("delegate.lua: " .. message .. "\n")
  vim.cmd("cquit 1")
end

local function wait(what, predicate)
  if not vim.wait(30000, predicate, 20) then
    fail("waited in vain for " .. what .. "\n" .. vim.inspect(bars))
  end
end

vim.api.nvim_create_autocmd("LspProgress", {
  callback = function(event)
    local params = event.data.params
    local token, value = params.token, params.value
    if value.kind == "begin" then
      bars[token] = { title = value.title, cancellable = value.cancellable, messages = {} }
    end
    local bar = bars[token]
    if value.message then
      table.insert(bar.messages, value.message)
    end
    if value.kind == "end" then
      bar.ended = true
    end
    table.insert(order, value.kind .. " " .. bar.title)
  end,
})

vim.cmd.edit(workspace .. "/a.txt")
local buf = vim.api.nvim_get_current_buf()
local id = vim.lsp.start({ name = "hermes", cmd = { vim.env.HERMES_BIN, "serve" }, root_dir = workspace })
wait("the server to attach", function()
  local client = vim.lsp.get_client_by_id(id)
  return client and client.initialized and vim.lsp.buf_is_attached(buf, id)
end)

local function execute(command, argument, done)
  vim.lsp.buf_request(buf, "workspace/executeCommand", { command = command, arguments = { argument } }, function(err, result)
    if err then
      fail(command .. ": " .. err.message)
    end
    done(result)
  end)
end

local function goal(words, script)
  return { goal = words .. "\n```hermes-script\n" .. table.concat(script, "\n") .. "\n```", toolsets = { "file" } }
end

local tasks = {
  goal("Wait for long", { '[{"text":"I begin."},{"call":{"name":"read_file","args":{"path":"a.txt"}}}]', '[{"sleep_ms":60000}]' }),
  goal("Be quick", { '[{"sleep_ms":500},{"text":"Quick it was."}]' }),
}
local script = {
  vim.json.encode({ { call = { name = "delegate_task", args = { tasks = tasks } } } }),
  '[{"text":"One is done, one was cancelled."}]',
}
local answer
execute("hermes.prompt", { prompt = "Share the work\n```hermes-script\n" .. table.concat(script, "\n") .. "\n```", wait = true }, function(result)
  answer = result
end)

local function bar_of(words)
  for token, bar in pairs(bars) do
    if bar.title:find("› " .. words, 1, true) then
      return bar, token
    end
  end
end

wait("both bars", function()
  local long, quick = bar_of("Wait for long"), bar_of("Be quick")
  return long and quick and #long.messages > 0
end)
local long, token = bar_of("Wait for long")
local client = vim.lsp.get_client_by_id(id)
if vim.fn.has("nvim-0.11") == 1 then
  client:notify("window/workDoneProgress/cancel", { token = token })
else
  client.notify("window/workDoneProgress/cancel", { token = token })
end
wait("the answer", function()
  return answer
end)
wait("the ends of both bars", function()
  return long.ended and bar_of("Be quick").ended
end)

local list
execute("hermes.subagent.list", vim.empty_dict(), function(result)
  list = result.subagents
end)
wait("the list", function()
  return list
end)
local report = { answer = answer, order = order, long = long, quick = bar_of("Be quick"), list = list }
vim.fn.writefile({ vim.json.encode(report) }, report_file)
if vim.fn.has("nvim-0.11") == 1 then
  client:stop()
else
  client.stop()
end
wait("the server to stop", function()
  return vim.lsp.get_client_by_id(id) == nil
end)
vim.cmd("qall!")
