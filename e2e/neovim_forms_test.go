//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestNeovimForms fills in the form of the official server-everything in each version of Neovim.
// The form is shown whole, and invalid values are refused with a sentence. The server gets values,
// a refusal, or a canceled request.
func TestNeovimForms(t *testing.T) {
	t.Parallel()
	server := filepath.Join(nodeModules(t), "@modelcontextprotocol", "server-everything", "dist", "index.js")
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			write(t, filepath.Join(b.home, "config.yaml"), fmt.Sprintf("model: {provider: embedded}\n"+
				"mcp_servers: {everything: {command: %q, args: [%q], trust: full, defer: never}}\n", newNode(t), server))
			p := newPlugin(t, version, b)
			p.start(t, "shop.py")
			p.fillForm()
			p.endForm("15", "decline")
			p.endForm("16", "cancel")
		})
	}
}

// askForm lets the model call the tool that asks for values.
func (p *plugin) askForm(words string) {
	p.t.Helper()
	p.send(words, `[{"call":{"name":"mcp__everything__trigger-elicitation-request","args":{}}}]`, fmt.Sprintf(`[{"text":"Done: %s."}]`, words))
	p.wait("everything (MCP server) asks: Please provide inputs", "1: String (required):", "14: Send", "15: Decline", "16: Cancel")
}

func (p *plugin) fillForm() {
	p.t.Helper()
	p.askForm("First")
	p.wait("3: String with default (optional): It was a dark", "6: String with date format (optional):", "7: Integer (optional): 42",
		"12: Titled Multiple Select Enum (optional): Tuna", "13: Legacy Titled Single Select Enum (optional): Cats")
	p.keep(p.name("form"))
	p.line("14")
	p.wait("1: String (required):  ✗ This field is required.")
	p.line("1")
	p.wait("Your full, legal name")
	p.line("Ann")
	p.wait("1: String (required): Ann")
	p.line("4")
	p.wait("Your email address (will be verified")
	p.line("ann")
	p.wait("✗ Enter an email address, such as name@example.org.")
	p.keep(p.name("form-refused"))
	p.line("@example.org")
	p.wait("4: String with email format (optional): ann@example.org")
	p.line("7")
	p.wait("Your favorite integer", "Enter a whole number from 1 to 100.")
	p.keys("C-u")
	p.line("500")
	p.wait("✗ Enter a whole number from 1 to 100.")
	p.keys("C-u")
	p.line("7")
	p.wait("7: Integer (optional): 7")
	p.line("13")
	p.wait("Choose your favorite type of pet", "6: No answer")
	p.line("6")
	p.wait("13: Legacy Titled Single Select Enum (optional):\n")
	p.line("10")
	p.wait("Choose your favorite instruments", "1: [x] Guitar", "3: [ ] Violin", "6: Done")
	p.line("3")
	p.wait("3: [x] Violin")
	p.line("6")
	p.wait("10: Untitled Multiple Select Enum (optional): Guitar, Violin")
	p.line("14")
	p.wait("Done: First.", "● idle")
	p.got(`"action": "accept"`, `"name": "Ann"`, `"email": "ann@example.org"`, `"integer": 7`, `"Violin"`, `"titledSingleSelectEnum": "hero-1"`)
	if log := p.log(); strings.Contains(log, "pet-1") {
		p.t.Errorf("the server got a value that the user has removed:\n%s", log)
	}
}

// endForm ends a form without values.
func (p *plugin) endForm(number, action string) {
	p.t.Helper()
	p.askForm(action)
	p.line(number)
	p.wait("Done: "+action+".", "● idle")
	p.got(fmt.Sprintf(`"action": %q`, action))
}

// got checks the results sent to the model.
func (p *plugin) got(want ...string) {
	p.t.Helper()
	log := strings.ReplaceAll(p.log(), `\"`, `"`)
	for _, w := range want {
		if !strings.Contains(log, w) {
			p.t.Errorf("no result has %s:\n%s", w, log)
		}
	}
}

const pluginServer = `import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        result = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "clock", "version": "1"}},
            "tools/list": {"tools": [{"name": "now", "description": "The time", "inputSchema": {"type": "object"}}]},
        }.get(m["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": result}), flush=True)
`

