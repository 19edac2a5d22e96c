package plugins

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/logfile"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
)

// Options are the parts of the program used by plugins.
type Options struct {
	Home string // $HERMES_HOME
	// Environ returns the environment of a plugin without the variables of its permissions.
	Environ func(ctx context.Context, roots []string) []string
	// Transcript writes the log of a session to a file and returns its path. It may be nil.
	Transcript func(ctx context.Context, sessionID string) (path string, err error)
	// StartLimit is the time limit of a plugin's initialize; 0: a minute. A plugin that does nothing
	// has 5 seconds.
	StartLimit time.Duration
}

// host runs the plugins of all sessions. Sessions in the same folders share a plugin's process.
type host struct {
	Options
	mu      sync.Mutex
	runners map[string]*runner
	told    map[string]bool // reported problems
}

// runner starts a plugin when it is needed, and again if it has ended.
type runner struct {
	Options
	listed   Listed
	settings any
	roots    []string
	getenv   func(name string) string
	log      *logfile.File
	watch    func(line string) // gets the lines of the log and all messages, too; nil: nothing does
	users    int               // sessions; guarded by the host's mu

	ctx     context.Context // ends with close, which a start does not delay
	cancel  context.CancelFunc
	turn    chan struct{} // has room for a single caller, which starts or ends the process
	process *process
	box     *sandbox.Box
	exits   []time.Time
	closed  bool
}

// acquire returns the runner of a plugin for sessions in the folders. The caller releases it.
func (h *host) acquire(l Listed, settings any, roots []string, getenv func(string) string) *runner {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := strings.Join(append([]string{l.Name, l.Grant.Sum}, roots...), "\x00")
	r := h.runners[key]
	if r == nil {
		r = newRunner(h.Options, l, settings, roots, getenv)
		h.runners[key] = r
	}
	r.users++
	return r
}

func newRunner(o Options, l Listed, settings any, roots []string, getenv func(string) string) *runner {
	ctx, cancel := context.WithCancel(context.Background())
	return &runner{
		ctx: ctx, cancel: cancel, Options: o, listed: l, settings: settings, roots: roots, getenv: getenv, turn: make(chan struct{}, 1),
		log: &logfile.File{Path: LogPath(o.Home, l.Name)},
	}
}

// LogPath returns the path of a plugin's log.
func LogPath(home, name string) string { return filepath.Join(home, "logs", "plugin-"+name+".log") }

// release drops a session's use of a runner. After the last use, it ends the process.
func (h *host) release(r *runner) {
	h.mu.Lock()
	r.users--
	last := r.users == 0
	if last {
		for key, other := range h.runners {
			if other == r {
				delete(h.runners, key)
			}
		}
	}
	h.mu.Unlock()
	if last {
		r.close()
	}
}

// once reports whether a text was not reported before.
func (h *host) once(text string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told[text] {
		return false
	}
	h.told[text] = true
	return true
}

var errClosed = errors.New("the session is closed")

// errOff is the error of a plugin that ended too often.
var errOff = errors.New("it exited three times and is off in this session")

// call sends a request to the plugin. It starts the process if it does not run.
func (r *runner) call(ctx context.Context, method string, params, result any, c *call) error {
	p, err := r.running(ctx)
	if err != nil {
		return err
	}
	return p.call(ctx, method, params, result, c)
}

// running returns the process.
func (r *runner) running(ctx context.Context) (*process, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(r.ctx, func() { cancel(errClosed) })()
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if r.closed {
		return nil, errClosed
	}
	if r.process != nil {
		if !r.process.Ended() && r.process.Fault() == nil {
			return r.process, nil
		}
		r.log.Write("it has ended: " + r.process.why(""))
		r.process.close()
		r.process = nil
		r.exits = append(r.exits, time.Now())
	}
	r.exits = slices.DeleteFunc(r.exits, func(t time.Time) bool { return time.Since(t) > exitWindow && len(r.exits) < mostExits })
	if len(r.exits) >= mostExits {
		return nil, errOff
	}
	p, err := r.start(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.exits = append(r.exits, time.Now())
			r.log.Write("it cannot start: " + err.Error())
		}
		return nil, err
	}
	r.process = p
	return p, nil
}

// start starts the process with the plugin's permissions.
func (r *runner) start(ctx context.Context) (*process, error) {
	p := r.listed.Plugin
	data := Data(r.Home, p.Name)
	env := r.environ(ctx, data)
	args, err := commandOf(p, func(name string) (string, error) { return program.FindIn(variable(env, "PATH"), name, r.roots) })
	if err != nil {
		return nil, err
	}
	cmd := proc.Cmd{Args: args, Dir: p.Dir, Env: program.Environ(env, r.roots)}
	if err := r.bind(ctx, &cmd); err != nil {
		return nil, err
	}
	log := r.log.Write
	if r.watch != nil {
		log = func(line string) { r.log.Write(line); r.watch(line) }
	}
	return start(ctx, p, cmd, cmp.Or(r.StartLimit, startLimit), initializing{protocolUsed, p.Dir, data, r.settings}, log, r.watch)
}

