// Package mcpserve is hermes-ls as a server of the Model Context Protocol on stdio. Other hosts
// call its tools prompt, sessions and delegate.
//
// A prompt belongs to a session, stored like editors' sessions. If an action requires approval, the
// host shows the request with an elicitation. If it cannot, the action is denied.
package mcpserve

//lint:file-ignore SA1019 Roots are on their way out of the protocol, but the hosts of today have them.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/delegate"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/server"
)

// Options are the parts of the process for Serve.
type Options struct {
	Service *server.Service
	Version string
	Log     *slog.Logger
}

// versions are the protocol versions with server requests to the host during a call. Later versions
// lack them.
var versions = []string{"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"}

const instructions = "Hermes is a coding agent. prompt gives it a task in a session, which later prompts continue. " +
	"sessions lists or searches its sessions. delegate gives it tasks that it does side by side, each without earlier messages. " +
	"Actions that require approval are shown to the user by elicitation; without it they are denied."

// Serve serves until the host closes in, or ctx ends.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	s := sdk.NewServer(&sdk.Implementation{Name: "hermes-ls", Title: "Hermes", Version: o.Version}, &sdk.ServerOptions{
		Instructions: instructions, Logger: o.Log, SupportedProtocolVersions: versions, Capabilities: &sdk.ServerCapabilities{},
	})
	w := &works{Options: o, busy: map[string]bool{}, allowed: map[string]map[string]bool{}}
	no, yes := false, true
	acts := &sdk.ToolAnnotations{DestructiveHint: &yes, OpenWorldHint: &yes}
	sdk.AddTool(s, &sdk.Tool{
		Name: "prompt", Title: "Prompt the Hermes agent", Annotations: acts, InputSchema: schemaOf[promptInput](), OutputSchema: schemaOf[promptOutput](),
		Description: "Sends a prompt to the coding agent Hermes and returns its answer. It reads and changes files and runs commands in cwd. Without session, it starts a new session; with the session of an earlier result, it continues that.",
	}, w.prompt)
	sdk.AddTool(s, &sdk.Tool{
		InputSchema: schemaOf[sessionsInput](), OutputSchema: schemaOf[sessionsOutput](),
		Name: "sessions", Title: "List sessions of the Hermes agent", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true, OpenWorldHint: &no},
		Description: "Lists the sessions of the coding agent Hermes in cwd, the newest first. With query, it searches their messages.",
	}, w.sessions)
	sdk.AddTool(s, &sdk.Tool{
		Name: "delegate", Title: "Delegate tasks to Hermes subagents", Annotations: acts, InputSchema: schemaOf[delegateInput](), OutputSchema: schemaOf[delegateOutput](),
		Description: "Lets subagents of Hermes do tasks side by side, and returns their reports. A subagent knows only its goal and context.",
	}, w.delegate)
	err := s.Run(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: closer{out}})
	if errors.Is(err, io.EOF) || errors.Is(err, sdk.ErrConnectionClosed) || ctx.Err() != nil {
		return nil
	}
	return err
}

// closer lets the process close its output.
type closer struct{ io.Writer }

func (closer) Close() error { return nil }

// works runs the tools.
type works struct {
	Options

	mu      sync.Mutex
	busy    map[string]bool            // sessions opened by a call
	allowed map[string]map[string]bool // see host.allowed, by session
}

type promptInput struct {
	Prompt  string `json:"prompt" jsonschema:"what the agent has to do"`
	Session string `json:"session,omitempty" jsonschema:"session to continue; empty: a new one"`
	Cwd     string `json:"cwd,omitempty" jsonschema:"absolute path of the workspace folder, which is one of the host's roots or below one; empty: the first root"`
}

// notTyped replaces the user's typed text. A model of the host may have written the prompt, so it
// does not permit anything that requires typed text.
const notTyped = "The host sent this prompt."

type promptOutput struct {
	Session    string   `json:"session"`
	StopReason string   `json:"stop_reason"`
	Text       string   `json:"text"`
	Notices    []string `json:"notices,omitempty"`
}

func (w *works) prompt(ctx context.Context, req *sdk.CallToolRequest, in promptInput) (*sdk.CallToolResult, promptOutput, error) {
	if strings.TrimSpace(in.Prompt) == "" {
		return nil, promptOutput{}, errors.New("prompt is empty")
	}
	h := newHost(ctx, req)
	session, err := w.open(ctx, req.Session, in, h)
	if err != nil {
		return nil, promptOutput{}, err
	}
	defer w.close(ctx, session, h)
	stop, err := session.Prompt(ctx, agent.Input{Text: in.Prompt, Typed: notTyped, Plain: true}, nil)
	if err != nil {
		return nil, promptOutput{}, err
	}
	text, notices := h.answer()
	out := promptOutput{Session: session.ID(), StopReason: string(stop), Text: text, Notices: notices}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: cmp.Or(text, "The turn ended with "+string(stop)+" and without an answer.")}}}, out, nil
}

