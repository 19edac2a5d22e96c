package memory

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/redact"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

//go:embed memory.md
var description string

// Target is the name of a file for the model.
type Target string

// Enum are the targets.
func (Target) Enum() []string { return []string{"memory", "user", "project"} }

type input struct {
	Target     Target `json:"target,omitempty" jsonschema:"default memory"`
	Action     action `json:"action,omitempty"`
	Content    string `json:"content,omitempty" jsonschema:"add, replace: the new entry"`
	OldText    string `json:"old_text,omitempty" jsonschema:"replace, remove: a part of the old entry that no other entry has"`
	Operations []edit `json:"operations,omitempty" jsonschema:"several changes, all or none"`
}

// Preload makes the input schema of the tool, which stays in memory.
func Preload() { tools.Preload[input]() }

// tool returns the tool memory.
func (x *instance) tool() tools.Tool {
	return tools.New(tools.Tool{
		Name: "memory", Toolset: Toolset, Kind: tools.KindOther, Tracked: true,
		Description: strings.TrimSpace(description),
		Title:       tools.Titled(title),
	}, func(ctx context.Context, _ *tools.Env, c tools.Call, in input) (tools.Result, error) {
		return x.save(ctx, c, in)
	})
}

func title(in input) string {
	switch {
	case len(in.Operations) > 0:
		return fmt.Sprintf("Change %d entries of memory", len(in.Operations))
	case in.Action == "remove":
		return "Forget: " + tools.OneLine(in.OldText, 60)
	}
	return "Remember: " + tools.OneLine(in.Content, 60)
}

// failure is the result of a failed write.
type failure struct {
	Error   string   `json:"error"`
	Entries []string `json:"entries,omitempty"`
	Usage   string   `json:"usage,omitempty"`
}

type success struct {
	Success bool     `json:"success"`
	Usage   string   `json:"usage"`
	Entries []string `json:"entries,omitempty"`
}

// nearlyFull is the usage from which the result contains the entries, in percent.
const nearlyFull = 80

// save runs a call.
func (x *instance) save(ctx context.Context, call tools.Call, in input) (tools.Result, error) {
	edits, invalid := x.edits(in)
	if invalid != nil && !errors.Is(invalid, errNoOldText) {
		return tools.Fail("memory: %v. Nothing was saved", invalid), nil
	}
	f, err := x.file(in.Target)
	if err != nil {
		return tools.Fail("memory: %v", err), nil
	}
	now, err := f.read()
	if err != nil {
		return tools.Fail("memory: %v", err), nil
	}
	if invalid != nil {
		return refused(f, now, fmt.Errorf("memory: %w. Nothing was saved. Take a part of one of entries", invalid)), nil
	}
	_, text, err := f.apply(now, edits)
	if err != nil {
		if now.drifted {
			err = errors.Join(err, f.backUp(now))
		}
		return refused(f, now, err), nil
	}
	if edits, err = resolved(now.entries, edits); err != nil {
		return refused(f, now, err), nil
	}
	if x.asks(edits) {
		if err := x.ask(ctx, call, f, edits, now, text); err != nil {
			return tools.Result{}, err
		}
	}
	entries, err := change(ctx, x.home, f, edits)
	if err != nil {
		return refused(f, now, err), nil
	}
	x.session.Notify(fmt.Sprintf("%s: %s\n`/memory undo` reverts it.", f.Name, describe(edits)))
	out := success{Success: true, Usage: f.usage(entries)}
	if full(f, entries) {
		out.Entries = entries
	}
	return tools.OK(out), nil
}

func full(f File, entries []string) bool {
	return 100*len([]rune(joined(entries))) >= nearlyFull*f.Limit
}

func refused(f File, c content, err error) tools.Result {
	r := tools.OK(failure{err.Error() + ".", c.entries, f.usage(c.entries)})
	r.IsError = true
	return r
}

// edits returns the changes of a call.
func (x *instance) edits(in input) ([]edit, error) {
	all := in.Operations
	if len(all) == 0 {
		all = []edit{{in.Action, in.Content, in.OldText}}
	} else if !tools.Unset(in.Content) || !tools.Unset(in.OldText) {
		return nil, errors.New("give either operations or one action, not both")
	}
	for i := range all {
		all[i].Content, all[i].OldText = strings.TrimSpace(all[i].Content), strings.TrimSpace(all[i].OldText)
		if err := x.check(all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

var errNoOldText = errors.New("old_text")

// check reports an edit that can never succeed.
func (x *instance) check(e edit) error {
	switch {
	case e.Action == "":
		return errors.New("action is missing: add, replace or remove")
	case e.Action != "remove" && e.Content == "":
		return fmt.Errorf("action %s needs content", e.Action)
	case e.Action != "add" && e.OldText == "":
		return fmt.Errorf("action %s needs %w", e.Action, errNoOldText)
	case e.Action == "remove":
		return nil
	case hasSeparator(e.Content):
		return errors.New("an entry cannot have a line with only §, because that separates entries")
	case invisible(e.Content):
		return errors.New("the entry has invisible characters. Write it without them")
	case x.session.Redact(e.Content) != e.Content, redact.New(nil).Text(e.Content) != e.Content:
		return errors.New("the entry has a secret. Write it without it")
	}
	if reason := poisoned(e.Content); reason != "" {
		return fmt.Errorf("the entry would not be shown to the model, because %s. Say it in other words", reason)
	}
	return nil
}

// asks reports whether the user must approve edits.
func (x *instance) asks(edits []edit) bool {
	switch x.config().WriteApproval {
	case "true":
		return true
	case "false":
		return false
	}
	for _, e := range edits {
		if e.Action == "remove" || !x.typed.covers(e.Content) {
			return true
		}
	}
	return false
}

// ask asks the user, and shows the whole text.
func (x *instance) ask(ctx context.Context, call tools.Call, f File, edits []edit, now content, text string) error {
	w := &workspace.Written{Path: f.Path, Name: f.Name, Created: now.raw == "", Old: []byte(now.raw), New: []byte(text)}
	return x.session.Ask.Approve(ctx, extension.Request{
		Kind: tools.KindOther, Title: f.Name + ": " + describe(edits), Reason: "changes the memory that later sessions read",
		EveryMode: true, Call: call, Edits: gate.ShownWithout(x.session.Redact, []*workspace.Written{w}),
	})
}

// describe returns edits for the user, whole.
func describe(edits []edit) string {
	var lines []string
	for _, e := range edits {
		switch e.Action {
		case "add":
			lines = append(lines, "remember “"+e.Content+"”")
		case "replace":
			lines = append(lines, "replace “"+e.OldText+"” by “"+e.Content+"”")
		case "remove":
			lines = append(lines, "forget “"+e.OldText+"”")
		}
	}
	return strings.Join(lines, "\n")
}
