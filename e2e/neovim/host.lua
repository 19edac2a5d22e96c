-- Functions of sessions in a Neovim without our plugin: waiting, the
-- server through plain vim.lsp, and the report.
local M = { workspace = vim.env.HERMES_WS, report = {} }

function M.fail(message)
  io.stderr:write(message .. "\n")
  vim.cmd("cquit 1")
end

function M.wait(what, predicate)
  if not vim.wait(60000, predicate, 20) then
    M.fail("waited in vain for " .. what .. "\n" .. vim.inspect(M.report))
  end
end

-- Opens a file and starts the server for it.
function M.start(name, before_start)
  vim.cmd.edit(M.workspace .. "/" .. name)
  M.buf = vim.api.nvim_get_current_buf()
  if before_start then
    before_start(M.buf)
  end
  M.id = vim.lsp.start({ name = "hermes", cmd = { vim.env.HERMES_BIN, "serve" }, root_dir = M.workspace })
  if not M.id then
    M.fail("the server did not start")
  end
  M.wait("the server to attach", function()
    local client = vim.lsp.get_client_by_id(M.id)
    return client and client.initialized and vim.lsp.buf_is_attached(M.buf, M.id)
  end)
end

-- Asks the server, and waits for the answer.
function M.request(buf, method, params)
  local done, failure, result = false, nil, nil
  vim.lsp.buf_request(buf, method, params, function(err, res)
    done, failure, result = true, err, res
  end)
  M.wait(method, function()
    return done
  end)
  if failure then
    M.fail(method .. ": " .. failure.message)
  end
  return result
end

-- Calls a method of the client, which was a function before 0.11.
function M.client(method, ...)
  local client = vim.lsp.get_client_by_id(M.id)
  if vim.fn.has("nvim-0.11") == 1 then
    return client[method](client, ...)
  end
  return client[method](...)
end

-- Writes the report, stops the server, and ends Neovim.
function M.finish(report)
  vim.fn.writefile({ vim.json.encode(report) }, vim.env.HERMES_REPORT)
  M.client("stop")
  M.wait("the server to stop", function()
    return vim.lsp.get_client_by_id(M.id) == nil
  end)
  vim.cmd("qall!")
end

return M
