--- The server of one root, through Neovim's own language client. It starts the server,
--- starts it again when it dies, and carries the agent's protocol over the same wire.
local compat = require("hermes.compat")
local config = require("hermes.config")
local protocol = require("hermes.protocol")

---@class hermes.Connection
---@field root string
---@field client? vim.lsp.Client nil until the server has answered
---@field sessions table<string, hermes.Session>
---@field current? hermes.Session the one that was begun or opened last
---@field waiting { go_on: fun(client: vim.lsp.Client), failed?: fun() }[]
---@field died integer[] when the server has died, in seconds
---@field source? integer the buffer that was used last
---@field again? boolean it is stopped to be started again
---@field restarting? boolean a new server is on its way, and sessions follow
---@field warned? boolean
local Connection = {}
Connection.__index = Connection

local M = {}

---@type table<string, hermes.Connection>
local connections = {}

--- A server that dies so often in a minute is left alone.
local deaths_a_minute = 3

--- Tells the user something, when nothing else is under way: an error that is shown in
--- the middle of a command would end it.
---@param text string
---@param level? integer
local function say(text, level)
  vim.schedule(function()
    vim.notify("Hermes: " .. text, level or vim.log.levels.INFO)
  end)
end

---@param buf integer
---@return string?
function M.root_of(buf)
  local options = config.current
  if options.root_dir then
    return options.root_dir(buf)
  end
  for _, markers in ipairs(options.root_markers) do
    local root = vim.fs.root(buf, markers)
    if root then
      return root
    end
  end
end

--- Whether a buffer is a file that the server should know.
---@param buf integer
---@return boolean
local function wanted(buf)
  local types = config.current.filetypes
  return vim.api.nvim_buf_is_loaded(buf)
    and vim.bo[buf].buftype == ""
    and vim.api.nvim_buf_get_name(buf) ~= ""
    and not vim.api.nvim_buf_get_name(buf):find("^%a[%w+.-]+://")
    and not vim.b[buf].hermes_hidden -- it is open only for the language servers
    and (not types or vim.tbl_contains(types, vim.bo[buf].filetype))
end

---@return vim.lsp.ClientConfig
function Connection:settings()
  local options = config.current
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  capabilities.experimental = {
    agentClientProtocol = {
      protocolVersion = protocol.version,
      clientCapabilities = {
        elicitation = { form = vim.empty_dict() },
        session = { notices = vim.empty_dict() },
        _meta = { hermes = { diagnostics = true, lsp = true } },
      },
    },
  }
  local settings = vim.empty_dict()
  if next(options.settings) then
    settings = { [protocol.section] = options.settings }
  end
  return {
    name = "hermes",
    cmd = options.cmd,
    cmd_env = options.env,
    cmd_cwd = self.root,
    root_dir = self.root,
    init_options = next(options.init_options) and options.init_options or nil,
    settings = settings,
    capabilities = capabilities,
    flags = { debounce_text_changes = 50 },
    handlers = require("hermes.handlers").of(self),
    commands = require("hermes.actions").of(self),
    on_init = function(client)
      self:ready(client)
    end,
    on_attach = function(_, attached)
      require("hermes.signs").attached(self, attached)
    end,
    on_exit = function(code, signal, id)
      local function forgotten() -- until then it would be found again instead of a new one
        if vim.lsp.get_client_by_id(id) then
          return vim.defer_fn(forgotten, 20)
        end
        self:ended(code, signal)
      end
      vim.schedule(forgotten)
    end,
  }
end

--- Starts the server if it does not run, and attaches a buffer.
---@param buf? integer
---@return boolean started
function Connection:start(buf)
  local program = config.current.cmd[1]
  if vim.fn.executable(program) == 0 then
    if not self.warned then
      self.warned = true
      say(("%s is not on the PATH: install it, or set cmd in require('hermes').setup{}"):format(program), vim.log.levels.ERROR)
    end
    return false
  end
  if not buf and self.source and wanted(self.source) then
    buf = self.source
  end
  return compat.start(self:settings(), buf) ~= nil
end

---@param client vim.lsp.Client
function Connection:ready(client)
  self.client = client
  require("hermes.status").redraw()
  local waiting = self.waiting
  self.waiting = {}
  for _, w in ipairs(waiting) do
    w.go_on(client)
  end
end

--- Runs a function when the server is there, starting it where needed.
---@param go_on fun(client: vim.lsp.Client)
---@param failed? fun() it cannot be started
function Connection:with(go_on, failed)
  if self.client then
    return go_on(self.client)
  end
  table.insert(self.waiting, { go_on = go_on, failed = failed })
  if self:start() then
    return
  end
  local waiting = self.waiting
  self.waiting = {}
  for _, w in ipairs(waiting) do
    if w.failed then
      w.failed()
    end
  end
end

--- Requests that may start a turn: before them, the server learns where the user works.
local tells_editor = { [protocol.method.session_prompt] = true, ["workspace/executeCommand"] = true }

