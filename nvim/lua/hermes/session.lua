--- One session: a list of items, and its current state. It
--- draws nothing; views watch it.
local compat = require("hermes.compat")
local protocol = require("hermes.protocol")

---@alias hermes.ItemKind "user"|"heading"|"text"|"thought"|"call"|"plan"|"notice"

---@class hermes.Item
---@field kind hermes.ItemKind
---@field message? string the id of its message
---@field lines? string[] of a text
---@field level? integer of a notice, a vim.log.levels
---@field offers? { label: string, prompt: string }[] choices of a notice; who chooses one sends its prompt
---@field call? hermes.ToolCall
---@field began? integer ms
---@field took? integer ms
---@field asking? boolean a question about it waits
---@field entries? hermes.PlanEntry[]
---@field spaced? boolean a blank line comes before it

---@alias hermes.Event "added"|"changed"|"reset"|"state"|"rewound"|"failed" the last two with what may be asked again

--- A message on its way. It is gone only when it is answered or in the server's log.
---@class hermes.Sent
---@field id string by which the log will know it
---@field blocks hermes.ContentBlock[]
---@field item hermes.Item
---@field life? integer of the server that was asked

---@class hermes.Session
---@field id? string nil until the server has begun it
---@field connection hermes.Connection
---@field items hermes.Item[]
---@field calls table<string, hermes.Item>
---@field subagents hermes.Item[] of this turn and those that still run
---@field before table<string, string|false> what files were before the last turn that edited some; false: not there
---@field fresh? boolean the turn has edited nothing yet
---@field title string
---@field turns integer how many prompts have no answer yet
---@field doing? string the call that runs
---@field asking integer how many questions wait
---@field options hermes.SessionConfigOption[]
---@field commands hermes.AvailableCommand[] slash commands
---@field usage? hermes.UsageUpdate
---@field life integer how many servers it has outlived
---@field sent hermes.Sent[] messages that have no answer yet
---@field pictures { block: hermes.ContentBlock, name: string }[] go with the next prompt
---@field cut? { how: string, wanted?: boolean, turns: integer } the end of the last server, to be told
---@field failed? hermes.Sent the last prompt, if its turn failed
---@field opening? boolean the server has been asked to begin or to load it
---@field waiting fun()[] what has to wait for the id
---@field draft? string[] what the user had written when the chat was closed
---@field watchers fun(event: hermes.Event, item?: hermes.Item)[]
local Session = {}
Session.__index = Session

local M = {}

---@param connection hermes.Connection
---@return hermes.Session
function M.new(connection)
  local self = setmetatable({
    connection = connection,
    items = {},
    calls = {},
    subagents = {},
    before = {},
    title = "",
    turns = 0,
    life = 0,
    sent = {},
    pictures = {},
    asking = 0,
    options = {},
    commands = {},
    watchers = {},
    waiting = {},
  }, Session)
  require("hermes.subagents").watch(self)
  self:watch(function(event)
    if event == "state" then
      require("hermes.status").redraw()
    end
  end)
  return self
end

--- Sets the session's id and runs the functions that wait for it.
---@param id string
function Session:named(id)
  if self.id and self.id ~= id then
    self.connection.sessions[self.id] = nil
  end
  self.id = id
  self.connection.sessions[id] = self
  local waiting = self.waiting
  self.waiting = {}
  for _, go_on in ipairs(waiting) do
    go_on()
  end
  self:send_again(self:unsent())
end

--- Asks the server to create the session.
function Session:begin_session()
  local params = { cwd = self.connection.root, mcpServers = {} }
  self.opening = true
  self.connection:request(protocol.method.session_new, params, function(err, result)
    self.opening = false
    if err then
      self.turns, self.waiting = 0, {}
      self:tell("state")
      return self:notice(err.message, vim.log.levels.ERROR)
    end
    self:opened(result)
    self:named(result.sessionId)
  end)
end

--- Runs a function when the server has created the session.
---@param go_on fun()
function Session:wait(go_on)
  if self.id then
    return go_on()
  end
  table.insert(self.waiting, go_on)
  if not self.opening then -- it could not before
    self:begin_session()
  end
end

