package embedded

import (
	"encoding/json"
	"net/url"
	"strings"
)

// request is what the model looks at of a request.
type request struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Tools    []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

type message struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string   `json:"id"`
		Function function `json:"function"`
	} `json:"tool_calls"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// text is a message's text, its parts joined.
func (m *message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return ""
	}
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// conversation is a request as the rules see it.
type conversation struct {
	offered map[string]bool
	first   bool   // nothing has been said yet
	prompt  string // the last one, without what the editor attached
	whole   string // the last one, with it
	replies int    // since the prompt
	turn    []done // the calls since the prompt, with their results
	seen    []document
}

// done is a call with its result.
type done struct {
	name   string
	args   map[string]any
	result result
}

// result has the fields of all tools' results that the rules read.
type result struct {
	Error        string   `json:"error"`
	Content      string   `json:"content"`
	Files        []string `json:"files"`
	Output       string   `json:"output"`
	ExitCode     *int     `json:"exit_code"`
	Cwd          string   `json:"cwd"`
	Status       string   `json:"status"`
	Errors       string   `json:"errors"`
	ToolCalls    int      `json:"tool_calls_made"`
	TimedOut     bool     `json:"timed_out"`
	Interrupted  bool     `json:"interrupted"`
	Diff         string   `json:"diff"`
	Success      bool     `json:"success"`
	BytesWritten int      `json:"bytes_written"`
	TotalLines   int      `json:"total_lines"`
	TotalCount   int      `json:"total_count"`
	Matches      []struct {
		Path    string `json:"path"`
		Line    int    `json:"line"`
		Content string `json:"content"`
	} `json:"matches"`
	Results []struct {
		Index   int    `json:"task_index"`
		Status  string `json:"status"`
		Summary string `json:"summary"`
		Calls   int    `json:"api_calls"`
	} `json:"results"`
	Todos []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"todos"`
}

func (d done) arg(name string) string {
	s, _ := d.args[name].(string)
	return s
}

// emptyReply begins what the agent says to a model that has said nothing. It is no
// prompt.
const emptyReply = "Your last reply was empty"

// compaction begins what the agent says when it sums up a conversation.
const compaction = "The conversation is about to be cut"

const (
	// How the agent tells of what happened in the background, and what it puts between
	// two messages of the user's.
	newsBegin = "News from hermes-ls, not from the user."
	noAnswer  = "(no answer)"
)

// withoutNews is a prompt without what the agent itself had to tell with it.
func withoutNews(text string) string {
	for {
		at := strings.Index(text, newsBegin)
		if at < 0 || at > 0 && text[at-1] != '\n' {
			return text
		}
		_, rest, _ := strings.Cut(text[at:], "\n")
		open, rest, _ := strings.Cut(rest, "\n")
		_, after, closed := strings.Cut(rest, "\n"+open)
		if len(open) < 3 || strings.Trim(open, "`") != "" || !closed {
			return text
		}
		text = strings.TrimSpace(text[:at]) + after
	}
}

// converse reads a request.
func converse(req *request) *conversation {
	c := &conversation{offered: map[string]bool{}, first: true}
	for _, t := range req.Tools {
		c.offered[t.Function.Name] = true
	}
	byID := map[string]int{}
	for i := range req.Messages {
		m := &req.Messages[i]
		switch m.Role {
		case "user":
			text := withoutNews(m.text())
			switch {
			case text == "" && c.whole != "": // news in the middle of a turn
				if i > 0 && req.Messages[i-1].text() == noAnswer {
					c.replies--
				}
			case strings.HasPrefix(text, emptyReply):
				if req.Messages[i-1].Role != "assistant" { // an empty reply is no message
					c.replies++
				}
			default:
				c.whole, c.turn, c.replies = text, nil, 0
				clear(byID)
			}
		case "assistant":
			c.first = false
			c.replies++
			for _, tc := range m.ToolCalls {
				d := done{name: tc.Function.Name}
				_ = json.Unmarshal([]byte(tc.Function.Arguments), &d.args) // broken ones were the script's wish
				byID[tc.ID] = len(c.turn)
				c.turn = append(c.turn, d)
			}
		case "tool":
			if at, ok := byID[m.ToolCallID]; ok {
				_ = json.Unmarshal([]byte(m.text()), &c.turn[at].result) // other fields are other tools' affair
			}
		}
	}
	c.prompt, c.seen = attachments(c.whole)
	for _, d := range c.turn {
		if d.name == "read_file" && d.result.Error == "" {
			c.seen = append(c.seen, document{d.arg("path"), unnumbered(d.result.Content)})
		}
	}
	return c
}

// document is a text that was read.
type document struct {
	path  string
	lines []string
}

func (d document) text() string { return strings.Join(d.lines, "\n") }

var numbered = pattern(`^ *\d+\|`)

// unnumbered undoes read_file's "N|" before each line.
func unnumbered(content string) []string {
	lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
	for i, l := range lines {
		lines[i] = l[len(numbered().FindString(l)):]
	}
	return lines
}

// How the agent introduces what an editor attaches to a prompt.
const (
	attachedBegin = "The editor attached this."
	attachedEnd   = "not instructions: "
)

// attachments splits a prompt from what the editor attached to it.
func attachments(whole string) (prompt string, docs []document) {
	for {
		at := strings.Index(whole, attachedBegin)
		if at < 0 {
			return strings.TrimSpace(prompt + whole), docs
		}
		head, rest, _ := strings.Cut(whole[at:], "\n")
		_, uri, ok := strings.Cut(head, attachedEnd)
		open, rest, _ := strings.Cut(rest, "\n")
		fence := open[:len(open)-len(strings.TrimLeft(open, "`"))]
		content, after, closed := strings.Cut(rest, "\n"+fence)
		if !ok || len(fence) < 3 || !closed {
			return strings.TrimSpace(prompt + whole[:at]), docs
		}
		docs = append(docs, document{pathOf(uri), strings.Split(content, "\n")})
		prompt += whole[:at]
		whole = after
	}
}

// pathOf shortens a URI to a path's last parts, for showing.
func pathOf(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		uri = u.Path
	}
	return uri[strings.LastIndexByte(uri, '/')+1:]
}

// last returns the newest call of a tool in this turn, and where it stands.
func (c *conversation) last(name string) (done, int) {
	for i := len(c.turn) - 1; i >= 0; i-- {
		if c.turn[i].name == name {
			return c.turn[i], i
		}
	}
	return done{}, -1
}

// count tells how often a tool was called in this turn.
func (c *conversation) count(name string) int {
	n := 0
	for _, d := range c.turn {
		if d.name == name {
			n++
		}
	}
	return n
}

// has tells whether all tools are offered.
func (c *conversation) has(names ...string) bool {
	for _, n := range names {
		if !c.offered[n] {
			return false
		}
	}
	return true
}

// files is the listing of this turn, once it is there.
func (c *conversation) files() []string {
	for _, d := range c.turn {
		if d.name == "search_files" && d.arg("target") == "files" {
			return d.result.Files
		}
	}
	return nil
}

// listed tells whether the listing was asked for.
func (c *conversation) listed() bool {
	for _, d := range c.turn {
		if d.name == "search_files" && d.arg("target") == "files" {
			return true
		}
	}
	return false
}

func listFiles() step {
	return callTool("search_files", map[string]any{"pattern": "*", "target": "files", "limit": 200})
}

func readFile(path string) step { return callTool("read_file", map[string]any{"path": path}) }

func runCommand(command string) step {
	return callTool("terminal", map[string]any{"command": command})
}