---@param method string
---@param params table
---@param done? fun(err: table?, result: any)
function Connection:request(method, params, done)
  self:with(function(client)
    local source = self.source
    if not (source and vim.api.nvim_buf_is_valid(source)) then
      source = 0
    end
    if tells_editor[method] then
      compat.notify(client, protocol.method.editor, require("hermes.editorstate").now(self.source, client.offset_encoding))
    end
    compat.request(client, method, params, function(err, result)
      if done then
        done(err, compat.some(result))
      elseif err then
        say(err.message, vim.log.levels.ERROR)
      end
    end, source)
  end, done and function()
    done({ message = ("%s could not be started: see :checkhealth hermes"):format(config.current.cmd[1]) })
  end)
end

--- Runs a command of the server's.
---@param name string
---@param argument? table
---@param done? fun(err: table?, result: any)
function Connection:execute(name, argument, done)
  local arguments = { argument or vim.empty_dict() }
  self:request("workspace/executeCommand", { command = name, arguments = arguments }, done)
end

---@param method string
---@param params table
function Connection:notify(method, params)
  if self.client then
    compat.notify(self.client, method, params)
  end
end

--- Returns all sessions, including one that is not created yet.
---@return hermes.Session[]
function Connection:known()
  local all = vim.tbl_values(self.sessions)
  if self.current and not self.current.id then
    table.insert(all, self.current)
  end
  return all
end

--- Handles the server's end. Unless the user stopped it, it is started again, and what was open
--- is opened again.
---@param code integer
---@param signal integer
function Connection:ended(code, signal)
  self.client = nil
  local how = signal ~= 0 and ("signal %d"):format(signal) or ("exit code %d"):format(code)
  for _, session in ipairs(self:known()) do
    session:interrupted(how)
  end
  if self.again then -- :Hermes restart
    self.again = nil
    return self:restart()
  end
  if code == 0 and signal == 0 or vim.v.exiting ~= vim.NIL then
    return
  end
  local now = os.time()
  self.died = vim.tbl_filter(function(when)
    return now - when < 60
  end, self.died)
  table.insert(self.died, now)
  if #self.died > deaths_a_minute then
    say(
      ("the server keeps stopping (%s) and is left alone; :Hermes doctor says what is wrong, :Hermes restart tries again"):format(how),
      vim.log.levels.ERROR
    )
    return
  end
  self:restart() -- Neovim says that it ended, the chat says what that means
end

--- Attaches the same buffers as before, and loads the sessions from the store.
function Connection:restart()
  if self.restarting then
    self:start() -- it may have died at once
    return
  end
  self.restarting = true
  self:with(function()
    self.restarting = nil
    for _, buf in ipairs(vim.api.nvim_list_bufs()) do
      if wanted(buf) and M.root_of(buf) == self.root then
        self:start(buf)
      end
    end
    for _, session in ipairs(self:known()) do
      session:reload()
    end
  end, function()
    self.restarting = nil
  end)
end

---@param id string
---@return hermes.Session
function Connection:session(id)
  local known = self.sessions[id]
  if not known then
    known = require("hermes.session").new(self)
    known:named(id)
  end
  return known
end

--- Returns the newest session. If there is none, it creates one.
---@return hermes.Session
function Connection:newest()
  return self.current or self:begin()
end

--- Begins a session. It can be shown at once; the server's part follows.
---@return hermes.Session
function Connection:begin()
  local session = require("hermes.session").new(self)
  self.current = session
  session:begin_session()
  return session
end

--- Opens an earlier session, with its history.
---@param id string
---@return hermes.Session
function Connection:open(id)
  local session = self:session(id)
  session:reload(true)
  self.current = session
  return session
end

--- Removes a deleted session and returns it.
---@param id string
---@return hermes.Session? the session as it was known
function Connection:forget(id)
  local gone = self.sessions[id]
  self.sessions[id] = nil
  if gone and self.current == gone then
    self.current = nil
  end
  return gone
end

--- The connection of a root.
---@param root string
---@return hermes.Connection
function M.at(root)
  local connection = connections[root]
  if not connection then
    connection = setmetatable({ root = root, sessions = {}, waiting = {}, died = {} }, Connection)
    connections[root] = connection
  end
  return connection
end

--- The connection that a buffer belongs to: its root's, else the working directory's.
---@param buf integer
---@return hermes.Connection
function M.of(buf)
  local view = require("hermes.view").of(buf)
  if view then
    return view.session.connection
  end
  local connection = M.at(wanted(buf) and M.root_of(buf) or vim.fn.getcwd())
  if wanted(buf) then
    connection.source = buf
  end
  return connection
end

---@return table<string, hermes.Connection>
function M.all()
  return connections
end

--- Tells the server of a file, if it is one with a root.
---@param buf integer
function M.attach(buf)
  if not wanted(buf) then
    return
  end
  local root = M.root_of(buf)
  if root then
    M.at(root):start(buf)
  end
end

M.say = say

return M