--- Asks the server something about this session, as soon as there is one.
---@param method string
---@param params table sessionId is added
---@param done? fun(err: table?, result: any)
function Session:request(method, params, done)
  self:wait(function()
    params.sessionId = self.id
    self.connection:request(method, params, done)
  end)
end

--- Runs one of the server's commands for this session.
---@param name string
---@param argument? table
---@param done? fun(err: table?, result: any)
function Session:execute(name, argument, done)
  self:wait(function()
    self.connection:execute(name, vim.tbl_extend("force", argument or {}, { sessionId = self.id }), done)
  end)
end

---@param watcher fun(event: hermes.Event, item?: hermes.Item)
function Session:watch(watcher)
  table.insert(self.watchers, watcher)
end

---@param watcher fun(event: hermes.Event, item?: hermes.Item)
function Session:unwatch(watcher)
  self.watchers = vim.tbl_filter(function(other)
    return other ~= watcher
  end, self.watchers)
end

---@param event hermes.Event
---@param item? hermes.Item
function Session:tell(event, item)
  for _, watcher in ipairs(self.watchers) do
    watcher(event, item)
  end
end

---@return boolean
function Session:running()
  return self.turns > 0
end

--- Runs a function when no turn of the session runs.
---@param go_on fun()
function Session:when_idle(go_on)
  if not self:running() then
    return go_on()
  end
  local function watcher(event)
    if event == "state" and not self:running() then
      self:unwatch(watcher)
      vim.schedule(function()
        self:when_idle(go_on)
      end)
    end
  end
  self:watch(watcher)
end

--- Applies the server's response that opened the session.
---@param result hermes.NewSessionResponse|hermes.LoadSessionResponse
function Session:opened(result)
  self.options = result and compat.some(result.configOptions) or self.options
  self:tell("state")
end

-- Items.

