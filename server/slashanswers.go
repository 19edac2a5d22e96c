package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/markup"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
)

func help(_ context.Context, x *Session, _ string) (string, error) {
	var b strings.Builder
	for _, c := range x.Commands() {
		if c.Hidden {
			continue
		}
		name := "/" + c.Name
		if c.Hint != "" {
			name += " [" + c.Hint + "]"
		}
		fmt.Fprintf(&b, "- `%s`: %s\n", name, c.Description)
	}
	b.WriteString("\nThe model gets the text of skills, prompts of MCP servers and command files. It sees neither the other commands nor their answers.")
	return b.String(), nil
}

// profileText names the profile of a session. The first prompt chooses it.
func profileText(x *Session) string {
	switch {
	case x.settings.small.Load():
		return "small (five tools, short texts and results)"
	case x.record.opened() == nil && x.settings.config().Model.Profile == "auto":
		return "chosen with the first prompt"
	}
	return "full"
}

func windowText(tokens int) string {
	if tokens <= 0 {
		return "not known before the first prompt"
	}
	return amount.Comma(tokens) + " tokens"
}

// inspectModel asks a server that runs models for the window of the session's model. After the first
// prompt, it is known.
func (s *settings) inspectModel(ctx context.Context) {
	if s.record.opened() == nil && s.ready() == nil {
		s.model.Inspect(ctx)
	}
}

// windowOf describes the context window of a session and names its source.
func windowOf(ctx context.Context, x *Session) string {
	x.settings.inspectModel(ctx)
	a := x.record.opened()
	window := x.settings.model.Window()
	if a != nil {
		if used := a.Usage().Window; used > 0 && used < window {
			return windowText(used) + " (a refusal of the server)"
		}
	}
	text := windowText(window)
	if from := x.settings.model.WindowFrom(); from != "" {
		text += " (" + from + ")"
	}
	return text
}

func statusText(ctx context.Context, x *Session, _ string) (string, error) {
	var b strings.Builder
	line := func(name, format string, a ...any) { fmt.Fprintf(&b, "- %s: %s\n", name, fmt.Sprintf(format, a...)) }
	head := x.Head()
	line("Session", "%s `%s`", titled(head), x.id)
	line("Folder", "`%s`", head.Cwd)
	for _, o := range x.Options() {
		line(o.Name, "%s", o.Value)
	}
	if a := x.record.opened(); a != nil {
		u := a.Usage()
		used := fmt.Sprintf("%s tokens", amount.Comma(u.Used))
		if u.Window > 0 {
			used += fmt.Sprintf(" of %s (%d %%)", amount.Comma(u.Window), u.Used*100/u.Window)
		}
		line("Context", "%s", used)
		total := fmt.Sprintf("%s, %s tokens in, %s out", amount.Plural(u.Requests, "request"), amount.Comma(u.Total.Input), amount.Comma(u.Total.Output))
		if u.Total.Cost > 0 {
			total += fmt.Sprintf(", $%.4f", u.Total.Cost)
		}
		line("Used", "%s", total)
		if u.Last.Input > 0 {
			line("Last request", "%s tokens in, %d %% of them from the prompt cache", amount.Comma(u.Last.Input), u.Last.CachedRead*100/u.Last.Input)
		}
	}
	conf := x.settings.config()
	line("Profile", "%s (model.profile: %s), context window %s", profileText(x), conf.Model.Profile, windowOf(ctx, x))
	limits, host := sandbox.Policy{Mode: sandbox.Mode(conf.Sandbox.Mode), Network: conf.Sandbox.Network}, sandbox.Mechanism{}
	if limits.Mode != sandbox.Off {
		host = sandbox.Detect(ctx)
	}
	line("Sandbox", "%s, network %s: %s", limits.Mode, map[bool]string{true: "on", false: "off"}[limits.Network], host.Says(limits))
	for _, gap := range host.Gaps(limits) {
		line("Sandbox gap", "%s", gap)
	}
	if x.location.remote.kind != "" {
		line("Commands run on", "%s", x.location.remote.kind)
	}
	x.extensions.Status(ctx, func(name, text string) { line(name, "%s", text) })
	if x.Running() {
		line("Turn", "running")
	}
	return b.String(), nil
}

// usageText is the usage of the session and of the last seven days.
func usageText(ctx context.Context, x *Session, _ string) (string, error) {
	var b strings.Builder
	line := func(name string, s store.Spent) {
		cost := fmt.Sprintf("$%.4f", s.Cost)
		switch {
		case s.Unpriced == s.Requests && s.Requests > 0:
			cost = "no price is known"
		case s.Unpriced > 0:
			cost += fmt.Sprintf(" (no price is known for %d of the requests)", s.Unpriced)
		}
		fmt.Fprintf(&b, "- %s: %s, %s, %s tokens in (%s cached), %s out\n", name, cost, amount.Plural(s.Requests, "request"),
			amount.Comma(s.Input), amount.Comma(s.CachedRead), amount.Comma(s.Output))
	}
	st := x.svc.theStore(x.svc.synchronous())
	var session store.Spent
	if !x.record.draft() {
		var err error
		if session, err = st.SpentIn(ctx, x.id); err != nil {
			return "", err
		}
	}
	line("This session and its subagents", session)
	now := time.Now()
	days, err := st.SpentByDay(ctx, time.Date(now.Year(), now.Month(), now.Day()-6, 0, 0, 0, 0, now.Location()))
	if err != nil {
		return "", err
	}
	for _, d := range days {
		name := d.Date
		if name == now.Format(time.DateOnly) {
			name = "Today"
		}
		line(name, d.Spent)
	}
	left, err := x.settings.spending.Left(ctx)
	if err != nil {
		return "", err
	}
	for _, text := range left {
		fmt.Fprintf(&b, "- %s\n", text)
	}
	b.WriteString("\n`hermes-ls usage` shows each session and more days.")
	return b.String(), nil
}

