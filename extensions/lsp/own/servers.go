// Package own starts and queries language servers for a session. It finds the programs on PATH
// outside of the workspace and never installs any. A server starts with the first question about a
// file of its language, in the session's sandbox. It ends with the session, when idle, or if its
// processes need too much memory.
//
// A server gets the texts of unsaved buffers. It cannot change anything: its edits are results,
// which the caller applies. All methods are safe for concurrent use.
package own

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/extensions/lsp/message"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Config holds the parts of a session needed by its servers.
type Config struct {
	Limits  func() Limits
	Folders func() []string
	// Files provides the texts. Its reads must not count as reads of the model.
	Files tools.Files
	// Confine bounds a server by the sandbox. If it fails, the server is not started. A bounded
	// server cannot write in the workspace. It writes only to own, the server's folder.
	Confine func(ctx context.Context, c *proc.Cmd, name string) (own string, err error)
	Environ []string        // of the servers, without secrets
	Path    userpath.Finder // their PATH; nil: Environ's PATH
	// Interpreter returns the Python of the project, or "". It may be nil.
	Interpreter func(ctx context.Context) string
	Log         func(server, line string)
	// Notify shows a text to the user. It may be nil.
	Notify func(text string)
}

// Limits are settings of the servers.
type Limits struct {
	Idle     time.Duration // after the last question; 0: none
	Wait     time.Duration // for an answer
	MemoryMB int           // of a server's whole process tree; 0: none
	Servers  map[string]Custom
}

// Servers are the language servers of a session.
type Servers struct {
	config Config
	ctx    context.Context // of starts, which outlive the calls that caused them
	stop   context.CancelFunc
	tasks  sync.WaitGroup

	notWatched sync.Once // the user was notified that changes on disk are not watched

	mu         sync.Mutex
	running    map[key]*server
	exits      map[string]int
	off        map[string]error // disabled servers, with the reason
	known      map[string]string
	lastPython string
}

type key struct{ name, root string }

// mostExits limits the unexpected exits of a server in a session. Then it stays off.
const mostExits = 3

// New returns the servers of a session. It starts and reads nothing.
func New(c Config) *Servers {
	ctx, stop := context.WithCancel(context.Background())
	return &Servers{config: c, ctx: ctx, stop: stop, running: map[key]*server{}, exits: map[string]int{}, off: map[string]error{}, known: map[string]string{}}
}

// Answer is the answer of a server.
type Answer struct {
	Server string
	Result json.RawMessage // nil: it has not answered in time
	// Complete is false if the server has not answered in time, or still loads the project.
	Complete bool
}

// NoServer means that there is no server for a file.
type NoServer struct {
	Language string // of the file; empty: unknown
	Ext      string // of the file
	Install  string // name of a server for the user to install
}

func (e *NoServer) Error() string {
	switch {
	case e.Language != "":
		return fmt.Sprintf("No language server for %s files", e.Language)
	case e.Ext != "":
		return fmt.Sprintf("No language server for %s files", e.Ext)
	}
	return "No language server for this file"
}

// Missing returns the NoServer of a file whose language has no server.
func Missing(file string) *NoServer {
	missing := &NoServer{Ext: filepath.Ext(file)}
	for _, x := range slices.Backward(builtIn) {
		if x.extensions[missing.Ext] != "" {
			missing.add(x)
		}
	}
	return missing
}

// add records a server for the user to install. The last recorded server stays; for Python, pyright
// replaces it as the best known.
func (e *NoServer) add(x spec) {
	e.Language, e.Install = x.language, x.name
	if x.language == "Python" {
		e.Install = "pyright"
	}
}

// Any reports whether there is a server for any language. It looks only at PATH.
func (s *Servers) Any(ctx context.Context) bool {
	any := func(environ []string) bool {
		return slices.ContainsFunc(specs(s.config.Limits().Servers), func(x spec) bool { return s.locate(x, environ) != "" })
	}
	return any(s.environ(ended())) || any(s.environ(ctx))
}

// ended returns a context with which nothing is waited for.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// environ returns the environment of servers. It can wait for the user's login shell.
func (s *Servers) environ(ctx context.Context) []string {
	return s.config.Path.Environ(ctx, s.config.Environ)
}

// locate returns the program of a server; empty: there is none. It is looked up once for each PATH.
func (s *Servers) locate(x spec, environ []string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := pathOf(environ)
	at := x.name + "\x00" + in
	path, ok := s.known[at]
	if !ok {
		path, _ = x.locate(in, s.config.Folders())
		s.known[at] = path
	}
	return path
}

func pathOf(environ []string) string {
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			return value
		}
	}
	return ""
}

