package delegate

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/builder"
	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// Runner opens the workers of subagents. Limits, progress and results are the same for all
// runners.
type Runner interface {
	// Open opens a worker for t, with no more rights than env has.
	Open(ctx context.Context, env *tools.Env, t *Task) (Worker, error)
}

// Worker is a running subagent. *[agent.Session] implements most of its methods.
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
	bounds   tools.Bounds // of its calls
	plan     *tools.Plan
	children *Children      // its own subagents; nil: it may not delegate
	extended *extension.Set // its extensions
	leave    func()         // removes children from their parent
	worktree *worktree.Tree // nil: it works in the workspace of its parent
	box      *sandbox.Box   // bounds commands in the worktree; nil: no worktree
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
	w := &worker{plan: tools.NewPlan()}
	defer func() {
		if err != nil {
			w.cleanup(context.WithoutCancel(ctx))
		}
	}()
	if err := w.enter(ctx, l.Children, env, t); err != nil {
		return nil, err
	}
	w.bound(l.Bounds)
	w.derive(ctx, l.Children, env, t)
	if _, deeper := set.Get(ToolName); deeper {
		w.addSubagents(l.Children, t)
	}
	own := w.childEnv(env, t)
	lifetime := context.WithoutCancel(ctx)
	own.Reader.Sees = func() bool { return m.Sees != nil && m.Sees(lifetime) }
	plan := builder.Plan{
		Kind: extension.Subagent, Stored: t.message != "", Extensions: w.extended, Lifetime: lifetime,
		Agent: agent.Config{
			Head: store.Session{ID: t.ID}, Model: m, Store: l.Store, Env: own, Files: w.files, Plan: w.plan,
			MaxIterations: t.Iterations, Window: m.Window, Log: l.Log, Describe: l.Describe,
		},
		Tools: func(ctx context.Context, _ []tools.Spec) (_ *tools.Set, err error) {
			own.Dispatch.Set, err = w.tools(ctx, set)
			return own.Dispatch.Set, err
		},
	}
	if !plan.Stored {
		if plan.Agent.Head, plan.Prompt, err = l.newHead(t, w.files.Folders(), own); err != nil {
			return nil, err
		}
	}
	if w.Session, err = builder.Open(ctx, plan); err != nil {
		return nil, fmt.Errorf("opening the subagent's session: %w", err)
	}
	if w.children != nil {
		w.children.SetEnv(own)
	}
	return w, nil
}

// enter opens the files of the subagent.
func (w *worker) enter(ctx context.Context, parent *Children, env *tools.Env, t *Task) (err error) {
	files := parent.Bounds.Files
	if files == nil {
		return fmt.Errorf("this session has no workspace")
	}
	if t.Isolation == "" {
		w.files, err = tools.ForkFiles(files)
		return err
	}
	if env.Planning || env.Gate != nil && env.Gate.Planning() {
		return tools.Rejected("makes a worktree (isolation)")
	}
	local := tools.Local(files)
	w.worktree, err = worktree.New(ctx, worktree.Config{
		ID: t.ID, Task: t.Goal + " " + t.Context, Files: local, Sandbox: parent.Bounds.Sandbox, Output: env.OutputDir,
		Records: worktree.RecordsOf(parent.Store.Path()), Allow: mergeGate(env, parent.Bounds, t),
	})
	if err != nil {
		return err
	}
	own, err := local.ForkIn(w.worktree.Workspace())
	if err == nil {
		own.Wrote = gate.Noted(w.worktree.Box())
		w.files = own
	}
	return err
}

// mergeGate returns a function to request approval for a merge, in the subagent's name.
func mergeGate(env *tools.Env, bounds tools.Bounds, t *Task) func(context.Context, worktree.Change) error {
	own := *env
	own.SessionID, own.Gate = t.ID, gateOf(env, t)
	return func(ctx context.Context, c worktree.Change) error {
		merged := func(context.Context) ([]*workspace.Written, error) {
			return []*workspace.Written{{Path: c.Path, Name: bounds.Files.Name(c.Path), Old: c.Old, New: c.New, Created: c.Old == nil}}, nil
		}
		call := tools.Call{ID: "merge", Name: ToolName}
		return gate.CheckEdit(ctx, &own, bounds, call, []gate.Change{{Doing: "merge ", Path: c.Path}}, merged)
	}
}

// gateOf returns the subagent's gate. It asks the parent's user.
func gateOf(env *tools.Env, t *Task) tools.Approver {
	if env.Gate == nil {
		return nil
	}
	return env.Gate.ForSubagent(env.SessionID, headline(t.Goal, 200))
}

// bound sets the limits of the subagent's calls: its parent's limits, with its own files.
func (w *worker) bound(parent tools.Bounds) {
	w.bounds = parent
	w.bounds.Files = w.files
	if w.worktree != nil {
		w.box = w.worktree.Box()
		w.bounds.Sandbox = w.box
	}
}

