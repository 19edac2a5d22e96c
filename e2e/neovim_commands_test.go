//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// commandsSeen are the sub-commands used by TestNeovimPlugin, TestNeovimLongWork, TestNeovimModels, TestNeovimPrompts and TestNeovimSigns;
// TestNeovimCommands uses the rest.
var commandsSeen = []string{"changes", "chat", "diff", "explain", "fork", "goal", "hunk", "resend", "restore", "resume", "retry", "review", "rollback", "subagents"}

// The sub-commands of :Hermes, each with its display, in a single Neovim.
func TestNeovimCommands(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			write(t, filepath.Join(b.home, "config.yaml"), "model: {provider: embedded, fallback: [second]}\n")
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			steps := []struct {
				name string
				run  func(*plugin)
			}{
				{"model", (*plugin).model},
				{"thinking", (*plugin).thinking},
				{"mode", (*plugin).mode},
				{"ask", (*plugin).ask},
				{"image", (*plugin).image},
				{"cancel", (*plugin).cancelIt},
				{"toggle", (*plugin).toggle},
				{"close", (*plugin).closeIt},
				{"test", (*plugin).writeTests},
				{"document", (*plugin).document},
				{"fix", (*plugin).fix},
				{"edit", (*plugin).editLines},
				{"accept", (*plugin).acceptLines},
				{"reject", (*plugin).rejectLines},
				{"edit", (*plugin).editKeepsTheRest},
				{"delegate", (*plugin).delegate},
				{"transcript", (*plugin).transcript},
				{"mcp", (*plugin).mcpServers},
				{"skills", shows("skills", "**debug** (bundled)", "skills open debug", "name: debug")},
				{"memory", shows("memory", "USER.md", "memory open user", "memories/USER.md")},
				{"learnings", shows("learnings", "There are no learnings", "learnings open", "# Learnings")},
				{"usage", shows("usage", "This session")},
				{"export", (*plugin).export},
				{"plugins", shows("plugins", "No plugin is enabled")},
				{"hooks", shows("hooks", "There are no hooks")},
				{"trust", shows("trust", "trusted.")},
				{"new", (*plugin).begin},
				{"delete", (*plugin).remove},
				{"sessions", (*plugin).sessions},
				{"settings", (*plugin).settings},
				{"doctor", (*plugin).doctor},
				{"setup", (*plugin).setup},
				{"skills", (*plugin).installSkill},
				{"mcp", (*plugin).addServer},
				{"restart", (*plugin).restart},
			}
			known := map[string]bool{}
			for _, name := range commandsSeen {
				known[name] = true
			}
			for _, s := range steps {
				known[s.name] = true
				s.run(p)
			}
			for _, name := range strings.Fields(p.eval(`join(getcompletion('Hermes ', 'cmdline'), ' ')`)) {
				if !known[name] {
					t.Errorf(":Hermes %s is offered, and no test uses it", name)
				}
			}
			p.deleteBuffer()
			p.undoPrompt()
			p.keep(p.name("commands"))
		})
	}
}

// model is chosen before anything else: the conversation begins with it.
func (p *plugin) model() {
	p.t.Helper()
	p.line(":Hermes model")
	p.wait("1: ● embedded", "2:   second")
	p.keep(p.name("model"))
	p.line("2")
	p.wait("Model: second", "Hermes: idle · second")
	p.line(":Hermes model third")
	p.wait(`"third" is not a value of model; there are embedded, second`)
	p.line(":Hermes model embedded")
	p.wait("Model: embedded", "Hermes: idle · embedded")
	if got := p.eval(`join(getcompletion('Hermes model ', 'cmdline'), ' ')`); got != "embedded second" {
		p.t.Errorf("models to complete: %q", got)
	}
}

// addServer and installSkill run a command of the program in a terminal, with what is asked for.
func (p *plugin) addServer() {
	p.t.Helper()
	p.line(":Hermes mcp add")
	p.wait("MCP server, NAME URL or NAME -- COMMAND:")
	p.line("--no-test docs https://docs.example.test/mcp")
	p.wait("The MCP server is added.")
	if text, err := os.ReadFile(filepath.Join(p.bed.home, "config.yaml")); err != nil || !bytes.Contains(text, []byte("docs.example.test")) {
		p.t.Errorf("config.yaml has %s, %v", text, err)
	}
	p.eval("execute('bwipeout!')")
	p.until("the window to be closed", func() bool { return p.eval("&filetype") == "python" })
}