// choose returns the server for a file.
func (s *Servers) choose(file string, environ []string) (spec, string, error) {
	ext := filepath.Ext(file)
	missing := &NoServer{Ext: ext}
	for _, x := range specs(s.config.Limits().Servers) {
		if x.extensions[ext] == "" {
			continue
		}
		if path := s.locate(x, environ); path != "" {
			return x, path, nil
		}
		missing.add(x)
	}
	return spec{}, "", missing
}

// Extensions returns the file extensions of each installed server, without the dot.
func (s *Servers) Extensions(ctx context.Context) (all [][]string) {
	environ := s.environ(ctx)
	taken := map[string]bool{}
	for _, x := range specs(s.config.Limits().Servers) {
		if s.locate(x, environ) == "" {
			continue
		}
		var own []string
		for _, e := range slices.Sorted(maps.Keys(x.extensions)) {
			if !taken[e] {
				taken[e] = true
				own = append(own, strings.TrimPrefix(e, "."))
			}
		}
		if len(own) > 0 {
			all = append(all, own)
		}
	}
	return all
}

// Has reports whether a server for a file runs.
func (s *Servers) Has(file string) bool {
	x, _, err := s.choose(file, s.environ(ended()))
	if err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	server := s.running[key{x.name, x.root(file, s.config.Folders())}]
	return server != nil && server.isReady()
}

// AnyRuns reports whether a server runs.
func (s *Servers) AnyRuns() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.running) > 0
}

func (x *server) isReady() bool {
	select {
	case <-x.ready:
		return x.err == nil
	default:
		return false
	}
}

// get returns the server for a file, which it starts if it does not run. If ctx ends before
// the server is ready, the server still starts, and get returns it with the error of ctx.
func (s *Servers) get(ctx context.Context, file string) (*server, error) {
	spec, path, err := s.choose(file, s.environ(ctx))
	if err != nil {
		return nil, err
	}
	x, err := s.begin(spec, path, spec.root(file, s.config.Folders()))
	if err != nil {
		return nil, err
	}
	select {
	case <-x.ready:
		return x, x.err
	case <-ctx.Done():
		return x, ctx.Err()
	}
}

// begin returns the running server of a project, or starts a server.
func (s *Servers) begin(spec spec, path, root string) (*server, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.off[spec.name]; err != nil {
		return nil, err
	}
	if s.ctx.Err() != nil {
		return nil, errors.New("the session is closed")
	}
	k := key{spec.name, root}
	if x := s.running[k]; x != nil {
		return x, nil
	}
	x := &server{
		spec: spec, folder: root, owner: s, ready: make(chan struct{}), working: map[string]bool{}, problems: map[string]published{},
		docs: documents{open: map[string]*document{}},
	}
	s.running[k] = x
	s.tasks.Go(func() { x.start(s.ctx, path) })
	return x, nil
}

// ended removes an ended server. If it exited unexpectedly too often, or was ended because of its
// memory, it stays off.
func (s *Servers) ended(x *server, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k := (key{x.spec.name, x.folder}); s.running[k] == x {
		delete(s.running, k)
	} else {
		return // it was retired
	}
	x.mu.Lock()
	closed := x.closed && x.isReady()
	x.mu.Unlock()
	if closed || s.ctx.Err() != nil {
		return
	}
	s.config.Log(x.spec.name, why.Error())
	if memory := (errMemory{}); errors.As(why, &memory) {
		s.off[x.spec.name] = why
	} else if s.exits[x.spec.name]++; s.exits[x.spec.name] >= mostExits {
		s.off[x.spec.name] = fmt.Errorf("%w. It has failed %d times and stays off in this session", why, mostExits)
	}
}

// retire ends an idle server.
func (s *Servers) retire(x *server) {
	s.mu.Lock()
	x.mu.Lock()
	busy := x.asked > 0 || x.closed
	x.mu.Unlock()
	if busy || s.ctx.Err() != nil {
		s.mu.Unlock()
		return
	}
	delete(s.running, key{x.spec.name, x.folder})
	s.tasks.Add(1)
	s.mu.Unlock()
	defer s.tasks.Done()
	x.stop()
}

// Close ends all servers, and returns when they have ended.
func (s *Servers) Close() {
	s.mu.Lock()
	s.stop()
	var all []*server
	for _, x := range s.running {
		all = append(all, x)
	}
	s.mu.Unlock()
	var ending sync.WaitGroup
	for _, x := range all {
		ending.Go(func() {
			<-x.ready // the start has ended with ctx
			x.stop()
		})
	}
	ending.Wait()
	s.tasks.Wait()
}

