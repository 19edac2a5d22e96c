--- Runs the tests of the plugin's parts: nvim -u NONE --headless -l nvim/tests/run.lua
--- Each file *_test.lua here returns a table of tests by name.
local here = vim.fs.dirname(debug.getinfo(1, "S").source:sub(2))
vim.opt.runtimepath:prepend(vim.fs.dirname(here))

local files = vim.fn.sort(vim.fn.glob(here .. "/*_test.lua", true, true))
local run, failed = 0, 0
for _, file in ipairs(files) do
  local tests = dofile(file)
  local names = vim.tbl_keys(tests)
  table.sort(names)
  for _, name in ipairs(names) do
    run = run + 1
    local ok, err = xpcall(tests[name], debug.traceback)
    if not ok then
      failed = failed + 1
      io.stdout:write(("FAIL %s: %s\n%s\n"):format(vim.fs.basename(file), name, err))
    end
    vim.cmd("silent! %bwipeout!")
  end
end
io.stdout:write(("%d tests, %d failed\n"):format(run, failed))
os.exit(failed == 0 and run > 0 and 0 or 1)
