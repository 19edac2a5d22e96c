package delegate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Runner says where subagents work. What bounds, watches and reports them is the
// same wherever that is.
type Runner interface {
	// Open readies a worker for t, with no more than env lends.
	Open(ctx context.Context, env *tools.Env, t *Task) (Worker, error)
}

// Worker is one subagent at work. *[agent.Session] is most of one.
type Worker interface {
	// Turn and Steer are as in [agent.Session].
	Turn(ctx context.Context, in agent.Input, sink agent.Sink) (agent.StopReason, error)
	Steer(text string) bool
	// Close ends the work, also after ctx has ended, and merges the worktree. If complete is
	// false, it saves the changed files as conflicts. Without a worktree it returns nil.
	Close(ctx context.Context, complete bool) (*worktree.Merge, error)
}

// local runs subagents as sessions of this process.
type local struct{ *Children }

type worker struct {
	*agent.Session
	files    tools.Files
	children *Children      // its own subagents; nil: it may have none
	extended *extension.Set // its extensions
	leave    func()         // takes children off their parent's
	worktree *worktree.Tree // nil: it works in the workspace of its parent
	box      *sandbox.Box   // bounds commands in the worktree; nil: it has none
}

func (l local) Open(ctx context.Context, env *tools.Env, t *Task) (_ Worker, err error) {
	m, err := l.Config.Model(ctx, t.Route)
	if err != nil {
		return nil, err
	}
	set, err := l.toolsFor(env, t)
	if err != nil {
		return nil, err
	}
	w := &worker{}
	defer func() {
		if err != nil {
			w.cleanup(context.WithoutCancel(ctx))
		}
	}()
	if err := w.enter(ctx, env, t, l.Store.Path()); err != nil {
		return nil, err
	}
	_, deeper := set.Get(ToolName)
	if set, err = w.extend(ctx, l.Children, t, set); err != nil {
		return nil, err
	}
	lent := w.lend(env, t)
	if deeper {
		if set, err = w.deepen(l.Children, t, set); err != nil {
			return nil, err
		}
	}
	c := agent.Config{
		Head: store.Session{ID: t.ID}, Model: m, Store: l.Store, Tools: set, Env: lent,
		MaxIterations: t.Iterations, Window: m.Window, Log: l.Log, Notices: w.notices(),
	}
	if t.message != "" {
		w.Session, err = agent.Load(ctx, c)
	} else {
		if c.Head, err = l.head(ctx, t, set, w, lent); err != nil {
			return nil, err
		}
		w.Session, err = agent.New(ctx, c)
	}
	if err != nil {
		return nil, fmt.Errorf("beginning the subagent's session: %w", err)
	}
	if w.children != nil {
		w.children.Lend(lent)
	}
	return w, nil
}

// enter opens the place of work.
func (w *worker) enter(ctx context.Context, env *tools.Env, t *Task, storePath string) (err error) {
	if env.Files == nil {
		return fmt.Errorf("this session has no workspace")
	}
	if t.Isolation == "" {
		w.files, err = tools.ForkFiles(env.Files)
		return err
	}
	local := tools.Local(env.Files)
	w.worktree, err = worktree.New(ctx, worktree.Config{
		ID: t.ID, Task: t.Goal + " " + t.Context, Files: local, Sandbox: env.Sandbox, Output: env.OutputDir,
		Records: worktree.RecordsOf(storePath), Allow: mergeGate(env, t),
	})
	if err != nil {
		return err
	}
	files, err := local.ForkIn(w.worktree.Workspace())
	if err == nil {
		w.files = files
	}
	return err
}

// mergeGate returns a function that asks the gate for a merge, in the subagent's name.
func mergeGate(env *tools.Env, t *Task) func(ctx context.Context, path string) error {
	own := *env
	own.Owner, own.SessionID, own.For = cmp.Or(env.Owner, env.SessionID), t.ID, headline(t.Goal, 200)
	return func(ctx context.Context, path string) error {
		return tools.MayWrite(ctx, &own, tools.Call{ID: "merge", Name: ToolName}, "merge ", path)
	}
}

// notices returns a function for the notices of the subagent's extensions.
func (w *worker) notices() func() []string {
	extended := w.extended
	return func() []string { return extended.Notices(context.Background(), extension.WithRequest) }
}

// extend opens the subagent's extensions. Each tool of an extension is replaced by that
// of the derived instance. If that has no such tool, the subagent has none.
func (w *worker) extend(ctx context.Context, parent *Children, t *Task, set *tools.Set) (*tools.Set, error) {
	extended, err := parent.Extensions().Derive(ctx, extension.Subagent, func(name string) *extension.Session {
		return &extension.Session{
			ID: t.ID, Name: name, Kind: extension.Subagent, Cwd: parent.Cwd, Folders: w.files.Folders, Files: w.files, Editor: w.files,
			State: parent.Store.State(t.ID, name),
		}
	})
	if err != nil {
		parent.Log.Warn("a subagent works without an extension", "session", t.ID, "error", err)
	}
	w.extended = extended
	derived, err := extended.Tools(ctx, nil)
	if err != nil {
		return nil, err
	}
	set, err = set.Replace(derived)
	if err == nil {
		set.Events = extended.Events()
	}
	return set, err
}

