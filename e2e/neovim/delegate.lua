-- Two subagents through plain vim.lsp, with no plugin: each has a bar; the user
-- cancels one by its bar, and the other one comes to its end.
local host = dofile(vim.fs.dirname(debug.getinfo(1, "S").source:sub(2)) .. "/host.lua")
local wait = host.wait
local bars, order = {}, {}
host.report = bars

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

host.start("a.txt")
local buf = host.buf

local function execute(command, argument, done)
  vim.lsp.buf_request(buf, "workspace/executeCommand", { command = command, arguments = { argument } }, function(err, result)
    if err then
      host.fail(command .. ": " .. err.message)
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
  return long and quick and table.concat(long.messages, "\n"):find("1 call", 1, true)
end)
local long, token = bar_of("Wait for long")
host.client("notify", "window/workDoneProgress/cancel", { token = token })
wait("the answer", function()
  return answer
end)
wait("the ends of both bars", function()
  return long.ended and bar_of("Be quick").ended
end)

local list = host.request(buf, "workspace/executeCommand", {
  command = "hermes.subagent.list",
  arguments = { vim.empty_dict() },
}).subagents
host.finish({ answer = answer, order = order, long = long, quick = bar_of("Be quick"), list = list })
