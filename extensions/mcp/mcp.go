// Package mcp connects MCP servers and offers their tools.
//
// [Servers] belongs to a session. It connects all servers at the same time. Their tools are named
// mcp__SERVER__TOOL. After Close, no process, connection or goroutine of a server is left. If a
// server cannot be connected, or ends, the user gets a notice and its tools return an error. The
// next call connects it again.
//
// Descriptions of a server are data: they are cleaned, and their size is limited. A remembered
// approval of a tool applies only to the same description, parameters and program. Results are
// handled like those of other tools.
//
// Servers run with the user's rights and outside of the sandbox, because the user has chosen these
// programs. The setting sandbox changes this. They start in a directory of hermes-ls, and are found
// outside of the workspace. If a server runs files of the workspace, the user must approve their
// content, and it runs in the sandbox.
//
// All functions and methods are safe for concurrent use.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/sampling"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Server configures a server. It is a program or a URL.
type Server struct {
	Name string

	Command string
	Args    []string
	Env     []string // "NAME=value", in addition to the harmless variables of hermes-ls
	Dir     string   // working directory, relative to the first workspace folder; empty: Config.Dir
	Sandbox Sandboxing
	// Workspace is the user-approved definition of a server from the workspace. If it or a file
	// named in it changes, the server is not started. Nil: the user or the host has configured the
	// server.
	Workspace *trust.Server
	// Bound limits the program in place of the session's sandbox. Nil: see Sandbox.
	Bound Bound

	URL       string
	Transport string            // TransportHTTP or TransportSSE; empty: whichever works
	Headers   map[string]string // sent only to the host of URL
	Auth      string            // AuthOAuth, AuthNone or empty
	OAuth     login.Settings

	Timeout        time.Duration     // of a call without progress; 0: 120 s
	ConnectTimeout time.Duration     // 0: 30 s
	Include        []string          // the offered tools; empty: all
	Exclude        []string          // tools not offered
	Approve        map[string]string // approvals of tools, by globs: ask, allow or deny
	Trust          string            // untrusted, full, or empty: by the marks of a tool
	NoResources    bool
	NoPrompts      bool
	NoElicitation  bool
	ElicitTimeout  time.Duration // 0: 300 s
	Sampling       sampling.Settings
	Parallel       bool          // its writing tools may run in parallel
	Protocol       string        // stateless, legacy; else: whichever works
	Verify         string        // of the server's certificate: true, false or a file with authorities
	Certificate    []string      // of the client: a PEM file, or certificate, key and password
	Idle, Lifetime time.Duration // after which the program is stopped until the next call; 0: never
	Defer          string        // always or never; else: tools are deferred if there are too many
}

// Bound limits programs, for example by a plugin's permissions.
type Bound interface {
	// Confine limits a program. Release is called when it has ended.
	Confine(ctx context.Context, c *proc.Cmd) (release func(), err error)
	// Writes reports whether the program can write in the workspace.
	Writes() bool
}

// Transports of a server with a URL.
const (
	TransportHTTP = "http" // streamable HTTP
	TransportSSE  = "sse"
)

// Config configures Servers. All fields except Dir are optional.
type Config struct {
	Pictures tools.Pictures  // limits of pictures in results
	Version  string          // of hermes-ls; servers get it
	Dir      string          // a private directory in which programs start; it is created if it is needed
	Roots    []string        // the workspace folders; servers get them
	Environ  []string        // the environment of hermes-ls
	Path     userpath.Finder // the PATH of programs; nil: Environ's PATH
	// Confine puts a program into the sandbox. In the sandbox, the files show the given content.
	Confine func(ctx context.Context, c *proc.Cmd, files map[string][]byte) error
	// Watch is the session's Watch. It is called before a program with write access to the
	// workspace starts. Nil: nothing is reviewed.
	Watch func(ctx context.Context, by string) (extension.Watched, error)
	// Permit asks the user whether a program may start and run files of the workspace. If it is
	// nil, such a program does not start.
	Permit func(context.Context, Permission) error
	// Later shows a question in the chat and waits for the user's answer there. Nil: the user
	// cannot answer in the chat.
	Later func(ctx context.Context, question string) (answer string, ok bool)
	// Elicit answers the questions of servers. If it is nil, servers cannot ask.
	Elicit func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error)
	// Logins holds the tokens of logins. If it is nil, servers get no tokens.
	Logins *login.Store
	// Notice sends a notice to the user. Any goroutine may call it.
	Notice func(text string)
	// Hide redacts secrets in texts for the log and for the user.
	Hide func(text string) string
	// Ask asks the user for values requested by servers. Nil: servers cannot request them.
	Ask       tools.Clarifier
	SessionID string // for Ask
	// Home holds the logs of servers. Empty: there are none.
	Home string
	Log  *slog.Logger
	// Sampling asks the model for servers. If its Model is nil, servers cannot ask it.
	Sampling sampling.User
	// CommandsChanged is called when the prompts of a server have changed. It may be nil.
	CommandsChanged func()
	// Values returns a server with the current values of its configuration. If a value is missing,
	// it returns an error. Nil: values do not change.
	Values func(Server) (Server, error)
	// Secret registers values to redact from now on, by name. It may be nil.
	Secret func(values map[string]string)
}

// Servers holds the servers of one session.
type Servers struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc

	version atomic.Int64 // grows when tools change
	tokens  sync.Map     // redacted tokens

	mu    sync.Mutex
	roots []string
	list  []*server
	gone  []*server // replaced servers, perhaps still ending
}