---@param item hermes.Item
---@return hermes.Item
function Session:add(item)
  local last = self.items[#self.items]
  if item.kind ~= "user" and item.kind ~= "heading" and (not last or last.kind == "user") then
    last = self:add({ kind = "heading" })
  end
  item.spaced = last ~= nil and not (item.kind == "call" and last.kind == "call")
  table.insert(self.items, item)
  self:tell("added", item)
  return item
end

---@param text string
---@param level? integer
---@param offers? { label: string, prompt: string }[]
function Session:notice(text, level, offers)
  self:add({ kind = "notice", lines = vim.split(text, "\n"), level = level or vim.log.levels.INFO, offers = offers })
end

--- Adds a piece to the message that it belongs to. Pieces come in order, but calls of
--- the same reply may stand between.
---@param kind "user"|"text"|"thought"
---@param chunk hermes.ContentChunk
function Session:piece(kind, chunk)
  local content = chunk.content
  local text = content.text or ("[" .. content.type .. "]")
  local item = self.items[#self.items]
  if not (item and item.kind == kind and item.message == chunk.messageId) then
    text = text:gsub("^\n+", "")
    if text == "" then
      return
    end
    self:add({ kind = kind, message = chunk.messageId, lines = vim.split(text, "\n") })
    return
  end
  local new = vim.split(text, "\n")
  item.lines[#item.lines] = item.lines[#item.lines] .. new[1]
  vim.list_extend(item.lines, new, 2)
  self:tell("changed", item)
end

--- Remembers the files' texts before the turn, from the first diff of each file.
---@param call hermes.ToolCall
function Session:remember(call)
  for _, content in ipairs(call.content or {}) do
    if content.type == "diff" and (self.fresh or self.before[content.path] == nil) then
      if self.fresh then
        self.fresh, self.before = false, {}
      end
      self.before[content.path] = compat.some(content.oldText) or false
    end
  end
end

---@param said table a call, or news of the session
---@return table? what the server says of it that the protocol has no word for
function M.extra(said)
  local meta = compat.some(said._meta)
  return meta and compat.some(meta.hermes)
end

---@param call hermes.ToolCall
function Session:call_started(call)
  local item = self.calls[call.toolCallId]
  if item then
    return self:call_news(call)
  end
  item = { kind = "call", call = call, began = vim.uv.now() }
  self.calls[call.toolCallId] = item
  local extra = M.extra(call)
  if extra and extra.subagent then
    table.insert(self.subagents, item)
  else
    self.doing = call.title
  end
  self:add(item)
  self:tell("state")
end

---@param news hermes.ToolCall
function Session:call_news(news)
  local item = self.calls[news.toolCallId]
  if not item then
    return
  end
  for key, value in pairs(news) do
    item.call[key] = compat.some(value)
  end
  self:remember(news)
  if news.status == "completed" or news.status == "failed" then
    item.took = vim.uv.now() - item.began
    if self.doing == item.call.title then
      self.doing = nil
    end
    require("hermes.changes").look() -- a command may have changed files that are open
  end
  self:tell("changed", item)
  self:tell("state")
end

---@param plan hermes.Plan
function Session:planned(plan)
  for i = #self.items, 1, -1 do
    local item = self.items[i]
    if item.kind == "plan" then
      item.entries = plan.entries
      return self:tell("changed", item)
    elseif item.kind == "user" then
      break
    end
  end
  if #plan.entries > 0 then
    self:add({ kind = "plan", entries = plan.entries })
  end
end

--- Returns the number of items that remain after a rewind.
---@param rewound hermes.Rewound
---@return integer
function Session:stays(rewound)
  for i = #self.items, 1, -1 do
    local item = self.items[i]
    if rewound.prompt and item.kind == "user" and item.message == rewound.prompt then
      return i - 1
    elseif not rewound.prompt and rewound.messageId and item.message == rewound.messageId then
      while self.items[i + 1] and self.items[i + 1].kind == "call" do
        i = i + 1
      end
      return i
    end
  end
  return rewound.prompt and #self.items or 0
end

--- The log has lost its end. The command that has done it stays to be seen, as other
--- commands do, above its answer.
---@param rewound hermes.Rewound
function Session:rewound(rewound)
  local last = self.items[#self.items]
  local command = last and last.kind == "user" and last.lines[1]:find("^/") and last
  self.items = vim.list_slice(self.items, 1, self:stays(rewound))
  self.calls, self.before = {}, {}
  if #self.items == 0 and not rewound.prompt then
    self.title = "" -- it begins anew, and the next message names it
  end
  for _, item in ipairs(self.items) do
    if item.call then
      self.calls[item.call.toolCallId] = item
    end
  end
  self.subagents = vim.tbl_filter(function(item)
    return self.calls[item.call.toolCallId] == item
  end, self.subagents)
  self:tell("reset")
  if command and self.items[#self.items] ~= command then
    self:add(command)
  end
  self:tell("rewound", { kind = "user", lines = vim.split(rewound.text or "", "\n") })
end

local updates = {
  [protocol.update.user_message] = function(self, u)
    self:piece("user", u)
  end,
  [protocol.update.agent_message] = function(self, u)
    self:piece("text", u)
  end,
  [protocol.update.agent_thought] = function(self, u)
    self:piece("thought", u)
  end,
  [protocol.update.tool_call] = function(self, u)
    self:call_started(u)
  end,
  [protocol.update.tool_call_news] = function(self, u)
    self:call_news(u)
  end,
  [protocol.update.plan] = function(self, u)
    self:planned(u)
  end,
  [protocol.update.commands] = function(self, u)
    self.commands = u.availableCommands
  end,
  [protocol.update.options] = function(self, u)
    self.options = u.configOptions
    self:tell("state")
  end,
  [protocol.update.info] = function(self, u)
    local rewound = (M.extra(u) or {}).rewound
    if rewound then
      self:rewound(rewound)
    end
    self.title = compat.some(u.title) or self.title
    self:tell("state")
  end,
  [protocol.update.usage] = function(self, u)
    self.usage = u
    self:tell("state")
  end,
  [protocol.update.notice] = function(self, u)
    local offers = vim.tbl_get(compat.some(u._meta) and u._meta or {}, "hermes", "offers")
    self:notice(u.title .. (compat.some(u.description) and "\n" .. u.description or ""), vim.log.levels[u.severity:upper()] or nil, offers)
  end,
}

--- Takes an update of the server's. Kinds that are not known are left alone: servers
--- may say more than this plugin shows.
---@param u table
function Session:update(u)
  local take = updates[u.sessionUpdate]
  if take then
    take(self, u)
  end
end

-- Turns.

--- Notes that a turn begins; the function that it returns is told how it ended, and whether
--- :Hermes retry repeats it.
---@return fun(err: table?, result: any, again?: boolean)
function Session:begin()
  if self.turns == 0 then
    self.began, self.fresh = vim.uv.now(), true
    self.subagents = vim.tbl_filter(function(item)
      return item.call.status == "in_progress"
    end, self.subagents)
  end
  self.turns = self.turns + 1
  self:tell("state")
  local life = self.life
  return function(err, result, again)
    if life ~= self.life then
      return -- the server that was asked is gone
    end
    self:ended(err, result, again)
  end
end

local stopped = {
  cancelled = "Cancelled.",
  max_tokens = "Stopped: the answer grew too long.",
  max_turn_requests = "Stopped: the turn had its number of requests. Say “go on” to go on.",
  refusal = "The model refused.",
}

---@param err table?
---@param result hermes.PromptResponse?
---@param again? boolean
function Session:ended(err, result, again)
  self.turns = math.max(0, self.turns - 1)
  if self.turns == 0 then
    self.doing = nil
    require("hermes.questions").withdraw(self)
    require("hermes.signs").refresh(self.connection)
  end
  local text = err and require("hermes.failure").text(err)
  if text then
    self:notice(again and require("hermes.failure").repeatable(text) or text, vim.log.levels.ERROR)
  elseif result and stopped[result.stopReason] then
    self:notice(stopped[result.stopReason], vim.log.levels.WARN)
  end
  self:tell("state")
  self:say_end(text)
end

local long_turn = 30 -- seconds

--- If no chat of the session is visible, says that a turn has failed, or that a long one has ended.
---@param failure string?
function Session:say_end(failure)
  local took = self.began and math.floor((vim.uv.now() - self.began) / 1000) or 0
  if self.turns == 0 then
    self.began = nil
  end
  if require("hermes.view").visible(self) then
    return
  elseif failure then
    require("hermes.connection").say(failure, vim.log.levels.ERROR)
  elseif self.turns == 0 and took >= long_turn then
    require("hermes.connection").say(("a turn of %d s has ended; :Hermes shows it"):format(took))
  end
end

--- An id for a message, by which the log will know it: a random UUID.
---@return string
local function uuid()
  local bytes = { vim.uv.random(16):byte(1, 16) }
  bytes[7] = bit.bor(bit.band(bytes[7], 0x0f), 0x40)
  bytes[9] = bit.bor(bit.band(bytes[9], 0x3f), 0x80)
  return ("%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x"):format(unpack(bytes))
end

--- Sends a message. If a turn runs, the server interrupts it or queues the message.
---@param blocks hermes.ContentBlock[]
---@param shown string
function Session:send(blocks, shown)
  if #self.pictures > 0 and not vim.startswith(shown, "/") then
    blocks = vim.list_slice(blocks)
    for _, picture in ipairs(self.pictures) do
      table.insert(blocks, picture.block)
      shown = ("%s\n\n(%s)"):format(shown, picture.name)
    end
    self.pictures = {}
  end
  local item = { kind = "user", message = uuid(), lines = vim.split(vim.trim(shown), "\n") }
  local message = { id = item.message, blocks = blocks, item = item }
  self.failed = nil
  table.insert(self.sent, message)
  self:add(item)
  if self.opening or self.connection.restarting or self.connection.again then
    return -- it follows
  elseif not self.id then
    self:begin_session()
  elseif not self.connection.client then -- a new server does not know the session
    self.connection:restart()
  else
    self:ask(message)
  end
end

--- Asks the server of now.
---@param message hermes.Sent
function Session:ask(message)
  message.life = self.life
  local ended = self:begin()
  self.connection:request(protocol.method.session_prompt, {
    sessionId = self.id,
    prompt = message.blocks,
    _meta = { hermes = { messageId = message.id, onNewPrompt = require("hermes.config").current.on_new_prompt } },
  }, function(err, result)
    if message.life == self.life then
      self:answered(message)
    end
    if err and message.life == self.life then
      self.failed = message
    end
    ended(err, result, true)
    if err and message.life == self.life then
      self:tell("failed", message.item)
    end
  end)
end

---@param message hermes.Sent
function Session:answered(message)
  self.sent = vim.tbl_filter(function(other)
    return other ~= message
  end, self.sent)
end

--- Messages to be sent, or sent again: those written while there was no server, and
--- those that the last one had not put into its log. Slash commands are not in the log,
--- so one that was sent may have run.
---@return hermes.Sent[]
function Session:unsent()
  local logged = {}
  for _, item in ipairs(self.items) do
    if item.kind == "user" and item.message then
      logged[item.message] = item
    end
  end
  self.sent = vim.tbl_filter(function(message)
    local known = logged[message.id] and logged[message.id] ~= message.item
    return not known and (message.life == nil or not message.item.lines[1]:find("^/"))
  end, self.sent)
  return vim.tbl_filter(function(message)
    return message.life ~= self.life
  end, self.sent)
end

---@param messages hermes.Sent[]
function Session:send_again(messages)
  for _, message in ipairs(messages) do
    if not vim.tbl_contains(self.items, message.item) then
      self:add(message.item)
    end
    self:ask(message)
  end
end

--- Runs a command of the server's that is answered when its turn has ended. The server
--- shows the prompt.
---@param name string
---@param argument table
function Session:command(name, argument)
  self:execute(name, vim.tbl_extend("force", argument or {}, { wait = true }), self:begin())
end

function Session:cancel()
  if self.id then
    self.connection:notify(protocol.method.session_cancel, { sessionId = self.id })
  end
end

--- The server has ended: nothing that was asked is answered any more.
---@param how string
function Session:interrupted(how)
  self.life = self.life + 1
  self.cut = { how = how, wanted = self.connection.again, turns = self.turns }
  self.turns, self.doing, self.opening = 0, nil, false
  require("hermes.questions").withdraw(self)
  self:tell("state")
end

--- Adds a notice about the end of the last server.
---@param again integer how many of its turns are sent again
function Session:tell_cut(again)
  local cut = self.cut
  self.cut = nil
  if not cut then
    return
  end
  local text = cut.wanted and "The server was started again." or ("The server stopped (%s) and was started again."):format(cut.how)
  if cut.turns > again then
    text = ("The server stopped (%s) during this turn and was started again. "):format(cut.how)
      .. "Changes are kept. Send “continue” to continue."
  end
  self:notice(text, vim.log.levels.WARN)
end

--- Shows the session as the store has it. One that never had a message is begun
--- anew.
---@param opened? boolean it was not open here before
function Session:reload(opened)
  if not opened and (#self.items == 0 or not self.id) then
    return self:begin_session()
  end
  self.items, self.calls, self.subagents = {}, {}, {}
  self:tell("reset")
  self.opening = true
  self:request(protocol.method.session_load, { cwd = self.connection.root, mcpServers = {} }, function(err, result)
    self.opening = false
    if err and #self.sent > 0 then
      return self:begin_session() -- the first message did not get there
    elseif err then
      return self:notice(err.message, vim.log.levels.ERROR)
    end
    self:opened(result)
    local unsent = self:unsent()
    self:tell_cut(#vim.tbl_filter(function(message)
      return message.life ~= nil
    end, unsent))
    self:send_again(unsent)
  end)
end

--- Subagents that worked in the background have ended while nothing runs.
---@param list hermes.Subagent[]
---@param start boolean? a turn starts with their results
function Session:subagents_ready(list, start)
  local goals = vim.tbl_map(function(s)
    local first = s.goal:match("[^\n]*")
    return ("“%s” (%s)"):format(vim.fn.strcharpart(first, 0, 60) .. (vim.fn.strchars(first) > 60 and "…" or ""), s.status)
  end, list)
  local question = "Subagents have ended: " .. table.concat(goals, ", ")
  if start then
    self:notice(question .. ". Hermes continues with their results.")
    local ended = self:begin()
    self.connection:request(protocol.method.session_prompt, { sessionId = self.id, prompt = {}, _meta = { hermes = { continue = true } } }, ended)
  else
    self:notice(question .. ". Their results come with your next message.")
  end
  require("hermes.connection").say(question)
end

return M