// open returns a new session, or the stored session in the input. If another call has opened it,
// open returns an error.
func (w *works) open(ctx context.Context, peer *sdk.ServerSession, in promptInput, h *host) (*server.Session, error) {
	if in.Session == "" {
		cwd, err := folder(ctx, peer, in.Cwd)
		if err != nil {
			return nil, err
		}
		x, err := w.Service.NewSession(ctx, server.Place{Cwd: cwd, Preset: "acp", Editor: editorOf(peer)}, h)
		if err == nil {
			w.claim(x.ID())
		}
		return x, err
	}
	if !w.claim(in.Session) {
		return nil, fmt.Errorf("the session %q runs another prompt. Wait for its result", in.Session)
	}
	w.mu.Lock()
	maps.Copy(h.allowed, w.allowed[in.Session])
	w.mu.Unlock()
	x, err := w.load(ctx, peer, in.Session, h)
	if err != nil {
		w.release(in.Session)
	}
	return x, err
}

// load returns a stored session of the host's folders.
func (w *works) load(ctx context.Context, host *sdk.ServerSession, id string, h server.Host) (*server.Session, error) {
	head, err := w.Service.Store().Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, fmt.Errorf("there is no session %q; the tool sessions lists them", id)
	}
	if err != nil {
		return nil, err
	}
	if _, err := folder(ctx, host, head.Cwd); err != nil {
		return nil, fmt.Errorf("the session %q: %w", id, err)
	}
	return w.Service.LoadSession(ctx, id, server.Place{Editor: editorOf(host), Preset: "acp"}, h)
}

// claim reserves a session for a call, until release. If another call has it, claim returns false.
func (w *works) claim(id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[id] {
		return false
	}
	w.busy[id] = true
	return true
}

func (w *works) release(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.busy, id)
}

// close closes a session at the end of its call, so it can be opened elsewhere. Approvals for the
// session apply when a later call continues it.
func (w *works) close(ctx context.Context, x *server.Session, h *host) {
	defer w.release(x.ID())
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := w.Service.CloseSession(ctx, x.ID()); err != nil {
		w.Log.Warn("a session was not closed", "session", x.ID(), "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.allowed) > 0 {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.allowed[x.ID()] = maps.Clone(h.allowed)
	}
}

type sessionsInput struct {
	Query string `json:"query,omitempty" jsonschema:"words to search for in messages, titles and notes; empty: list the newest"`
	Cwd   string `json:"cwd,omitempty" jsonschema:"absolute path of the workspace folder; empty: the first root"`
	Limit int    `json:"limit,omitempty" jsonschema:"most sessions, up to 100; 0: 20"`
}

type sessionLine struct {
	Session string `json:"session"`
	Title   string `json:"title"`
	Cwd     string `json:"cwd"`
	Updated string `json:"updated"`
	Match   string `json:"match,omitempty"`
}

// mostHits limits the messages of a search. A session can have several.
const mostHits = 200

type sessionsOutput struct {
	Sessions []sessionLine `json:"sessions"`
}

func (w *works) sessions(ctx context.Context, req *sdk.CallToolRequest, in sessionsInput) (*sdk.CallToolResult, sessionsOutput, error) {
	out := sessionsOutput{Sessions: []sessionLine{}}
	cwd, err := folder(ctx, req.Session, in.Cwd)
	if err != nil {
		return nil, out, err
	}
	limit := in.Limit
	if limit <= 0 {
		limit = 20
	}
	limit = min(limit, 100)
	listed := map[string]bool{}
	add := func(s store.Session, match string) {
		if s.Origin == "" && s.Title != "" && len(out.Sessions) < limit && !listed[s.ID] {
			listed[s.ID] = true
			out.Sessions = append(out.Sessions, sessionLine{s.ID, s.Title, s.Cwd, s.UpdatedAt.Format(time.RFC3339), match})
		}
	}
	if in.Query != "" {
		hits, err := w.Service.Search(ctx, cwd, in.Query, mostHits)
		if err != nil {
			return nil, out, err
		}
		for _, h := range hits {
			add(h.Session, strings.NewReplacer(store.Mark, "", store.EndMark, "").Replace(h.Snippet))
		}
		return nil, out, nil
	}
	for cursor, first := "", true; first || cursor != "" && len(out.Sessions) < limit; first = false {
		page, next, err := w.Service.List(ctx, cwd, cursor)
		if err != nil {
			return nil, out, err
		}
		for _, s := range page {
			add(s, "")
		}
		cursor = next
	}
	return nil, out, nil
}

type task struct {
	Goal     string   `json:"goal" jsonschema:"what the subagent has to do"`
	Context  string   `json:"context,omitempty" jsonschema:"what the subagent has to know"`
	Toolsets []string `json:"toolsets,omitempty" jsonschema:"toolsets of the subagent; empty: the configured ones"`
}

type delegateInput struct {
	Tasks []task `json:"tasks" jsonschema:"at most 8 tasks"`
	Cwd   string `json:"cwd,omitempty" jsonschema:"absolute path of the workspace folder; empty: the first root"`
}

type report struct {
	Status  string `json:"status"`
	Summary string `json:"summary"`
	Error   string `json:"error,omitempty"`
}

type delegateOutput struct {
	Reports []report `json:"reports"`
	Notices []string `json:"notices,omitempty"`
}

const mostTasks = 8

func (w *works) delegate(ctx context.Context, req *sdk.CallToolRequest, in delegateInput) (*sdk.CallToolResult, delegateOutput, error) {
	out := delegateOutput{Reports: make([]report, len(in.Tasks))}
	if len(in.Tasks) == 0 || len(in.Tasks) > mostTasks || slices.ContainsFunc(in.Tasks, func(t task) bool { return strings.TrimSpace(t.Goal) == "" }) {
		return nil, out, fmt.Errorf("tasks needs 1 to %d tasks, each with a goal", mostTasks)
	}
	h := newHost(ctx, req)
	session, err := w.open(ctx, req.Session, promptInput{Cwd: in.Cwd}, h)
	if err != nil {
		return nil, out, err
	}
	defer w.close(ctx, session, h)
	if err := session.Begin(ctx); err != nil {
		return nil, out, err
	}
	ended := make(chan int)
	run := func(i int) {
		t := in.Tasks[i]
		r, err := server.Spawn(ctx, session, extension.Task{Goal: t.Goal, Context: t.Context, Toolsets: t.Toolsets})
		if err != nil {
			r = extension.Report{Status: "failed", Summary: "It was not started.", Error: err.Error()}
		}
		out.Reports[i] = report{r.Status, r.Summary, r.Error}
		ended <- i
	}
	settings := config.SectionOf[delegate.Settings](w.Service.Config([]string{session.Cwd()}), delegate.SectionName)
	width := max(settings.MaxConcurrentChildren, 1)
	next := 0
	for running := 0; next < len(in.Tasks) || running > 0; {
		if next < len(in.Tasks) && running < width {
			go run(next)
			next, running = next+1, running+1
			continue
		}
		<-ended
		running--
	}
	_, out.Notices = h.answer()
	return nil, out, nil
}

// folder returns the workspace folder of a call: a root of the host, or a directory below a root.
// If the host has no roots, the root is the working directory of hermes-ls.
func folder(ctx context.Context, host *sdk.ServerSession, cwd string) (string, error) {
	roots, err := rootsOf(ctx, host)
	if err != nil {
		return "", err
	}
	if len(roots) == 0 {
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		roots = []string{here}
	}
	if cwd == "" {
		return roots[0], nil
	}
	if !filepath.IsAbs(cwd) {
		return "", fmt.Errorf("cwd %q is not an absolute path", cwd)
	}
	whole, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return "", fmt.Errorf("cwd: %w", err)
	}
	for _, root := range roots {
		if real, err := filepath.EvalSymlinks(root); err == nil {
			if below, err := filepath.Rel(real, whole); err == nil && filepath.IsLocal(below) {
				return cwd, nil
			}
		}
	}
	return "", fmt.Errorf("cwd %q is outside of the folders of the host: %s", cwd, strings.Join(roots, ", "))
}

