--- The list of models: those of all configured providers.
local connection = require("hermes.connection")
local protocol = require("hermes.protocol")

local M = {}

--- In a longer list, the user searches.
local long = 50

--- Whether vim.ui.select is Neovim's own, which cannot search.
---@return boolean
local function no_search()
  local source = debug.getinfo(vim.ui.select, "S").source
  return source:find("vim/ui.lua", 1, true) ~= nil
end

--- Returns the models whose ids have all words.
---@param models hermes.ModelInfo[]
---@param words string
---@return hermes.ModelInfo[]
function M.matching(models, words)
  local list = vim.split(words:lower(), "%s+", { trimempty = true })
  return vim.tbl_filter(function(model)
    local id = model.id:lower()
    return vim.iter(list):all(function(word)
      return id:find(word, 1, true) ~= nil
    end)
  end, models)
end

---@param models hermes.ModelInfo[]
---@param set fun(id: string)
local function select(models, set)
  vim.ui.select(models, {
    prompt = "Model",
    kind = "hermes.model",
    ---@param model hermes.ModelInfo
    format_item = function(model)
      local facts = model.description and "  " .. model.description or ""
      return (model.current and "● " or "  ") .. model.id .. facts
    end,
  }, function(model)
    vim.cmd.redraw() -- clears the list, so that the message asks for no key
    if model then
      set(model.id)
    end
  end)
end

--- Lets the user choose among models. If Neovim's own list would be too long, it asks for a part of the
--- name first; without one, the used models are shown.
---@param models hermes.ModelInfo[]
---@param set fun(id: string)
local function choose(models, set)
  if #models <= long or not no_search() then
    return select(models, set)
  end
  vim.ui.input({ prompt = ("Search %d models (empty: those you have used): "):format(#models) }, function(words)
    if not words then
      return
    end
    local found = vim.trim(words) == "" and vim.tbl_filter(function(model)
      return model.used
    end, models) or M.matching(models, words)
    if #found == 0 then
      return connection.say("no model has that in its name: " .. words, vim.log.levels.WARN)
    end
    choose(found, set)
  end)
end

--- Asks the server for the models. If words name one of them, passes its id; otherwise the user
--- chooses among those with the words.
---@param session hermes.Session
---@param words string
---@param set fun(id: string)
function M.pick(session, words, set)
  session:request(protocol.method.model_list, {}, function(err, result)
    if err then
      return connection.say(err.message, vim.log.levels.ERROR)
    end
    for _, failed in ipairs(result.errors) do
      connection.say(("%s did not list its models: %s"):format(failed.provider, failed.message), vim.log.levels.WARN)
    end
    local found = M.matching(result.models, words)
    if words ~= "" and #found == 1 then
      set(found[1].id)
    elseif #found == 0 then
      set(words) -- the server knows whether the provider may have it
    else
      choose(found, set)
    end
  end)
end

return M