// python returns the interpreter last passed to servers.
func (s *Servers) python() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastPython
}

func (s *Servers) setPython(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastPython = path
}

// loadingPart is the part of the time limit reserved for loading the project. Then the server is
// asked anyway.
const loadingPart = 0.6

// Ask asks the server of a file. If there is none, the error is a [*NoServer]. params are sent as
// they are.
func (s *Servers) Ask(ctx context.Context, file, method string, params any) (Answer, error) {
	ctx, stop := context.WithTimeout(ctx, s.config.Limits().Wait)
	defer stop()
	x, err := s.get(ctx, file)
	if err != nil {
		return s.late(ctx, x, err)
	}
	x.begin()
	defer x.end()
	return x.ask(ctx, file, method, params)
}

// late returns the answer of a server that is not ready yet.
func (s *Servers) late(ctx context.Context, x *server, err error) (Answer, error) {
	if x == nil || !errors.Is(ctx.Err(), context.DeadlineExceeded) || !errors.Is(err, ctx.Err()) {
		return Answer{}, err
	}
	return Answer{Server: x.spec.name}, nil
}

func (x *server) ask(ctx context.Context, file, method string, params any) (Answer, error) {
	if _, err := x.synchronize(ctx, file); err != nil {
		return Answer{}, err
	}
	loading, stop := context.WithTimeout(ctx, time.Duration(float64(x.owner.config.Limits().Wait)*loadingPart))
	x.loaded(loading)
	stop()
	result, err := x.call(ctx, method, params)
	x.answered(err, ctx.Err())
	if err != nil {
		return x.owner.late(ctx, x, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return Answer{x.spec.name, result, !x.loading()}, nil
}

// Resolve completes a code action of the server of a file. If the server cannot, it returns the action.
func (s *Servers) Resolve(ctx context.Context, file string, action any) (Answer, error) {
	ctx, stop := context.WithTimeout(ctx, s.config.Limits().Wait)
	defer stop()
	x, err := s.get(ctx, file)
	if err != nil {
		return Answer{}, err
	}
	x.begin()
	defer x.end()
	result, err := x.call(ctx, "codeAction/resolve", action)
	return Answer{x.spec.name, result, err == nil}, err
}

// mostMissed is how many calls in a row a server may leave without an answer. Then it is ended, and
// the next call starts it again.
const mostMissed = 3

// answered records whether a call was answered. While a server loads its project, slow answers are
// allowed.
func (x *server) answered(err, late error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err == nil || late == nil:
		x.missed = 0
	case errors.Is(late, context.DeadlineExceeded) && !x.loading():
		if x.missed++; x.missed == mostMissed {
			x.said = fmt.Sprintf("it did not answer %d calls", mostMissed)
			go x.process.Stop(grace) // ends with the process
		}
	}
}

// settled is the silence after which diagnostics are complete, for servers that omit versions or
// publish again.
const settled = 200 * time.Millisecond

// Problems returns the current diagnostics of a file. It waits for the server at most until ctx
// ends. If start is false, only a running server is asked.
func (s *Servers) Problems(ctx context.Context, file string, start bool) (list []message.Diagnostic, answer Answer, err error) {
	if !start && !s.Has(file) {
		return nil, answer, &NoServer{}
	}
	x, err := s.get(ctx, file)
	if err != nil {
		answer, err = s.late(ctx, x, err)
		return nil, answer, err
	}
	x.begin()
	defer x.end()
	doc, err := x.synchronize(ctx, file)
	if err != nil {
		return nil, answer, err
	}
	complete := x.published(ctx, file, doc)
	select {
	case <-x.process.Done():
		return nil, answer, x.why()
	default:
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.problems[file].list, Answer{Server: x.spec.name, Complete: complete && !x.loading()}, nil
}

// Compared are the diagnostics of a file before and after an edit.
type Compared struct {
	Before, After []message.Diagnostic
	Known         bool // Before holds the diagnostics before the edit
}

// mostBefore is the part of the time limit for the diagnostics before an edit.
const mostBefore = 0.5

// Compare returns the diagnostics of a file before an edit, with its text old, and now. If old is nil, it
// returns only the current diagnostics. Compare waits until ctx ends, also for the load of a project. If
// start is false, it asks only a running server.
func (s *Servers) Compare(ctx context.Context, file string, old []byte, start bool) (c Compared, err error) {
	if !start && !s.Has(file) {
		return c, &NoServer{}
	}
	x, err := s.get(ctx, file)
	if err != nil {
		return c, err
	}
	x.begin()
	defer x.end()
	if old != nil {
		note, err := x.earlier(ctx, file, old)
		if err != nil {
			return c, err
		}
		defer func() { // it may have come after the edit
			x.mu.Lock()
			defer x.mu.Unlock()
			c.Before, c.Known = note.list, note.came
			delete(x.notes, note)
		}()
	}
	doc, err := x.synchronize(ctx, file)
	if err != nil {
		return c, err
	}
	if !x.published(ctx, file, doc) || !x.loaded(ctx) {
		return c, fmt.Errorf("%s has not answered in time", x.spec.name)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	c.After = x.problems[file].list
	return c, nil
}

// note keeps the diagnostics of a version of a document, until the end of a call.
type note struct {
	path    string
	version int32
	came    bool
	list    []message.Diagnostic
}

// earlier sends an earlier text of a file to the server and waits a part of the limit for its diagnostics.
// The caller removes the note.
func (x *server) earlier(ctx context.Context, file string, text []byte) (*note, error) {
	doc, release, err := x.hold(ctx, file, text)
	if err != nil {
		return nil, err
	}
	defer release()
	n := &note{path: file, version: doc.version}
	x.mu.Lock()
	if x.notes == nil {
		x.notes = map[*note]bool{}
	}
	x.notes[n] = true
	if last := x.problems[file]; last.version != nil && *last.version == n.version {
		n.came, n.list = !x.loading(), last.list
	}
	limit := time.Duration(float64(x.owner.config.Limits().Wait) * mostBefore)
	if x.silent {
		limit = settled
	}
	x.mu.Unlock()
	limited, stop := context.WithTimeout(ctx, limit)
	defer stop()
	came := x.published(limited, file, doc) && x.loaded(limited)
	x.mu.Lock()
	defer x.mu.Unlock()
	last := x.problems[file]
	switch {
	case came && (last.version == nil || *last.version == n.version):
		n.came, n.list, x.silent = true, last.list, false
	case ctx.Err() == nil && !x.loading():
		x.silent = true
	}
	return n, nil
}

// published waits for the diagnostics of a version of a document.
func (x *server) published(ctx context.Context, file string, doc document) bool {
	var last published
	news := func() bool {
		last = x.problems[file]
		return last.version != nil && *last.version >= doc.version || last.version == nil && last.number > doc.number
	}
	if !x.wait(ctx, news) {
		return false
	}
	for last.version == nil || x.spec.repeats { // until a while without news
		number := last.number
		quiet, stop := context.WithTimeout(ctx, settled)
		more := x.wait(quiet, func() bool { last = x.problems[file]; return last.number > number })
		stop()
		if !more {
			return true
		}
	}
	return true
}

// All returns the diagnostics published by the running servers, by file.
func (s *Servers) All() (all map[string][]message.Diagnostic, names []string) {
	s.mu.Lock()
	running := make([]*server, 0, len(s.running))
	for _, x := range s.running {
		running = append(running, x)
	}
	s.mu.Unlock()
	all = map[string][]message.Diagnostic{}
	for _, x := range running {
		x.mu.Lock()
		for path, p := range x.problems {
			all[path] = append(all[path], p.list...)
		}
		x.mu.Unlock()
		if !slices.Contains(names, x.spec.name) {
			names = append(names, x.spec.name)
		}
	}
	slices.Sort(names)
	return all, names
}

// Stale reports whether a file has changed since its server got it, or whether an edit of the
// server is for an earlier version. version is the edit's; nil or 0: unknown.
func (s *Servers) Stale(file string, text []byte, version *int32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.running {
		if !x.isReady() || x.spec.extensions[filepath.Ext(file)] == "" {
			continue
		}
		x.docs.mu.Lock()
		doc := x.docs.open[file]
		x.docs.mu.Unlock()
		if doc != nil && (!bytes.Equal(doc.text, text) || version != nil && *version > 0 && *version != doc.version) || doc == nil && x.changes != nil && x.changes.has(file) {
			return true
		}
	}
	return false
}

// OutOfMemory reports whether err means that a server was stopped because of its memory.
func OutOfMemory(err error) bool {
	memory := errMemory{}
	return errors.As(err, &memory)
}

// unwatched reports once that a server does not get all changes on disk.
func (s *Servers) unwatched(server string, err error) {
	s.config.Log(server, "not all changes on disk are watched: "+err.Error())
	if s.config.Notify == nil {
		return
	}
	s.notWatched.Do(func() {
		s.config.Notify(fmt.Sprintf("Language servers do not hear of all changes that other programs make: %v. If the system watches no more files, close programs "+
			"that watch many, or raise fs.inotify.max_user_instances and fs.inotify.max_user_watches with sysctl.", err))
	})
}
