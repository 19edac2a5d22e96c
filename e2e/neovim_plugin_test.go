//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

// plugin is a Neovim with the real plugin, as a native package, in a terminal.
type plugin struct {
	*screen
	bed     bed
	version string
	program string
	socket  string
}

const pluginInit = `
vim.o.swapfile = false
require("hermes").setup{ cmd = { vim.env.HERMES_BIN } }
vim.o.statusline = "%f %= %{%v:lua.require'hermes'.statusline()%}"
`

func newPlugin(t *testing.T, version string, b bed) *plugin {
	t.Helper()
	found(t, "pgrep")
	packs := filepath.Join(b.home, "xdg", "nvim", "site", "pack", "any", "start")
	if err := os.MkdirAll(packs, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root(t), "nvim"), filepath.Join(packs, "hermes")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(b.home, "init.lua"), pluginInit)
	write(t, filepath.Join(b.workspace, ".git", "HEAD"), "ref: refs/heads/main\n")
	return &plugin{bed: b, version: version, program: host(t, "nvim-"+version)}
}

// start opens Neovim with a file.
func (p *plugin) start(t *testing.T, file string) {
	t.Helper()
	p.socket = filepath.Join(filepath.Dir(p.bed.home), "nvim.sock")
	p.screen = p.bed.screen(t, "neovim", p.program, "-u", filepath.Join(p.bed.home, "init.lua"), "-i", "NONE", "--listen", p.socket, file)
	p.wait("Hermes", file)
}