// TestNeovimServers chooses MCP servers, skills, files of the memory and learnings from lists. It
// logs in at a real authorization server, restarts, reads the log and logs out. It approves a
// server of the workspace and removes the approval, undoes and forgets.
func TestNeovimServers(t *testing.T) {
	t.Parallel()
	found(t, "python3")
	for _, version := range []string{"0.10", "0.12"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, shopFiles)
			write(t, filepath.Join(b.workspace, "clock.py"), pluginServer)
			write(t, filepath.Join(b.workspace, ".mcp.json"), `{"mcpServers":{"clock":{"command":"python3","args":["clock.py"]}}}`)
			write(t, filepath.Join(b.home, "memories", "USER.md"), "Prefers tabs.\n")
			newAuthority(t, b, time.Hour)
			p := newPlugin(t, version, b)
			opened := filepath.Join(b.home, "opened") // by the user's browser
			write(t, filepath.Join(b.home, "init.lua"), pluginInit+
				fmt.Sprintf("vim.ui.open = function(address) vim.fn.writefile({ address }, %q) return vim.system({ \"true\" }) end\n", opened))
			p.start(t, "shop.py")

			p.choose("mcp login", "1: corp  needs login", "1")
			var address []byte
			p.until("the page of the login", func() bool {
				address, _ = os.ReadFile(opened)
				return strings.HasSuffix(string(address), "\n")
			})
			browse(t, strings.TrimSpace(string(address)), true)
			p.until("the login", func() bool {
				tokens, _ := filepath.Glob(filepath.Join(b.home, "mcp-auth", "*.json"))
				return len(tokens) > 0 && strings.Contains(p.read(tokens[0]), "access_token")
			})
			p.until("the server to be connected", func() bool {
				p.line(":Hermes mcp restart")
				if strings.Contains(p.wait(":Hermes mcp restart", "1: corp", "Type number"), "corp  connected, 3 tools") {
					return true
				}
				p.keys("Enter")
				p.closed()
				return false
			})
			p.line("1")
			p.closed()
			p.choose("mcp logs", "1: corp", "1")
			p.says("The log of corp is empty.")
			p.choose("mcp logout", "1: corp  connected", "1")
			p.says("corp is logged out.")
			p.keep(p.name("servers"))

			p.line(":Hermes trust yes")
			p.says("approves the MCP server")
			p.choose("mcp approve", "1: clock  not approved", "1")
			p.says("is approved as it is now.")
			p.choose("mcp revoke", "1: clock", "1")
			p.says("is not approved anymore.")
			p.line(":Hermes mcp revoke")
			p.wait("there is no MCP server for this")

			p.choose("skills open", "1: ", "1")
			p.until("the file of a skill", func() bool { return p.eval("expand('%:t')") == "SKILL.md" })
			p.choose("memory open", "1: The user (USER.md)", "1")
			p.until("the file of the memory", func() bool { return p.eval("expand('%:t')") == "USER.md" })
			p.line(":bwipeout")
			p.line(":buffer shop.py")
			p.send("Remember: Prefers tea.", `[{"call":{"name":"memory","args":{"action":"add","target":"user","content":"Prefers tea."}}}]`, `[{"text":"Remembered."}]`)
			p.wait("Remembered.", "● idle")
			user := filepath.Join(b.home, "memories", "USER.md")
			if text := p.read(user); !strings.Contains(text, "tea") {
				t.Errorf("USER.md has %q", text)
			}
			p.line(":Hermes memory undo")
			p.until("the write to be undone", func() bool { return !strings.Contains(p.read(user), "tea") })

			p.send("Learn it", `[{"call":{"name":"terminal","args":{"command":"ls --no-such-option shop.py"}}}]`,
				`[{"call":{"name":"terminal","args":{"command":"ls -l shop.py"}}}]`, `[{"text":"Learned."}]`)
			p.wait("Learned.", "● idle")
			p.choose("learnings forget", "1: ls -l shop.py", "1")
			p.says("orgotten")
			p.line(":Hermes learnings forget")
			p.wait("there are no learnings")
		})
	}
}

// choose runs a subcommand with a list, and enters the number of an entry.
func (p *plugin) choose(command, entry, number string) {
	p.t.Helper()
	p.line(":Hermes " + command)
	p.wait(":Hermes "+command, entry, "Type number")
	p.line(number)
	p.closed()
}

// closed waits until a list has closed.
func (p *plugin) closed() {
	p.t.Helper()
	p.until("the list to close", func() bool { return !strings.Contains(p.text(), "Type number") })
}

// says waits until the chat contains a text, which the window may break.
func (p *plugin) says(text string) {
	p.t.Helper()
	p.until("the chat to say "+text, func() bool {
		return strings.Contains(p.eval(`join(getbufline(bufnr('hermes://chat'), 1, '$'), ' ')`), text)
	})
}

func (p *plugin) read(file string) string {
	p.t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(data)
}