// confine bounds a program of the plugin by its permissions.
func (r *runner) confine(ctx context.Context, c *proc.Cmd) error {
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if r.closed {
		return errClosed
	}
	return r.bind(ctx, c)
}

// bind does the work of confine for the holder of turn.
func (r *runner) bind(ctx context.Context, c *proc.Cmd) error {
	if err := r.listed.unchanged(); err != nil {
		return err
	}
	data := Data(r.Home, r.listed.Name)
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	if r.box == nil {
		r.box = boxOf(r.Home, r.listed.Plugin, r.roots)
	}
	c.Together = true // a plugin's programs share its sandbox
	if err := r.box.Confine(ctx, c, data); err != nil {
		return fmt.Errorf("it cannot be bound by the sandbox: %w", err)
	}
	return nil
}

// environ returns the environment: the harmless variables, the user-granted variables, PLUGIN_ROOT
// and PLUGIN_DATA.
func (r *runner) environ(ctx context.Context, data string) []string {
	// Plugins of Hermes Agent keep their files below HERMES_HOME.
	more := []string{"PYTHONPYCACHEPREFIX=" + filepath.Join(data, "pycache"), "HERMES_HOME=" + data}
	return append(r.Environ(ctx, r.roots), variables(r.listed.Plugin, data, r.getenv, more)...)
}

func variable(env []string, name string) (value string) {
	for _, kv := range env {
		if n, v, _ := strings.Cut(kv, "="); strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

// boxOf returns the sandbox that enforces the permissions of a plugin. It is on for every value of
// sandbox.mode.
func boxOf(home string, p Plugin, roots []string) *sandbox.Box {
	c := sandbox.Config{
		Mode: sandbox.ReadOnly, Network: p.Permissions.Network, HermesHome: home, Visible: []string{p.Dir},
		Roots: func() []string { return roots },
	}
	switch p.Permissions.Files {
	case Write:
		c.Mode = sandbox.WorkspaceWrite
	case Read:
	default:
		c.Roots, c.Hide = func() []string { return []string{p.Dir} }, roots
	}
	return sandbox.New(c)
}

// NotEnforced returns a sentence for each permission not enforceable on this host.
func NotEnforced(ctx context.Context, p Plugin) []string {
	m := sandbox.Detect(ctx)
	if m.Kind == sandbox.None || m.Kind == sandbox.Unknown {
		return []string{"No sandbox works here, so nothing enforces the permissions: " + m.Reason}
	}
	mode := sandbox.ReadOnly
	if p.Permissions.Files == Write {
		mode = sandbox.WorkspaceWrite
	}
	return m.Gaps(sandbox.Policy{Mode: mode, Network: p.Permissions.Network})
}

// Initialize starts a plugin in the sandbox, without files of a workspace, and returns its offer.
func Initialize(ctx context.Context, o Options, p Plugin, settings any, getenv func(string) string) (Offer, error) {
	p.Permissions.Files = None
	r := newRunner(o, Listed{Plugin: p}, settings, nil, getenv)
	defer r.close()
	x, err := r.running(ctx)
	if err != nil {
		return Offer{}, err
	}
	return x.offer, checkOffer(x.offer)
}

// checkOffer returns an error if an offer cannot be used.
func checkOffer(o Offer) error {
	seen := map[string]bool{}
	for _, t := range o.Tools {
		switch {
		case !validTool.MatchString(t.Name):
			return fmt.Errorf("the tool name %q must have 1 to 64 letters, digits, dashes and underscores", t.Name)
		case seen[t.Name]:
			return fmt.Errorf("it has two tools named %s", t.Name)
		case len(t.Parameters) > 64<<10:
			return fmt.Errorf("the parameters of the tool %s take %d bytes", t.Name, len(t.Parameters))
		}
		if _, err := parametersOf(t); err != nil {
			return fmt.Errorf("the tool %s: %w", t.Name, err)
		}
		seen[t.Name] = true
	}
	for _, c := range o.Commands {
		if !validTool.MatchString(c.Name) {
			return fmt.Errorf("the command name %q must have 1 to 64 letters, digits, dashes and underscores", c.Name)
		}
	}
	return nil
}

// close ends the process.
func (r *runner) close() {
	r.cancel()
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	r.closed = true
	if r.process != nil {
		r.process.close()
		r.process = nil
	}
	r.box.Close()
	r.log.Close()
}

// parametersOf returns the schema of a tool's arguments.
func parametersOf(t ToolOffer) (json.RawMessage, error) {
	object := map[string]any{}
	if len(t.Parameters) > 0 {
		if err := json.Unmarshal(t.Parameters, &object); err != nil {
			return nil, fmt.Errorf("its parameters are not a JSON schema: %w", err)
		}
	}
	if object == nil { // null
		object = map[string]any{}
	}
	if object["type"] == nil {
		object["type"] = "object"
	}
	if object["properties"] == nil {
		object["properties"] = map[string]any{}
	}
	if object["type"] != "object" {
		return nil, errors.New("its parameters are not an object")
	}
	return json.Marshal(object)
}
