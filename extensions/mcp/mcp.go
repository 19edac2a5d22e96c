// Package mcp connects servers of the Model Context Protocol and offers what they
// can do as tools.
//
// [Servers] belongs to a session: servers are connected side by side as soon as
// they are named, their tools are called mcp__SERVER__TOOL, and when it is closed no
// process, connection or goroutine of theirs is left. A server that cannot be had, or
// that dies, is a notice and an error of its tools, nothing more; the next call tries
// to reach it again.
//
// What a server says of itself is data: its descriptions are cleaned and bounded, and
// a yes to a tool holds for exactly the words, parameters and program that the person
// was asked about. Its results pass the session's own dispatch like any other.
//
// Servers run with the user's rights and outside the sandbox unless they ask for it:
// they are programs that the user has chosen. They start in a folder of ours, with
// programs that do not lie in the workspace. A server that runs files of the workspace
// runs in the sandbox, after the user has approved the content of these files. Everything is safe for concurrent use.
package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Server is what it takes to reach a server: a program, or a URL.
type Server struct {
	Name string

	Command string
	Args    []string
	Env     []string // "NAME=value", beside the harmless part of our own
	Dir     string   // working directory, perhaps relative to the first root; empty: Config.Dir
	Sandbox Sandboxing

	URL       string
	Transport string            // TransportHTTP, TransportSSE; empty: whichever works
	Headers   map[string]string // sent to the URL's host only

	Timeout        time.Duration // of a call without a sign of life; 0: 120 s
	ConnectTimeout time.Duration // 0: 30 s
	Include        []string      // the tools that are offered; empty: all
	Exclude        []string      // those that are not
}

// Transports of a server with a URL.
const (
	TransportHTTP = "http" // streamable HTTP
	TransportSSE  = "sse"
)

// Config is what servers are lent. All is optional but Dir.
type Config struct {
	Version string   // of hermes-ls, which servers are told
	Dir     string   // a private folder of ours, where programs start; it is made when it is needed
	Roots   []string // the workspace's folders, which servers are told
	Environ []string // our own environment
	// Confine bounds a program. The files have the given content for it.
	Confine func(ctx context.Context, c *proc.Cmd, files map[string][]byte) error
	// Permit asks the user whether a program that runs files of the workspace may be
	// started. Nil: there is no user, so that it is not.
	Permit func(context.Context, Permission) error
	// Notice takes a word to the user. It is called from any goroutine.
	Notice func(text string)
	// Hide takes secrets out of what is logged or said.
	Hide func(text string) string
	Log  *slog.Logger
}

// Servers are those of one session.
type Servers struct {
	cfg    Config
	ctx    context.Context
	cancel context.CancelFunc

	mu    sync.Mutex
	roots []string
	list  []*server
	gone  []*server // replaced ones that may still be ending
}

// New makes an empty set, whose servers end with ctx at the latest.
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

// Connect begins to connect these servers, in place of those before, and does not
// wait. One that is there already as it is described stays connected. Of several with
// a name the first counts.
func (s *Servers) Connect(list []Server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.list
	s.list = nil
	labels, names := map[string]bool{}, map[string]bool{}
	for _, one := range list {
		if names[one.Name] {
			s.cfg.Notice(fmt.Sprintf("There are two MCP servers named %q; the second one is left out.", one.Name))
			continue
		}
		names[one.Name] = true
		label := unique(labelOf(one.Name), labels)
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

// waitLimit is how long a session's beginning waits for servers that do not say how
// long they may take.
const waitLimit = 10 * time.Second

// Wait returns when every server is connected or has failed, or has had its time.
func (s *Servers) Wait(ctx context.Context) {
	for _, one := range s.all() {
		limit := waitLimit
		if one.ConnectTimeout > 0 {
			limit = one.ConnectTimeout
		}
		timer := time.NewTimer(time.Until(one.began.Add(limit)))
		select {
		case <-one.first:
		case <-timer.C:
			if !one.settled() {
				one.notice("was not ready in time. Its tools are offered in the next session")
			}
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// Tools are the tools of the servers that are connected now, in the servers' order.
func (s *Servers) Tools() []tools.Tool {
	var all []tools.Tool
	for _, one := range s.all() {
		for _, d := range one.definitions() {
			all = append(all, s.tool(d))
		}
	}
	return all
}

// Recalled is a tool that an earlier process has offered to the model in these words.
// Its server is looked for when it is called.
func (s *Servers) Recalled(name, description string, schema json.RawMessage) tools.Tool {
	label, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "__")
	return s.tool(definition{full: name, label: label, description: description, schema: schema, recalled: true})
}

// IsTool tells whether a name is one that a tool of a server has.
func IsTool(name string) bool { return strings.HasPrefix(name, prefix) }

// Status is how a server is doing.
type Status struct {
	Name    string
	State   string   // one of the states below
	Error   string   // why it is not connected
	Tools   []string // as the model calls them
	LeftOut []string // as the server calls them: tools that run only as tasks
	From    string   // the program or the URL, without secrets
}

// States of a server.
const (
	Connecting    = "connecting"
	Connected     = "connected"
	NeedsLogin    = "needs login"
	NeedsApproval = "needs approval"
	Failed        = "failed"
)

// Status lists the servers.
func (s *Servers) Status() []Status {
	var all []Status
	for _, one := range s.all() {
		all = append(all, one.status())
	}
	return all
}

// SetRoots tells the servers of other workspace folders.
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

// Close ends every server and waits within ctx until nothing of them is left.
func (s *Servers) Close(ctx context.Context) error {
	s.cancel()
	s.mu.Lock()
	ending := slices.Concat(s.list, s.gone)
	s.mu.Unlock()
	for _, one := range ending {
		select {
		case <-one.done:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the MCP server %s to end: %w", one.Name, context.Cause(ctx))
		}
	}
	return nil
}
