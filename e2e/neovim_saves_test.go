//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestNeovimSavesEdits: an edit of a buffer without unsaved changes is on disk before the next
// command. The buffer shows the changes on disk of a command or another program. A buffer with
// unsaved changes stays unsaved.
func TestNeovimSavesEdits(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			file := filepath.Join(b.workspace, "shop.py")
			disk := func() string {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}
			buffer := func() string {
				return p.lua(`table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('shop.py'), 0, -1, false), '|')`)
			}
			modified := func() string { return p.eval(`getbufvar('shop.py', '&modified')`) }

			p.send("one",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
				`[{"call":{"name":"terminal","args":{"command":"grep -c 'a + b' shop.py && sed -i 's/total/sum_of/' shop.py"}}}]`,
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a + b","new_string":"return b + a"}}}]`,
				`[{"text":"First is done."}]`)
			p.ended("one", "First is done.")
			if got := disk(); !strings.Contains(got, "sum_of") || !strings.Contains(got, "b + a") || modified() != "0" {
				t.Errorf("the disk has %q, the buffer %q, modified %s", got, buffer(), modified())
			}

			write(t, file, strings.Replace(disk(), "sum_of", "added", 1)) // as git checkout does
			p.send("two",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return b + a","new_string":"return a * b"}}}]`,
				`[{"text":"Second is done."}]`)
			p.ended("two", "Second is done.")
			if got := disk(); !strings.Contains(got, "added") || !strings.Contains(got, "a * b") || modified() != "0" {
				t.Errorf("the disk has %q, the buffer %q, modified %s", got, buffer(), modified())
			}
			p.until("the buffer to be reloaded", func() bool { return strings.Contains(buffer(), "added") && strings.Contains(buffer(), "a * b") })

			p.lua(`require('hermes.config').set({ cmd = require('hermes.config').current.cmd, save_edits = false })`)
			before := disk()
			p.send("three",
				`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a * b","new_string":"return a / b"}}}]`,
				`[{"text":"Third is done."}]`)
			p.ended("three", "Third is done.")
			if disk() != before || modified() != "1" || !strings.Contains(buffer(), "a / b") {
				t.Errorf("the disk has %q, the buffer %q, modified %s", disk(), buffer(), modified())
			}
		})
	}
}

// failedSave is a reason why Neovim cannot save an edit.
type failedSave struct {
	name   string
	before string // Lua before the edit
	why    string // in the result for the model
	lost   bool   // the failed save destroys the file
	solve  string // Lua with which the user solves and saves it
	full   bool   // Neovim can write no files
	saved  bool   // the file is saved in spite of the error
}

var failedSaves = []failedSave{
	{name: "readonly", before: `vim.bo.readonly = true`, why: "'readonly'", solve: `vim.bo.readonly = false vim.cmd.write()`},
	{name: "asks", before: `vim.o.confirm = true vim.bo.readonly = true`, why: "'readonly'", solve: `vim.o.confirm = false vim.bo.readonly = false vim.cmd.write()`},
	{name: "protected", before: `vim.fn.setfperm(vim.fn.expand('%:p'), 'r--r--r--')`, why: "'readonly'", solve: `vim.fn.setfperm(vim.fn.expand('%:p'), 'rw-r--r--') vim.bo.readonly = false vim.cmd.write()`},
	{name: "full", full: true, why: "E514", lost: true, solve: `vim.cmd.write()`},
	{name: "throws", before: `vim.cmd("autocmd BufWritePre throws.py throw 'the formatter is missing'")`, why: "the formatter is missing", solve: `vim.cmd('autocmd! BufWritePre') vim.cmd.write()`},
	{name: "lua", before: `vim.api.nvim_create_autocmd('BufWritePre', { pattern = 'lua.py', callback = function() error('no formatter here') end })`, why: "no formatter here", solve: `vim.cmd('autocmd! BufWritePre') vim.cmd.write()`},
	{name: "elsewhere", before: `vim.cmd('autocmd BufWriteCmd elsewhere.py let g:written = 1')`, why: "still modified", solve: `vim.cmd('autocmd! BufWriteCmd') vim.cmd.write()`},
	{name: "after", before: `vim.cmd("autocmd BufWritePost after.py throw 'the build failed'")`, saved: true},
	{name: "older", before: `vim.bo.autoread = false vim.cmd('autocmd FileChangedShell older.py let g:changed = 1') vim.fn.writefile({ 'def total(a, b):', '    return a - b', '# by another program' }, 'older.py') vim.cmd.checktime()`, saved: true},
}