func (p *plugin) installSkill() {
	p.t.Helper()
	source := filepath.Join(filepath.Dir(p.bed.home), "sweep")
	write(p.t, filepath.Join(source, "SKILL.md"), "---\nname: sweep\ndescription: Sweep the floor.\n---\nSweep it.\n")
	p.line(":Hermes skills install --yes " + source)
	p.wait("The skill is installed.")
	p.eval("execute('bwipeout!')")
	p.until("the window to be closed", func() bool { return p.eval("&filetype") == "python" })
}

// export writes the session to a new file.
func (p *plugin) export() {
	p.t.Helper()
	file := filepath.Join(p.bed.home, "session.jsonl")
	p.line(":Hermes export " + file)
	p.until("the file", func() bool {
		text, err := os.ReadFile(file)
		return err == nil && bytes.Contains(text, []byte("hermes-script"))
	})
	p.wait("The session is in")
}

// mcpServers shows that there are none, and completes the actions for a server.
func (p *plugin) mcpServers() {
	p.t.Helper()
	p.line(":Hermes mcp")
	p.wait("There are no MCP servers")
	p.line(":Hermes mcp login shop")
	p.wait(`There is no MCP server "shop" in this`)
	p.keep(p.name("mcp"))
	if got := p.eval(`join(getcompletion('Hermes mcp ', 'cmdline'), ' ')`); got != "add approve login logout logs restart revoke" {
		p.t.Errorf("what can be done with MCP servers: %q", got)
	}
}

// shows returns a step: a subcommand shows a text in the chat. If there is a second subcommand, it
// opens a file with a text.
func shows(command, text string, more ...string) func(*plugin) {
	return func(p *plugin) {
		p.t.Helper()
		p.line(":Hermes " + command)
		p.wait(text)
		if len(more) > 0 {
			p.line(":Hermes " + more[0])
			p.until("the file to be open", func() bool { return p.eval("bufname()") != "shop.py" }) // the chat may name it, too
			p.wait(more[1])
			p.line(":buffer shop.py")
			p.wait("def total")
		}
	}
}

func (p *plugin) thinking() {
	p.t.Helper()
	p.line(":Hermes thinking")
	p.wait("1: ● Default", "4:   High")
	p.line("4")
	p.wait("Thinking: High")
	p.line(":Hermes thinking")
	p.wait("1:   Default", "4: ● High")
	p.line("1")
	p.wait("Thinking: Default")
}

// mode changes the mode: the statusline shows it if it is not the default, and no approval
// is requested.
func (p *plugin) mode() {
	p.t.Helper()
	p.line(":Hermes mode auto")
	p.wait("Mode: Auto", "Hermes: idle · auto · embedded")
	p.send("Clean up", `[{"call":{"name":"terminal","args":{"command":"rm -rf build"}}}]`, `[{"text":"Clean "},{"text":"now."}]`)
	p.wait("✓ $ rm -rf build", "Clean now.", "● idle", "auto · embedded")
	p.line(":Hermes mode")
	p.wait("1:   Ask", "2:   Ask before edits", "3: ● Auto")
	p.line("1")
	p.until("the mode to be as usual", func() bool { return !strings.Contains(p.text(), "auto ·") })
}

// ask sends a prompt after the name of a sub-command. If there is no prompt, it asks for it.
func (p *plugin) ask() {
	p.t.Helper()
	p.line(":wincmd p")
	p.line(":Hermes ask fix the “café” — naïve | quoted 'so' and \"so\"")
	p.wait("fix the “café” — naïve | quoted 'so' and \"so\"", "● idle", "I am not a real model")
	p.line(":Hermes ask")
	p.wait("Ask Hermes:")
	p.answered("what does shop.py do", "what does shop.py do")
	if got := p.eval("&filetype"); got != "python" {
		p.t.Errorf("the cursor has left the file for a %q", got)
	}
}

// image is sent with the next prompt only.
func (p *plugin) image() {
	p.t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		p.t.Fatal(err)
	}
	shot := filepath.Join(p.bed.home, "my shot.png") // the user names it, so it may be outside
	write(p.t, shot, b.String())
	p.line(":Hermes image nothing.png")
	p.wait("there is no file")
	p.line(":Hermes image " + shot)
	p.wait("my shot.png goes with your next prompt")
	p.answered(":Hermes ask what is in the picture", "(my shot.png)")
	p.keep(p.name("image"))
	p.answered(":Hermes ask and now without it", "and now without it")
	list := exec.Command(p.bed.binary, "sessions", "export", "--all")
	list.Env = append(os.Environ(), "HERMES_HOME="+p.bed.home)
	out, err := list.Output()
	if n := bytes.Count(out, []byte(`"image/png"`)); err != nil || n != 1 {
		p.t.Errorf("the sessions have %d pictures, %v", n, err)
	}
}