func titled(head store.Session) string {
	if head.Title == "" {
		return "(no title yet)"
	}
	return "“" + head.Title + "”"
}

// option returns the command for showing or changing an option.
func option(id string) slashFunc {
	return func(ctx context.Context, x *Session, value string) (string, error) {
		if value != "" {
			if err := x.SetOption(ctx, id, value); err != nil {
				return "", err
			}
		}
		options := x.Options()
		o := options[slices.IndexFunc(options, func(o Option) bool { return o.ID == id })]
		var b strings.Builder
		fmt.Fprintf(&b, "%s: **%s**. There are:\n", o.Name, o.Value)
		for _, c := range o.Choices {
			fmt.Fprintf(&b, "- `%s` %s\n", c.ID, c.Description)
		}
		return b.String(), nil
	}
}

// undo returns /undo: it undoes the last prompt, files included.
func undo() slashFunc {
	return func(ctx context.Context, x *Session, _ string) (string, error) {
		done, err := x.Undo(ctx, Undoing{Files: true})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("Back before this prompt:\n\n%s\n\n%s\n\nWhat came of it is kept as session `%s`.", markup.Quote(done.Text), done.Files, done.BranchID), nil
	}
}

// clearSession rewinds the session to its start, because only an editor can open another session.
func clearSession(ctx context.Context, x *Session, _ string) (string, error) {
	if err := x.queue.halt(ctx); err != nil {
		return "", err
	}
	const already = "This is a new session already."
	if x.record.draft() {
		return already, nil
	}
	sums, err := x.svc.theStore(x.svc.synchronous()).Totals(ctx, x.id)
	if err != nil {
		return "", err
	}
	if sums.Messages == 0 {
		return already, nil
	}
	branch, err := x.Rewind(ctx, "")
	if err != nil {
		return "", err
	}
	none := ""
	if err := x.Describe(ctx, &none, nil); err != nil {
		return "", err
	}
	return fmt.Sprintf("A new session begins. The one before is kept as session `%s`. Files stay as they are.", branch), nil
}

// restoreSince restores the files from before a prompt, if an extension can.
func restoreSince(ctx context.Context, s *extension.Set, prompt time.Time) (done string, err error) {
	files, ok := s.Changes()
	if !ok {
		return "Files stay as they are.", nil
	}
	return files.RestoreSince(ctx, prompt)
}

func forkHere(ctx context.Context, x *Session, _ string) (string, error) {
	if x.record.draft() {
		return "", errors.New("the session has no messages yet")
	}
	fork, err := x.svc.Fork(ctx, x.id, "", Place{Preset: x.place.Preset, Editor: x.place.Editor, Given: []any{}}, x.host)
	if err != nil {
		return "", err
	}
	head := fork.Head()
	// The editor opens it if its user wants to.
	if err := x.svc.CloseSession(ctx, fork.ID()); err != nil {
		return "", err
	}
	return fmt.Sprintf("Session %s `%s` has the messages of this one. Open it from your editor's list of sessions.", titled(head), fork.ID()), nil
}

func listSessions(ctx context.Context, x *Session, _ string) (string, error) {
	page, next, err := x.svc.List(ctx, x.Cwd(), "")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, head := range page {
		if head.Origin != "" {
			continue // of a subagent
		}
		mark := ""
		if head.ID == x.id {
			mark = " (this one)"
		}
		fmt.Fprintf(&b, "- %s, %s, `%s`%s\n", titled(head), amount.Ago(head.UpdatedAt), head.ID, mark)
	}
	if next != "" {
		b.WriteString("- … and older ones\n")
	}
	return b.String(), nil
}

func retitle(ctx context.Context, x *Session, title string) (_ string, err error) {
	if title == "auto" {
		if title, err = suggestTitle(ctx, x); err != nil {
			return "", err
		}
	}
	if title != "" {
		if err := x.Describe(ctx, &title, nil); err != nil {
			return "", err
		}
	}
	return "The title is " + titled(x.Head()) + ".", nil
}

func renote(ctx context.Context, x *Session, notes string) (string, error) {
	if notes != "" {
		if err := x.Describe(ctx, nil, &notes); err != nil {
			return "", err
		}
	}
	if notes = x.Head().Notes; notes == "" {
		return "There are no notes yet. `/notes TEXT` writes some; the model does not see them.", nil
	}
	return "Your notes:\n\n" + markup.Quote(notes), nil
}

func listTools(ctx context.Context, x *Session, _ string) (string, error) {
	names, err := toolNames(ctx, x)
	if err != nil {
		return "", err
	}
	return "The model has `" + strings.Join(names, "`, `") + "`.", nil
}