// ignoreSignal makes a write beyond the limit of a file's size fail. By default, the signal SIGXFSZ ends the
// process.
const ignoreSignal = `(function() local ffi = require('ffi') ffi.cdef('void (*signal(int, void (*)(int)))(int)') ffi.C.signal(25, ffi.cast('void (*)(int)', 1)) end)()`

// TestNeovimFailedSaves: Neovim cannot save an edit. The model and the user are told, commands do not
// verify the turn, and no text is lost. When the user has saved the buffer, the next check counts.
func TestNeovimFailedSaves(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for _, c := range failedSaves {
				files[c.name+".py"] = shopFiles["shop.py"]
			}
			b := newBed(t, files)
			p := newPlugin(t, version, b)
			p.start(t, "readonly.py")
			p.lua(ignoreSignal)
			for _, c := range failedSaves {
				p.lua(`vim.cmd.edit('` + c.name + `.py')`)
			}
			for _, c := range failedSaves {
				p.failsToSave(c)
			}
		})
	}
}

// fill makes each write of Neovim to a file fail, or ends that.
func (p *plugin) fill(full bool) {
	p.t.Helper()
	pid, err := strconv.Atoi(p.eval("getpid()"))
	if err != nil {
		p.t.Fatal(err)
	}
	limit := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if full {
		limit.Cur = 0
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		p.t.Fatal(err)
	}
}

// since returns the end of a text, from the last prompt on.
func since(text, prompt string) string { return text[max(0, strings.LastIndex(text, prompt)):] }

func (p *plugin) failsToSave(c failedSave) {
	p.t.Helper()
	name := c.name + ".py"
	path := filepath.Join(p.bed.workspace, name)
	in := func(lua string) { // in a window with the file
		p.lua(`vim.api.nvim_buf_call(vim.fn.bufnr('` + name + `'), function() ` + lua + ` end)`)
	}
	disk := func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			p.t.Fatal(err)
		}
		return string(text)
	}
	if c.before != "" {
		in(c.before)
	}
	p.fill(c.full)
	before := disk()
	check := fmt.Sprintf(`[{"call":{"name":"terminal","args":{"command":"grep -c 'a + b' %s"}}}]`, name)
	p.send("edit "+c.name,
		fmt.Sprintf(`[{"call":{"name":"patch","args":{"path":%q,"old_string":"return a - b","new_string":"return a + b"}}}]`, name),
		check, fmt.Sprintf(`[{"text":"%s is edited."}]`, c.name))
	p.until("the end of the turn", func() bool {
		shown := since(p.chatText(), "edit "+c.name)
		return strings.Contains(shown, "\n"+c.name+" is edited.") && strings.HasSuffix(strings.TrimSpace(shown), "## You")
	})
	log, shown := since(p.log(), "edit "+c.name), since(p.chatText(), "edit "+c.name)
	buffer := p.eval(`join(getbufline('` + name + `', 1, '$'), '|')`)
	if !strings.Contains(buffer, "a + b") {
		p.t.Errorf("%s: the buffer has %q", c.name, buffer)
	}
	if c.saved {
		if !strings.Contains(disk(), "a + b") || strings.Contains(log, "not saved") || strings.Contains(shown, "not saved") {
			p.t.Errorf("%s: the disk has %q, the model was told\n%s\nthe user\n%s", c.name, disk(), log, shown)
		}
		return
	}
	if got := disk(); got != before && !c.lost || c.lost && strings.Contains(log, "the disk has the old text") {
		p.t.Errorf("%s: the disk has %q", c.name, got)
	}
	if !strings.Contains(log, "not saved") || !strings.Contains(log, c.why) || !strings.Contains(log, "not saved in the editor: "+name) || strings.Contains(log, "traceback") {
		p.t.Errorf("%s: the model was told\n%s", c.name, log)
	}
	if !strings.Contains(shown, "Not verified: commands ran while "+name) {
		p.t.Errorf("%s: the user was told\n%s", c.name, shown)
	}
	p.fill(false)
	in(c.solve)
	p.send("check "+c.name, check, fmt.Sprintf(`[{"text":"%s is checked."}]`, c.name))
	p.until("the end of the turn", func() bool {
		shown := since(p.chatText(), "check "+c.name)
		return strings.Contains(shown, "\n"+c.name+" is checked.") && strings.HasSuffix(strings.TrimSpace(shown), "## You")
	})
	log, shown = since(p.log(), "check "+c.name), since(p.chatText(), "check "+c.name)
	if !strings.Contains(disk(), "a + b") || strings.Contains(log, "not saved") || strings.Contains(shown, "ot saved") {
		p.t.Errorf("%s: after the save, the disk has %q, the model was told\n%s\nthe user\n%s", c.name, disk(), log, shown)
	}
}