// deepen gives the subagent subagents of its own.
func (w *worker) deepen(parent *Children, t *Task, set *tools.Set) (*tools.Set, error) {
	c := parent.Config
	c.Depth += t.below + 1
	extended := w.extended
	c.Sink, c.Ended, c.Runner, c.Extensions = parent, nil, nil, func() *extension.Set { return extended }
	w.children = New(c)
	w.leave = parent.enter(w.children)
	tool := w.children.Tool()
	set = set.Where(func(t tools.Tool) bool { return t.Name != ToolName })
	return set, set.Add(tool)
}

// lend is what the subagent's tools work with: the parent's gate, and else things
// of its own.
func (w *worker) lend(env *tools.Env, t *Task) *tools.Env {
	lent := *env
	lent.SessionID, lent.Files, lent.Todos, lent.Recall = t.ID, w.files, tools.NewTodos(), tools.NewRecall()
	lent.Terminals, lent.Progress, lent.Offered, lent.Sees = nil, nil, nil, nil
	lent.For = headline(t.Goal, 200)
	if lent.Owner == "" {
		lent.Owner = env.SessionID
	}
	if env.Shell != nil {
		lent.Shell = env.Shell.Fresh(w.files.Folders()[0])
	}
	lent.Processes, lent.Recall.OnForget = nil, w.extended.Forget
	if own, ok := extension.Find[interface{ Background() *tools.Processes }](w.extended); ok {
		lent.Processes = own.Background()
	}
	if w.worktree != nil {
		lent.Diagnoser = nil // the editor does not know the files there
		w.box = w.worktree.Box()
		lent.Sandbox = w.box
	}
	if env.OutputDir != "" {
		lent.OutputDir = filepath.Join(filepath.Dir(env.OutputDir), t.ID)
	}
	return &lent
}

// head is a new session's.
func (l local) head(ctx context.Context, t *Task, set *tools.Set, w *worker, env *tools.Env) (store.Session, error) {
	kept, err := json.Marshal(origin{Task: *t})
	if err != nil {
		return store.Session{}, fmt.Errorf("keeping the task: %w", err)
	}
	head := store.Session{ID: t.ID, Cwd: l.Cwd, Parent: t.Parent, Model: t.Model, Origin: string(kept), Tools: []model.Tool{}}
	place := prompt.Config{Folders: w.files.Folders(), OS: runtime.GOOS, Date: time.Now(), Host: l.Host}
	if head.Cwd == "" {
		head.Cwd = place.Folders[0]
	}
	for _, spec := range set.Specs(ctx) {
		head.Tools = append(head.Tools, model.Tool(spec))
		place.Tools = append(place.Tools, spec.Name)
	}
	if env.Shell != nil {
		place.Shell = env.Shell.Name()
	}
	_, err = os.Lstat(filepath.Join(place.Folders[0], ".git"))
	place.Git = err == nil
	place.Sections = w.extended.Sections(ctx)
	task := prompt.Task{Goal: t.Goal, Context: t.Context}
	if len(t.Schema) > 0 {
		schema, err := json.Marshal(t.Schema)
		if err != nil {
			return head, fmt.Errorf("keeping the answer's schema: %w", err)
		}
		task.Answer = string(schema)
	}
	head.System = prompt.Child(place, task)
	return head, nil
}

// Close lets go of everything, after what was kept apart has been brought back.
func (w *worker) Close(ctx context.Context, complete bool) (*worktree.Merge, error) {
	var merge *worktree.Merge
	var err error
	w.stop(ctx) // a process in the background could still write what is brought back
	if w.worktree != nil {
		merge, err = w.worktree.Merge(ctx, complete)
	}
	w.cleanup(ctx)
	return merge, err
}

// stop ends what still runs of the worker.
func (w *worker) stop(ctx context.Context) {
	if w.children != nil {
		_ = w.children.Close(context.WithoutCancel(ctx)) // ends only when they have
		w.leave()
		w.children = nil
	}
	if w.extended != nil {
		_ = w.extended.Close(context.WithoutCancel(ctx)) // ends only when its processes have
		w.extended = nil
	}
}

func (w *worker) cleanup(ctx context.Context) {
	w.stop(ctx)
	if w.files != nil {
		_ = w.files.Close() // only held for reading names
	}
	w.box.Close()
	if w.worktree != nil {
		w.worktree.Remove()
	}
}