// eval asks Neovim for the value of an expression.
func (p *plugin) eval(expression string) string {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), screenLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, p.program, "-u", "NONE", "--server", p.socket, "--remote-expr", expression).CombinedOutput()
	if err != nil {
		p.t.Fatalf("asking Neovim for %s: %v\n%s", expression, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (p *plugin) lua(expression string) string {
	p.t.Helper()
	return p.eval(`luaeval("` + strings.ReplaceAll(expression, `"`, `\"`) + `")`)
}

// send writes a message with a script into the chat, as a user who pastes, and sends it.
func (p *plugin) send(words string, replies ...string) {
	p.t.Helper()
	draft := filepath.Join(filepath.Dir(p.bed.home), "draft.txt")
	write(p.t, draft, words+"\n\n```hermes-script\n"+strings.Join(replies, "\n")+"\n```\n")
	p.line(":Hermes")
	p.line(":silent $read " + draft)
	p.keys("Enter")
}

// The tags of the help are Neovim's own output: a native package has no others.
func TestNeovimHelpTags(t *testing.T) {
	t.Parallel()
	doc := t.TempDir()
	have, err := os.ReadFile(filepath.Join(root(t), "nvim", "doc", "tags"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root(t), "nvim", "doc", "hermes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(doc, "hermes.txt"), string(text))
	newBed(t, shopFiles).run(t, host(t, "nvim-0.12"), "--headless", "-u", "NONE", "-i", "NONE", "-c", "helptags "+doc, "-c", "qall!")
	want, err := os.ReadFile(filepath.Join(doc, "tags"))
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != string(want) {
		t.Errorf("nvim/doc/tags is old: run :helptags nvim/doc\n%s", want)
	}
}

// Without its server, and with invalid options, the plugin reports it and continues.
func TestNeovimPluginWithoutServer(t *testing.T) {
	t.Setenv("HERMES_NVIM", filepath.Join(root(t), "nvim"))
	for _, version := range []string{"0.10", "0.12"} {
		b := newBed(t, shopFiles)
		b.run(t, host(t, "nvim-"+version), "--headless", "-u", "NONE", "-i", "NONE", "-n",
			"-c", "luafile "+filepath.Join(root(t), "e2e", "neovim", "missing.lua"))
	}
}

func TestNeovimPlugin(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			p.streamAndCancel()
			p.approve()
			p.answerLater()
			p.undo()
			p.compare()
			p.rollback()
			p.diagnostics()
			p.explainAndFork()
			p.stopOneSubagent()
			p.makeTwo()
			p.surviveKill()
			p.changesWait()
			p.help()
			p.resume(t)
		})
	}
}

func (p *plugin) name(what string) string { return what + "-" + p.version }

// streamAndCancel reads a streamed answer, and cancels an endless answer.
func (p *plugin) streamAndCancel() {
	p.t.Helper()
	p.send("Tell a long story", `[{"thought":"It will be long."},{"text":"Once upon a time"},{"sleep_ms":600000}]`)
	shown := p.wait("Once upon a time", "● working", "∴ Thought")
	if strings.Contains(shown, "▏ It will be long.") {
		p.t.Errorf("the thought is not folded:\n%s", shown)
	}
	p.keep(p.name("stream"))
	p.keys("C-c")
	p.wait("Cancelled.", "● idle")
	p.keys("q")
	p.until("the chat to be hidden", func() bool { return p.eval("winnr('$')") == "1" })
}

// approve allows an approval request with the whole command, and answers a question.
func (p *plugin) approve() {
	p.t.Helper()
	command := "rm -rf build && echo " + strings.Repeat("long ", 30) + "end"
	p.send("Please mend total",
		`[{"text":"Let me look."},{"call":{"name":"read_file","args":{"path":"shop.py"}}}]`,
		`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a + b"}}}]`,
		fmt.Sprintf(`[{"call":{"name":"terminal","args":{"command":%q}}}]`, command),
		`[{"call":{"name":"clarify","args":{"question":"Which colour?","choices":["red","blue"]}}}]`,
		`[{"text":"The sum is right now."}]`)
	shown := p.wait("may it do this?", "1: Allow once", "2: Allow for this session", "3: Always allow", "4: Deny", "waiting for you")
	if bare := strings.NewReplacer(" ", "", "\n", ""); !strings.Contains(bare.Replace(shown), bare.Replace(command)) {
		p.t.Errorf("the question does not show the whole command:\n%s", shown)
	}
	p.keep(p.name("approve"))
	p.line("1")
	p.wait("Which colour?", "1: red", "2: blue")
	p.line("2")
	p.wait("The sum is right now.", "● idle")
	p.keep(p.name("answer"))
	if _, err := os.Stat(filepath.Join(p.bed.workspace, "build")); !os.IsNotExist(err) {
		p.t.Errorf("the command that was allowed did not run: %v", err)
	}
}

// answerLater is asked while typing: the question waits, and no key is taken for its answer.
func (p *plugin) answerLater() {
	p.t.Helper()
	p.send("Clean up", `[{"text":"One moment."},{"sleep_ms":1000},{"call":{"name":"terminal","args":{"command":"rm -rf shop.py"}}}]`, `[{"text":"You said no."}]`)
	p.wait("One moment.")
	p.write("1i1 typed 1 while it asks")
	p.wait("waiting for you: Esc to answer", "? $ rm -rf shop.py", "1 typed 1 while it asks")
	p.keys("Escape")
	p.wait("may it do this?", "4: Deny")
	p.line("4")
	p.wait("You said no.", "● idle", "1 typed 1 while it asks")
	p.keep(p.name("later"))
	if _, err := os.Stat(filepath.Join(p.bed.workspace, "shop.py")); err != nil {
		p.t.Errorf("what was refused has run: %v", err)
	}
	p.keys("d", "i", "p")
}

const shopText = `join(getbufline('shop.py', 1, '$'), '|')`

// undo undoes the agent's edit like a user's edit, and redoes it.
func (p *plugin) undo() {
	p.t.Helper()
	if got := p.eval(shopText); got != "def total(a, b):|    return a + b" {
		p.t.Fatalf("the buffer is %q", got)
	}
	p.line(":wincmd p")
	p.keys("u")
	p.until("undo", func() bool { return strings.HasSuffix(p.eval(shopText), "return a - b") })
	p.keys("C-r")
	p.until("redo", func() bool { return strings.HasSuffix(p.eval(shopText), "return a + b") })
}

// compare reviews the changes of the turn.
func (p *plugin) compare() {
	p.t.Helper()
	p.line(":Hermes diff shop.py")
	p.until("two windows in diff mode", func() bool {
		return p.eval(`len(filter(range(1, winnr('$')), 'getwinvar(v:val, "&diff")'))`) == "2"
	})
	p.wait("return a - b", "return a + b")
	p.keep(p.name("diff"))
	if got := p.eval(`join(getbufline(winbufnr(1), 1, '$'), '|')`); got != "def total(a, b):|    return a - b" {
		p.t.Errorf("before the turn the file is said to be %q", got)
	}
	p.keys("C-w", "h", "q")
	p.until("the comparison to be closed", func() bool { return p.eval("tabpagenr('$')") == "1" })
}

// makeTwo lets the agent make two files.
func (p *plugin) makeTwo() {
	p.t.Helper()
	p.send("Make two", `[{"call":{"name":"write_file","args":{"path":"made1.txt","content":"x"}}},{"call":{"name":"write_file","args":{"path":"made2.txt","content":"x"}}}]`, `[{"text":"Made two."}]`)
	p.wait("Made two.", "● idle")
}

// changesWait accepts a pending change and reverts another, after the server was killed and in a
// new session.
func (p *plugin) changesWait() {
	p.t.Helper()
	p.line(":Hermes new")
	judge := func(file, action string) {
		p.line(":Hermes changes " + file)
		p.wait("Changes that wait", "1: "+file)
		p.line("1")
		p.wait("1: Compare", "2: Accept", "3: Revert")
		p.line(action)
	}
	judge("made1.txt", "2")
	p.wait("accepted made1.txt")
	judge("made2.txt", "3")
	p.wait("restored made2.txt")
	p.line(":Hermes changes made1.txt")
	p.wait("no change of made1.txt waits")
	_, err1 := os.Stat(filepath.Join(p.bed.workspace, "made1.txt"))
	_, err2 := os.Stat(filepath.Join(p.bed.workspace, "made2.txt"))
	if err1 != nil || !os.IsNotExist(err2) {
		p.t.Errorf("accepted: %v, reverted: %v", err1, err2)
	}
}

// rollback restores the files changed by the turn: an open buffer, and a file on disk.
func (p *plugin) rollback() {
	p.t.Helper()
	p.line(":Hermes rollback")
	p.wait("Bring the files back to before", "1: ", "Please mend total", "shop.py")
	p.keep(p.name("rollback"))
	p.line("1")
	p.until("the buffer to be brought back", func() bool { return strings.HasSuffix(p.eval(shopText), "return a - b") })
	p.until("the deleted file to be brought back", func() bool {
		_, err := os.Stat(filepath.Join(p.bed.workspace, "build", "old.txt"))
		return err == nil
	})
}

// diagnostics of the editor's tools reach the model with the result of an edit.
func (p *plugin) diagnostics() {
	p.t.Helper()
	// A linter: its diagnostics change with the text.
	p.lua(`vim.api.nvim_buf_attach(vim.fn.bufnr("shop.py"), false, { on_lines = function() vim.schedule(function() vim.diagnostic.set(vim.api.nvim_create_namespace("linter"), vim.fn.bufnr("shop.py"), {{ lnum = 1, col = 4, end_col = 10, severity = 1, source = "linter", message = "a plus is not a minus" }}) end) end })`)
	p.send("Mend it again",
		`[{"call":{"name":"read_file","args":{"path":"shop.py"}}}]`,
		`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a - b","new_string":"return a  +  b"}}}]`,
		`[{"text":"Mended "},{"text":"again."}]`)
	p.wait("Mended again.", "● idle")
	if log := p.log(); !strings.Contains(log, "a plus is not a minus") {
		p.t.Errorf("the model was not told what the editor's linter says:\n%s", log)
	}
}

// log returns the messages to the model in the newest session.
func (p *plugin) log() string {
	p.t.Helper()
	db := store.New(filepath.Join(p.bed.home, store.FileName), store.Options{})
	defer db.Close()
	sessions, _, err := db.List(p.t.Context(), store.Filter{Limit: 1})
	if err != nil || len(sessions) != 1 {
		p.t.Fatalf("sessions: %v, %v", sessions, err)
	}
	messages, err := db.Messages(p.t.Context(), sessions[0].ID, 0, 1000)
	if err != nil {
		p.t.Fatal(err)
	}
	var log strings.Builder
	for _, m := range messages {
		log.WriteString(m.Text() + "\n")
	}
	return log.String()
}

// explainAndFork asks about lines, and goes on in a copy of the conversation.
func (p *plugin) explainAndFork() {
	p.t.Helper()
	p.line(":wincmd p")
	p.line(":1,2Hermes explain")
	p.wait("Explain shop.py, lines 1–2.", "● idle")
	p.line(":Hermes review changes")
	p.wait("Review the changes of this workspace", "● idle")
	p.line(":Hermes fork")
	p.until("another chat", func() bool { return p.eval("&filetype") == "hermes" })
	p.wait("Review the changes of this workspace", "● idle")
	p.keep(p.name("fork"))
}

// stopOneSubagent stops one of two subagents in their window; the other completes its work.
func (p *plugin) stopOneSubagent() {
	p.t.Helper()
	long, quick := `[{\"text\":\"I begin.\"},{\"call\":{\"name\":\"read_file\",\"args\":{\"path\":\"shop.py\"}}}]\n[{\"sleep_ms\":600000}]`, `[{\"sleep_ms\":1000},{\"text\":\"Quick it was.\"}]`
	task := func(goal, script string) string {
		return fmt.Sprintf(`{"goal":"%s\n`+"```hermes-script"+`\n%s\n`+"```"+`","toolsets":["file"]}`, goal, script)
	}
	p.send("Share the work",
		fmt.Sprintf(`[{"call":{"name":"delegate_task","args":{"tasks":[%s,%s]}}}]`, task("Wait for long", long), task("Be quick", quick)),
		`[{"text":"One is done, one was stopped."}]`)
	p.wait("Subagents", "◐ Wait for long", "Be quick", "1 call ")
	p.keep(p.name("subagents"))
	p.line(":Hermes subagents")
	p.keys("g", "g", "x")
	p.wait("One is done, one was stopped.", "● idle")
	p.wait("✗ Wait for long", "✓ Be quick", "interrupted", "completed")
	p.keep(p.name("subagents-after"))
	p.keys("q")
}

// servers returns the processes of Neovim's server.
func (p *plugin) servers() []int {
	out, _ := exec.Command("pgrep", "-P", p.eval("getpid()"), "hermes-ls").Output()
	var pids []int
	for field := range strings.FieldsSeq(string(out)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// surviveKill kills the server at work: it comes again, and nothing is lost.
func (p *plugin) surviveKill() {
	p.t.Helper()
	p.send("Never end", `[{"text":"I have only begun"},{"sleep_ms":600000}]`)
	p.wait("I have only begun", "● working")
	before := p.servers()
	if len(before) != 1 {
		p.t.Fatalf("servers: %v", before)
	}
	p.line("i" + "kept while it dies")
	p.keys("Escape")
	if err := syscall.Kill(before[0], syscall.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	p.until("Neovim to say that the server has ended", func() bool {
		if strings.Contains(p.text(), "Press ENTER") {
			p.keys("C-l")
		}
		return strings.Contains(p.text(), "The server stopped (signal 9) during")
	})
	shown := p.wait("The server stopped (signal 9)", "● idle", "Never end", "kept while it dies")
	p.keep(p.name("killed"))
	if after := p.servers(); len(after) != 1 || after[0] == before[0] {
		p.t.Errorf("servers after the kill: %v, before: %v\n%s", after, before, shown)
	}
	p.keys("Enter")
	p.wait("● idle", "I am not a real model")
}

// help checks the help: its tags, every sub-command's name, and a health check without missing
// parts.
func (p *plugin) help() {
	p.t.Helper()
	for _, name := range strings.Fields(p.eval(`join(getcompletion('Hermes ', 'cmdline'), ' ')`)) {
		if tag := p.eval(fmt.Sprintf(`join(getcompletion(':Hermes-%s', 'help'), ' ')`, name)); !strings.Contains(tag, ":Hermes-"+name) {
			p.t.Errorf(":help :Hermes-%s finds %q", name, tag)
		}
	}
	p.line(":tab help hermes")
	p.wait("this plugin is its view")
	p.line(":tabclose")
	p.line(":checkhealth hermes")
	shown := p.wait("ripgrep", "set up")
	p.keep(p.name("health"))
	if strings.Contains(shown, "ERROR") {
		p.t.Errorf("the health check fails:\n%s", shown)
	}
	p.line(":tabclose")
}

// resume goes on with the conversation in another Neovim.
func (p *plugin) resume(t *testing.T) {
	t.Helper()
	p.line(":qall!")
	p.until("Neovim to end", func() bool {
		return strings.Contains(p.tmux("list-sessions"), "no server") || strings.Contains(p.tmux("list-sessions"), "error")
	})
	p.start(t, "shop.py")
	p.line(":Hermes resume")
	p.wait("Go on with", "Tell a long story")
	p.line("1")
	p.wait("● idle", "Never end")
	p.keep(p.name("resumed"))
	p.send("And now?", `[{"text":"We go on."}]`)
	p.wait("We go on.", "● idle")
}