// answered types a line that begins a turn, and waits for the answer of the embedded model and the
// end of the turn. Before the turn begins, the chat is idle, and the command line contains the prompt.
func (p *plugin) answered(line string, shown ...string) {
	p.t.Helper()
	before := p.answers()
	p.line(line)
	p.until("the next answer", func() bool { return p.answers() > before })
	p.wait(append(shown, "● idle")...)
}

// answers counts the answers of the embedded model in all buffers.
func (p *plugin) answers() int {
	p.t.Helper()
	text := p.eval(`count(join(flatten(map(getbufinfo(), {_, b -> getbufline(b.bufnr, 1, '$')})), ' '), 'I am not a real model')`)
	n, err := strconv.Atoi(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *plugin) cancelIt() {
	p.t.Helper()
	p.wait("● idle")
	p.line(":Hermes cancel")
	p.wait("Hermes: nothing runs")
	p.send("Never end", `[{"text":"It goes on"},{"sleep_ms":600000}]`)
	p.wait("It goes on", "● working")
	p.line(":Hermes cancel")
	p.wait("Cancelled.", "● idle")
	p.line(":wincmd p")
}

func (p *plugin) toggle() {
	p.t.Helper()
	p.line(":Hermes toggle")
	p.until("the chat to be hidden", func() bool { return p.eval("winnr('$')") == "1" })
	p.line(":Hermes toggle")
	p.wait("Never end", "● idle")
	p.line(":wincmd p")
}

func (p *plugin) closeIt() {
	p.t.Helper()
	p.line(":Hermes close")
	p.until("the chat to be hidden", func() bool { return p.eval("winnr('$')") == "1" })
}

func (p *plugin) writeTests() {
	p.t.Helper()
	p.answered(":Hermes test", "Write tests for shop.py.")
	if rules := "Follow the tests that are there already"; !strings.Contains(p.log(), rules) || strings.Contains(p.text(), rules) {
		p.t.Errorf("the model gets %q, and the chat does not show it:\n%s", rules, p.text())
	}
}

func (p *plugin) document() {
	p.t.Helper()
	p.answered(":2Hermes document", "Document shop.py, line 2.")
}

// fix is about the diagnostics of the line, else of the file. If there are none, it says so.
func (p *plugin) fix() {
	p.t.Helper()
	p.line(":Hermes fix")
	p.wait("nothing is reported in this file")
	p.lua(`vim.diagnostic.set(vim.api.nvim_create_namespace("linter"), vim.fn.bufnr("shop.py"), {{ lnum = 1, col = 4, end_col = 10, severity = 1, source = "linter", message = "a plus is not a minus" }})`)
	p.line(":1")
	p.answered(":Hermes fix", "Fix shop.py.")
	p.line(":2")
	p.answered(":Hermes fix", "Fix shop.py, line 2.")
	if log := p.log(); strings.Count(log, "a plus is not a minus") != 2 {
		p.t.Errorf("the model was not told what the linter says:\n%s", log)
	}
	p.lua(`vim.diagnostic.reset()`)
}

// editLines edits two lines by an instruction. The buffer shows the earlier lines above the new
// lines, and the chat stays closed.
func (p *plugin) editLines() {
	p.t.Helper()
	p.line(":Hermes close")
	p.line(":silent %d | call setline(1, ['def total(a, b):', '    return a - b', '', 'x = 1', 'y = 2'])")
	p.line(":silent write")
	script := func(content string) string {
		return "\n```hermes-script\n" + fmt.Sprintf(`[{"call":{"name":"write_file","args":{"path":"shop.py","content":%q}}}]`, content) + "\n" + `[{"text":"I changed it."}]` + "\n```"
	}
	draft := filepath.Join(filepath.Dir(p.bed.home), "edit.lua")
	write(p.t, draft, fmt.Sprintf("vim.cmd.Hermes({ args = { 'edit', [==[add them%s]==] }, range = { 1, 4 } })", script("def total(a, b):\n    return a + b\n\nx = 2\n")))
	p.line(":luafile " + draft)
	p.wait("-     return a - b", "return a + b", "- x = 1", "- y = 2", ":Hermes accept, :Hermes reject", "Hermes: idle")
	p.keep(p.name("edit"))
	if n := p.eval("winnr('$')"); n != "1" {
		p.t.Errorf("the edit has opened a window: there are %s", n)
	}
	if log := p.log(); !strings.Contains(log, "Edit shop.py, lines 1–4: add them") {
		p.t.Errorf("the model did not get the instruction:\n%s", log)
	}
}

func (p *plugin) acceptLines() {
	p.t.Helper()
	p.line(":1")
	p.line(":Hermes accept")
	p.wait("there is no change at the cursor")
	p.line(":2")
	p.line(":Hermes accept")
	p.until("one change to be left", func() bool {
		text := p.text()
		return !strings.Contains(text, "return a - b") && strings.Contains(text, "- x = 1")
	})
}

func (p *plugin) rejectLines() {
	p.t.Helper()
	p.line(":%Hermes reject")
	p.until("the rest to be rejected", func() bool { return !strings.Contains(p.text(), ":Hermes accept,") })
	if text := p.eval(`join(getline(1, '$'), "\n")`); text != "def total(a, b):\n    return a + b\n\nx = 1\ny = 2" {
		p.t.Errorf("the buffer has:\n%s", text)
	}
	p.line(":silent write")
	p.line(":Hermes edit")
	p.wait("Edit:")
	p.line("is this right?")
	p.wait("I am not a real model")
	p.keys("C-l")
	p.line(":silent %d | call setline(1, ['def total(a, b):', '    return a - b'])")
	p.line(":silent write")
}

// editKeepsTheRest checks that an inline edit shows nothing of an earlier turn, and that Reject
// leaves the user's typed text.
func (p *plugin) editKeepsTheRest() {
	p.t.Helper()
	p.line(":silent %d | call setline(1, ['def total(a, b):', '    return a - b'])")
	p.line(":silent write")
	p.send("Mend it.", `[{"call":{"name":"read_file","args":{"path":"shop.py"}}}]`, `[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"a - b","new_string":"a + b"}}}]`, `[{"text":"It adds now."}]`)
	p.wait("✓ Edit shop.py", "It adds now.", "● idle")
	p.line(":Hermes close")
	p.line(":buffer shop.py")
	p.wait("return a + b")
	p.line(":2")
	p.line(":Hermes edit")
	p.wait("Edit:")
	if at := p.lua(`vim.api.nvim_win_get_config(0).relative ~= '' and vim.api.nvim_win_get_position(0)[1] or 0`); at != "2" {
		p.t.Errorf("the instruction is asked below line %s, not below line 2", at)
	}
	p.keep(p.name("edit-asks"))
	p.line("is this right?")
	p.wait("I am not a real model")
	p.keys("C-l")
	p.line(":%Hermes reject")
	p.wait("there is no change at the cursor")
	if text := p.eval(`join(getline(1, '$'), "\n")`); text != "def total(a, b):\n    return a + b" {
		p.t.Errorf("reject has removed lines of an earlier turn:\n%s", text)
	}
	draft := filepath.Join(filepath.Dir(p.bed.home), "again.lua")
	write(p.t, draft, "vim.cmd.Hermes({ args = { 'edit', [==[double it\n```hermes-script\n"+
		`[{"call":{"name":"patch","args":{"path":"shop.py","old_string":"return a + b","new_string":"return 2 * (a + b)"}}}]`+"\n"+`[{"text":"Doubled."}]`+"\n```]==] }, range = { 2, 2 } })")
	p.line(":luafile " + draft)
	p.wait("-     return a + b", ":Hermes accept, :Hermes reject", "Hermes: idle")
	p.line(":call append(0, '# mine') | call append('$', '# mine, too')")
	p.wait("# mine, too")
	p.line(":%Hermes reject")
	p.until("the change to be rejected", func() bool { return !strings.Contains(p.text(), ":Hermes accept,") })
	if text := p.eval(`join(getline(1, '$'), "\n")`); text != "# mine\ndef total(a, b):\n    return a + b\n# mine, too" {
		p.t.Errorf("after reject, the buffer has:\n%s", text)
	}
	p.line(":silent %d | call setline(1, ['def total(a, b):', '    return a - b'])")
	p.line(":silent write")
}

// delegate starts a subagent. A title shows the first line of its goal.
func (p *plugin) delegate() {
	p.t.Helper()
	p.line(":Hermes delegate")
	p.wait("\nDelegate:")
	p.line("read shop.py")
	p.wait("✓ Subagent: read shop.py", "● idle")
	draft := `vim.cmd.Hermes({ args = { "delegate", "Count the lines\nand say so in a word" } })`
	p.line(":lua " + draft)
	p.wait("✓ Subagent: Count the lines  ", "● idle")
	p.keep(p.name("delegate"))
}

func (p *plugin) transcript() {
	p.t.Helper()
	p.line(":Hermes transcript")
	p.until("the transcript", func() bool { return strings.HasSuffix(p.eval("bufname()"), "transcript.md") })
	if text := p.eval(`join(getline(1, '$'), "\n")`); !strings.Contains(text, "## You") || !strings.Contains(text, "def total(a, b):") {
		p.t.Errorf("the transcript lacks what was read:\n%s", text)
	}
	p.line(":buffer shop.py")
}

func (p *plugin) begin() {
	p.t.Helper()
	p.line(":Hermes new")
	p.wait("● idle  new session")
	p.send("A second one", `[{"text":"Welcome "},{"text":"to it."}]`)
	p.wait("Welcome to it.", "● idle  A second one")
	p.line(":wincmd p")
}

// remove deletes the shown session after a confirmation. The chat then shows another
// session.
func (p *plugin) remove() {
	p.t.Helper()
	p.line(":Hermes delete")
	p.wait("Delete for good", "1: ", "A second one", "2: ")
	p.line("1")
	p.wait("Delete “A second one” for good?", "1: Delete it", "2: Keep it")
	p.line("2")
	p.until("the questions to be gone", func() bool { return !strings.Contains(p.text(), "Delete") })
	p.line(":Hermes delete")
	p.wait("Delete for good", "1: ", "A second one", "2: ")
	p.line("1")
	p.wait("Delete “A second one” for good?", "1: Delete it")
	p.line("1")
	p.wait("deleted “A second one”", "● idle  new session")
	p.line(":Hermes resume")
	if shown := p.wait("Go on with", "1: "); strings.Contains(shown, "A second one") {
		p.t.Errorf("what was deleted can be gone on with:\n%s", shown)
	}
	p.line("1")
	p.wait("Clean up", "● idle")
	p.line(":wincmd p")
}

// sessions lists and searches the sessions, and resumes and deletes a session.
func (p *plugin) sessions() {
	p.t.Helper()
	p.line(":Hermes fork")
	p.wait("● idle  Clean up (for")
	p.send("Where is the unicorn?", `[{"text":"In the garden."}]`)
	p.wait("In the garden.", "● idle")
	p.line(":Hermes sessions")
	p.wait("Enter resume", "d delete", "Clean up", "└ Clean up (fork)")
	p.keep(p.name("sessions"))
	p.keys("s")
	p.wait("Search sessions:")
	p.line("unicorn")
	p.wait("Clean up (fork)", "“Where is the unicorn?")
	p.keys("s")
	p.line("yeti")
	p.wait("No session has these words.")
	p.keys("q")
	p.line(":Hermes sessions garden")
	p.wait("“In the garden.”")
	p.keys("d")
	p.wait("Delete “Clean up (fork)” for good?", "1: Delete it")
	p.line("1")
	p.wait("No session has these words.")
	p.keys("r", "s", "C-u", "Enter")
	p.until("the list without it", func() bool {
		text := p.text()
		return strings.Contains(text, "Clean up  ") && !strings.Contains(text, "(fork)")
	})
	p.keys("Enter")
	p.wait("● idle  Clean up  ", "Count the lines")
	p.line(":wincmd p")
	p.until("the file", func() bool { return p.eval("&filetype") == "python" })
}

func (p *plugin) settings() {
	p.t.Helper()
	p.line(":Hermes settings")
	p.until("the settings", func() bool { return p.eval("expand('%:p')") == filepath.Join(p.bed.home, "config.yaml") })
	p.wait("model: {provider: embedded, fallback: [second]}")
	p.line(":buffer shop.py")
}

func (p *plugin) doctor() {
	p.t.Helper()
	p.line(":Hermes doctor")
	p.wait("ok    config", "ok    model", "ripgrep")
	p.keep(p.name("doctor"))
	p.keys("q")
	p.until("the window to be closed", func() bool { return p.eval("&filetype") == "python" })
}

// setup asks in a terminal, and ends with its window.
func (p *plugin) setup() {
	p.t.Helper()
	p.line(":Hermes setup")
	p.wait("Provider (arrow keys", "> openai", "  anthropic")
	p.keep(p.name("setup"))
	p.eval("execute('bwipeout!')")
	p.until("the window to be closed", func() bool { return p.eval("&filetype") == "python" })
}

// restart has another process go on with the conversation.
func (p *plugin) restart() {
	p.t.Helper()
	var before []int
	p.until("the program of the setup to end", func() bool { before = p.servers(); return len(before) == 1 })
	p.line(":Hermes restart")
	p.until("another server", func() bool {
		after := p.servers()
		return len(after) == 1 && after[0] != before[0]
	})
	p.wait("The server was started again.", "● idle")
	p.send("Still there?", `[{"text":"Still "},{"text":"here."}]`)
	p.wait("Still here.", "● idle  Clean up")
	p.sayTo("one that stops", "vim.cmd.Hermes('restart')")
	p.sayTo("one that is dead", fmt.Sprintf("vim.uv.kill(%d, 'sigkill')", p.servers()[0]))
}

// sayTo sends a message at the moment when the server goes away. The next server answers it.
func (p *plugin) sayTo(what, away string) {
	p.t.Helper()
	p.line(fmt.Sprintf(":lua %s vim.cmd.Hermes('Said to %s')", away, what))
	p.until("the message and its answer", func() bool {
		text := p.text()
		if strings.Contains(text, "Press ENTER") {
			p.keys("C-l")
		}
		_, after, said := strings.Cut(text, "Said to "+what)
		return said && strings.Contains(after, "I am not a real model") && strings.Contains(text, "● idle")
	})
}

// deleteBuffer takes the chat's buffer away while an answer comes: nothing is lost.
func (p *plugin) deleteBuffer() {
	p.t.Helper()
	p.send("Go on", `[{"text":"It comes"},{"sleep_ms":1500},{"text":" whole."}]`)
	p.wait("It comes", "● working")
	p.line("ikept words")
	p.keys("Escape")
	p.line(":bdelete")
	p.until("the chat to be gone", func() bool { return p.eval("&filetype") == "python" })
	p.line(":Hermes")
	p.wait("It comes whole.", "● idle", "kept words")
	p.keys("Enter")
	p.wait("kept words", "I am not a real model", "● idle")
}

// undoPrompt undoes a prompt: the chat shows the rest, and the prompt as a draft.
func (p *plugin) undoPrompt() {
	p.t.Helper()
	p.send("Take me back with @shop.py", `[{"call":{"name":"write_file","args":{"path":"shop.py","content":"x = 1\n"}}}]`, `[{"text":"It was "},{"text":"written."}]`)
	p.wait("It was written.", "● idle")
	p.line(":Hermes")
	p.keys("i")
	p.write("/undo")
	p.keys("Escape", "Enter")
	p.wait("Back before this prompt", "Take me back with @shop.py", "● idle")
	p.until("the file to be brought back", func() bool { return strings.HasSuffix(p.eval(shopText), "return a - b") })
	chat := p.eval(`join(getline(1, '$'), "\n")`)
	heading := strings.LastIndex(chat, "## You")
	if strings.Contains(chat, "\nIt was written.") || strings.Contains(chat[:heading], "\nTake me back") {
		p.t.Errorf("what was undone is still shown:\n%s", chat)
	}
	if !strings.Contains(chat, "Still here.") || !strings.HasPrefix(chat[heading:], "## You\n\nTake me back with @shop.py\n") {
		p.t.Errorf("what is left, and what may be asked again, should be shown:\n%s", chat)
	}
	p.line(":%s/It was /It is /e")
	p.keys("Enter")
	p.wait("✓ Write shop.py", "It is written.", "● idle")
	p.line(":Hermes restart")
	p.until("the chat as the store has it", func() bool {
		chat := p.eval(`join(getline(1, '$'), "\n")`)
		return strings.Contains(chat, "It is written.") && !strings.Contains(chat, "/undo") && !strings.Contains(chat, "It was written.")
	})
	if n := p.eval(fmt.Sprintf(`count(join(getline(1, '$'), "\n"), %q)`, "Take me back with")); n != "1" {
		p.t.Errorf("the prompt stands there %s times", n)
	}
	p.line(":Hermes")
	p.keys("i")
	p.write("/new")
	p.keys("Escape", "Enter")
	p.wait("A new session begins.", "● idle  new sess")
}