// TestNeovimFailedRestores: Neovim cannot save a file that a restore has changed. The user is told what
// the buffer and the disk have, also at the next try. No text is lost.
func TestNeovimFailedRestores(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{}
			for _, c := range failedSaves {
				files[c.name+".py"] = shopFiles["shop.py"]
			}
			b := newBed(t, files)
			p := newPlugin(t, version, b)
			p.start(t, "readonly.py")
			p.lua(ignoreSignal)
			failing := slices.DeleteFunc(slices.Clone(failedSaves), func(c failedSave) bool { return c.saved })
			for _, c := range failing {
				p.lua(`vim.cmd.edit('` + c.name + `.py')`)
			}
			for _, c := range failing {
				p.failsToRestore(c)
			}
		})
	}
}

// unbroken drops the ends of lines on a screen.
var unbroken = strings.NewReplacer(" ", "", "\n", "")

func (p *plugin) failsToRestore(c failedSave) {
	p.t.Helper()
	name := c.name + ".py"
	in := func(lua string) {
		p.lua(`vim.api.nvim_buf_call(vim.fn.bufnr('` + name + `'), function() ` + lua + ` end)`)
	}
	state := func() (buffer, disk string) {
		text, err := os.ReadFile(filepath.Join(p.bed.workspace, name))
		if err != nil {
			p.t.Fatal(err)
		}
		return p.eval(`join(getbufline('` + name + `', 1, '$'), '|')`), string(text)
	}
	p.send("edit "+c.name,
		fmt.Sprintf(`[{"call":{"name":"patch","args":{"path":%q,"old_string":"return a - b","new_string":"return a + b"}}}]`, name),
		fmt.Sprintf(`[{"text":"%s is edited."}]`, c.name))
	p.until("the end of the turn", func() bool {
		shown := since(p.chatText(), "edit "+c.name)
		return strings.Contains(shown, "\n"+c.name+" is edited.") && strings.HasSuffix(strings.TrimSpace(shown), "## You")
	})
	if _, disk := state(); !strings.Contains(disk, "a + b") {
		p.t.Fatalf("%s: the disk has %q", c.name, disk)
	}
	if c.before != "" {
		in(c.before)
	}
	p.fill(c.full)
	check := func(how, told string) {
		p.t.Helper()
		buffer, disk := state()
		if !strings.Contains(buffer, "a - b") || strings.Contains(disk, "a + b") == c.lost {
			p.t.Errorf("%s: after %s, the buffer has %q, the disk %q", c.name, how, buffer, disk)
		}
		if strings.Contains(told, "outside") || strings.Contains(told, "have changed") {
			p.t.Errorf("%s: %s says %s", c.name, how, told)
		}
	}

	p.line(":Hermes rollback")
	p.wait("Bring the files back to before", "1: ")
	p.line("1")
	told := ""
	p.until("the result", func() bool {
		told = p.text()
		return strings.Contains(told, "restored "+name+"; not saved: "+name+" (") && strings.Contains(unbroken.Replace(told), unbroken.Replace(c.why))
	})
	if strings.Contains(told, "Press ENTER") { // the reason is long
		p.keys("Enter")
	}
	check("rollback", told)

	p.line(":Hermes")
	p.keys("i")
	p.write("/undo")
	p.keys("Escape", "Enter")
	p.until("the end of /undo", func() bool {
		told = p.chatText()
		return strings.Contains(told, "Not saved in the editor: `"+name+"`. The disk has another text until you save.")
	})
	check("/undo", told)
	p.line(":silent $?^## You?+1,$delete _") // the prompt, which can be sent again
	p.fill(false)
	in(c.solve)
	if buffer, disk := state(); !strings.Contains(buffer, "a - b") || !strings.Contains(disk, "a - b") {
		p.t.Errorf("%s: after the save, the buffer has %q, the disk %q", c.name, buffer, disk)
	}
}