// derive opens the subagent's extensions. See [extension.Set.Derive] for their rights.
func (w *worker) derive(ctx context.Context, parent *Children, env *tools.Env, t *Task) {
	box := w.bounds.Sandbox
	extended, err := parent.Extensions().Derive(ctx, extension.Subagent, extension.Own{
		ID: t.ID, Folders: w.files.Folders, Files: w.files, Editor: w.files, Bounds: w.bounds, Plan: w.plan,
		Confine: func(ctx context.Context, c *proc.Cmd) error { return gate.BoxOf(box, env.Gate).Confine(ctx, c) },
		ConfineReader: func(ctx context.Context, c *proc.Cmd, name string) (string, error) {
			return gate.BoxOf(box, env.Gate).ConfineReader(ctx, c, name)
		},
		Watch: func(begin context.Context, by string) (extension.Watched, error) {
			own := &tools.Env{SessionID: t.ID, Gate: gateOf(env, t)}
			return builder.Watched(gate.Stand(begin, ctx, own, box, w.bounds.Secrets.Hide, by))
		},
		Ask:   builder.Asker{Gate: gateOf(env, t), ID: t.ID},
		State: func(name string) extension.State { return parent.Store.State(t.ID, name) },
		Spawn: func(ctx context.Context, task extension.Task) (extension.Report, error) {
			if w.children == nil {
				return extension.Report{}, errTooDeep
			}
			return spawn(ctx, w.children, task)
		},
	})
	if err != nil {
		parent.Log.Warn("a subagent works without an extension", "session", t.ID, "error", err)
	}
	w.extended = extended
}

// tools returns the subagent's tools. Each extension tool in set is replaced by the derived
// instance's tool. If there is none, the tool is dropped.
func (w *worker) tools(ctx context.Context, set *tools.Set) (*tools.Set, error) {
	derived, err := w.extended.Tools(ctx, nil)
	if err != nil {
		return nil, err
	}
	if set, err = set.Replace(derived); err != nil || w.children == nil {
		return set, err
	}
	set = set.Where(func(t tools.Tool) bool { return t.Name != ToolName })
	return set, set.Add(w.children.Tool())
}

// addSubagents lets the subagent delegate, too.
func (w *worker) addSubagents(parent *Children, t *Task) {
	c := parent.Config
	c.Depth += t.below + 1
	extended := w.extended
	c.Sink, c.Ended, c.Runner, c.Bounds, c.Extensions = parent, nil, nil, w.bounds, func() *extension.Set { return extended }
	w.children = New(c)
	w.leave = parent.roster.enter(&w.children.roster)
}

// childEnv returns the Env of the subagent's calls. Approval requests go to the parent's gate.
// Fields not set here are not passed on.
func (w *worker) childEnv(env *tools.Env, t *Task) *tools.Env {
	own := &tools.Env{
		SessionID: t.ID, Gate: gateOf(env, t),
	}
	if env.OutputDir != "" {
		own.OutputDir = filepath.Join(filepath.Dir(env.OutputDir), t.ID)
	}
	return own
}

// newHead returns the head of a new session, and the function to write its prompt.
func (l local) newHead(t *Task, folders []string, env *tools.Env) (head store.Session, write func(prompt.Config) string, err error) {
	saved, err := json.Marshal(origin{Task: *t})
	if err != nil {
		return head, nil, fmt.Errorf("storing the task: %w", err)
	}
	task := prompt.Task{Goal: t.Goal, Context: t.Context, Role: t.Role}
	if len(t.Schema) > 0 {
		schema, err := json.Marshal(t.Schema)
		if err != nil {
			return head, nil, fmt.Errorf("storing the answer's schema: %w", err)
		}
		task.Answer = string(schema)
	}
	head = store.Session{ID: t.ID, Cwd: cmp.Or(l.Cwd, folders[0]), Parent: t.Parent, Model: t.Model, Origin: string(saved)}
	return head, func(c prompt.Config) string {
		c.Folders, c.Git, c.Host, c.Model = folders, builder.InGit(folders[0]), l.Host, t.Model
		if l.Facts != nil {
			c.Facts = l.Facts()
		}
		return prompt.Child(c, task)
	}, nil
}

// Close ends the work. It merges the worktree first, if any.
func (w *worker) Close(ctx context.Context, complete bool) (*worktree.Merge, error) {
	var merge *worktree.Merge
	var err error
	w.stop(ctx) // a background command could still write files to be merged
	if w.worktree != nil {
		merge, err = w.worktree.Merge(ctx, complete)
	}
	w.cleanup(ctx)
	return merge, err
}

// stop ends the subagents and the extensions of the worker.
func (w *worker) stop(ctx context.Context) {
	if w.children != nil {
		_ = w.children.Close(context.WithoutCancel(ctx)) // returns when they have ended
		w.leave()
		w.children = nil
	}
	if w.extended != nil {
		_ = w.extended.Close(context.WithoutCancel(ctx)) // returns when its processes have ended
		w.extended = nil
	}
}

func (w *worker) cleanup(ctx context.Context) {
	w.stop(ctx)
	if w.files != nil {
		_ = w.files.Close() // it was opened only for reading
	}
	w.box.Close()
	if w.worktree != nil {
		w.worktree.Remove()
	}
}