// New returns Servers without a server. When ctx ends, all servers end.
func New(ctx context.Context, cfg Config) *Servers {
	if cfg.Notice == nil {
		cfg.Notice = func(string) {}
	}
	if cfg.Hide == nil {
		cfg.Hide = func(text string) string { return text }
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	s := &Servers{cfg: cfg, roots: cfg.Roots}
	s.ctx, s.cancel = context.WithCancel(ctx)
	return s
}

// Connect starts to connect these servers and returns at once. They replace the previous servers. A
// server with the same configuration stays connected. If several share a name, only the first is
// used.
func (s *Servers) Connect(list []Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.list
	s.list = nil
	labels, names := labelsOf(list), map[string]bool{}
	for _, one := range list {
		one = one.in(s.roots)
		if names[one.Name] {
			s.cfg.Notice(fmt.Sprintf("There are two MCP servers named %q; the second one is left out.", one.Name))
			continue
		}
		names[one.Name] = true
		label := labels[one.Name]
		at := slices.IndexFunc(before, func(b *server) bool { return b.label == label && same(b.Server, one) })
		if at >= 0 {
			s.list = append(s.list, before[at])
			before = slices.Delete(before, at, at+1)
			continue
		}
		s.list = append(s.list, s.start(one, label))
	}
	for _, b := range before {
		b.cancel()
		s.gone = append(s.gone, b)
	}
}

// Wait returns when every server is connected or has failed, or when most has passed since it began.
func (s *Servers) Wait(ctx context.Context, most time.Duration) {
	for _, one := range s.all() {
		if !tried(ctx, one, most) && ctx.Err() == nil {
			one.notice("was not ready in time. Its tools can be used when it is")
		}
	}
}

// tried waits until the first attempt to connect a server has ended, at most until most after it began. It
// reports whether the attempt has ended.
func tried(ctx context.Context, one *server, most time.Duration) bool {
	timer := time.NewTimer(time.Until(one.began.Add(most)))
	defer timer.Stop()
	_, ended := one.until(ctx, timer.C, func(st state) bool { return st.tried })
	return ended
}

// Tools returns the tools of the connected servers, in the order of the servers.
func (s *Servers) Tools() []tools.Tool {
	var all []tools.Tool
	for _, one := range s.all() {
		for _, d := range one.definitions() {
			all = append(all, s.tool(d))
		}
	}
	return append(all, s.resourceTool()...)
}

// LateTools returns the version of the tools. If known is another version, it also returns the
// tools.
func (s *Servers) LateTools(known int) (version int, now []tools.Tool) {
	for _, one := range s.all() {
		loggedIn(one)
	}
	version = int(s.version.Load())
	if version == known {
		return version, nil
	}
	return version, s.Tools()
}

// Expects reports whether a server may add tools later: it is not connected yet, or it announces
// changes.
func (s *Servers) Expects() bool {
	return slices.ContainsFunc(s.all(), func(one *server) bool {
		st := one.now()
		if st.conn == nil {
			return st.phase == connecting || st.phase == needsLogin || st.phase == needsApproval
		}
		r := st.conn.session.InitializeResult()
		return r != nil && r.Capabilities != nil && r.Capabilities.Tools != nil && r.Capabilities.Tools.ListChanged
	})
}

// Recalled returns a tool offered to the model by an earlier process with this definition. Its
// server is looked up when the tool is called.
func (s *Servers) Recalled(name, description string, schema json.RawMessage) tools.Tool {
	label, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "__")
	return s.tool(definition{full: name, label: label, description: description, schema: schema, recalled: true, group: &tools.Group{Name: label}})
}

// placeholder returns a tool for a name known to the model from an earlier process, before its server
// is connected. The call waits for the server. If no such server is expected, placeholder returns
// false.
func (s *Servers) placeholder(name string) (t tools.Tool, ok bool) {
	for _, one := range s.all() {
		if !strings.HasPrefix(name, prefix+one.label+"__") {
			continue
		}
		return s.tool(definition{
			full: name, label: one.label, schema: json.RawMessage(`{"type":"object"}`), recalled: true, unseen: true,
			description: "A tool of the MCP server " + one.label, group: &tools.Group{Name: one.Name, Defer: one.Defer},
		}), one.now().conn == nil
	}
	return t, false
}

// IsTool reports whether name is the name of an MCP tool.
func IsTool(name string) bool { return strings.HasPrefix(name, prefix) }

// Status is the state of a server.
type Status struct {
	Name    string
	State   string   // see the constants below
	Error   string   // why it is not connected
	Tools   []string // names for the model
	LeftOut []string // the server's names of task-only tools
	From    string   // the program or the URL, without secrets
	Log     string   // the file with its log
	// Approved reports whether the server comes from the workspace and the user has approved it.
	Approved bool
}

// States of a server.
const (
	Connecting    = "connecting"
	Connected     = "connected"
	NeedsLogin    = "needs login"
	NeedsApproval = "needs approval"
	Failed        = "failed"
)

// Status returns the status of all servers.
func (s *Servers) Status() []Status {
	var all []Status
	for _, one := range s.all() {
		all = append(all, one.status())
	}
	return all
}

// SetRoots sends new workspace folders to the servers.
func (s *Servers) SetRoots(folders []string) {
	s.mu.Lock()
	before := s.roots
	s.roots = folders
	list := slices.Clone(s.list)
	s.mu.Unlock()
	for _, one := range list {
		one.setRoots(before, folders)
	}
}

func (s *Servers) all() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list)
}

// Close ends all servers, and waits until they have ended or ctx is done. A server that ends later
// is no failure: its supervisor kills it.
func (s *Servers) Close(ctx context.Context) error {
	s.cancel()
	s.mu.Lock()
	ending := slices.Concat(s.list, s.gone)
	s.mu.Unlock()
	for _, one := range ending {
		select {
		case <-one.done:
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}