// rootsOf returns the folders of the host. If the host's roots are no folders, or if it does not
// name them, rootsOf returns an error. Otherwise the agent would work in a folder that the user has
// not opened.
func rootsOf(ctx context.Context, host *sdk.ServerSession) (folders []string, err error) {
	if p := host.InitializeParams(); p == nil || p.Capabilities == nil || p.Capabilities.RootsV2 == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	list, err := host.ListRoots(ctx, nil)
	var answer *jsonrpc.Error
	if errors.As(err, &answer) && answer.Code == jsonrpc.CodeMethodNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("the host does not name its folders: %w", err)
	}
	var others []string
	for _, r := range list.Roots {
		if u, err := url.Parse(r.URI); err == nil && u.Scheme == "file" && u.Path != "" {
			folders = append(folders, filepath.FromSlash(u.Path))
		} else {
			others = append(others, r.URI)
		}
	}
	if len(folders) == 0 && len(others) > 0 {
		return nil, fmt.Errorf("the roots of the host are no folders: %s", strings.Join(others, ", "))
	}
	return folders, nil
}

// schemaOf returns the schema of a type. Each value has a single type: some model APIs reject lists
// of types.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		panic(err) // a mistake in the program
	}
	withoutNull(s)
	return s
}

func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if types := slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" }); len(types) == 1 {
		s.Type, s.Types = types[0], nil
	}
	withoutNull(s.Items)
	for _, p := range s.Properties {
		withoutNull(p)
	}
}

// editorOf names the host to the model.
func editorOf(host *sdk.ServerSession) string {
	if p := host.InitializeParams(); p != nil && p.ClientInfo != nil {
		return strings.TrimSpace(cmp.Or(p.ClientInfo.Title, p.ClientInfo.Name) + " (MCP host)")
	}
	return ""
}
