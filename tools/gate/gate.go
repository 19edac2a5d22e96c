// Package gate decides which calls run. A [Gate] judges nothing itself: it gets a verdict of
// tools/policy, and asks the user if the verdict requires approval. [Approve] binds an approval to
// the content of the files that a command runs, and [WatchPlaces] reviews the changes left by a
// command. Gates are safe for concurrent use.
package gate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/filetime"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Config holds the rules of a [Gate].
type Config struct {
	// Mode is "ask" (also "manual"), "smart" or "off". In smart, Judge is asked before
	// the user is.
	Mode string
	// Deny are globs that always block: * is any text and ? one character. A rule matches a whole
	// command, or its beginning up to a space. Nested simple commands also count.
	Deny []string
	// Allow are the exact keys remembered by "always".
	Allow []string
	// Timeout is how long a request stays open before it counts as denied; zero is 300 s.
	Timeout time.Duration
	// Asker asks the user. If it is nil, all requests are denied.
	Asker tools.Asker
	// Judge reports whether an action is plainly harmless, by its title as shown to the user. If it
	// returns false, the user is asked. Actions that require approval in every mode are never
	// passed to it. It may be nil.
	Judge func(ctx context.Context, title, reason string) (harmless bool)
	// Always remembers a key for good. Nil: "always" holds for the session.
	Always func(key string) error
}

// Gate decides whether a call may run, and asks the user if a verdict requires approval. It is
// advisory; the boundaries are the path scope and the sandbox. A session and its subagents share
// one Gate, which has at most one open request. It is safe for concurrent use.
type Gate struct {
	cfg  Config
	turn chan struct{} // holds a token while a question is open

	mu      sync.Mutex // guards the following, never while waiting
	mode    string
	plan    bool // plan mode
	careful bool // each edit requires approval
	deny    []string
	allow   map[string]bool // remembered for good
	session map[string]bool // remembered for the session
}

// NewGate makes the gate of a session.
func New(cfg Config) *Gate {
	if cfg.Timeout <= 0 {
		cfg.Timeout = 300 * time.Second
	}
	g := &Gate{cfg: cfg, turn: make(chan struct{}, 1), mode: cfg.Mode, session: map[string]bool{}}
	g.SetRules(cfg.Deny, cfg.Allow)
	return g
}

// SetRules changes the deny rules and the allowlist. Approvals for the session stay.
func (g *Gate) SetRules(deny, allow []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deny = deny
	g.allow = make(map[string]bool, len(allow))
	for _, k := range allow {
		g.allow[k] = true
	}
}

// SetMode changes the mode for later actions. An open request stays open.
func (g *Gate) SetMode(mode string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mode = mode
}

// SetPlanning turns plan mode on or off.
func (g *Gate) SetPlanning(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.plan = on
}

// SetCareful sets whether each edit of a file requires approval.
func (g *Gate) SetCareful(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.careful = on
}

// Planning reports whether the session is in plan mode.
func (g *Gate) Planning() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.plan
}

// Rejection explains to the model why a call may not run.
type Rejection struct {
	Reason string // the effect of the call
	Text   string // the call, the reason, and the next step
}

func (r *Rejection) Error() string { return r.Text }

// Is reports whether target is [tools.ErrNotRun]: a rejected call has not run.
func (*Rejection) Is(target error) bool { return target == tools.ErrNotRun }

// Check returns nil if the call may run, else a [*Rejection]. title is the whole action,
// unescaped: Check escapes it. A call without arguments does not come from the model: its
// request has no tool call.
func (g *Gate) Check(ctx context.Context, env *tools.Env, c tools.Call, kind tools.Kind, title string, v policy.Verdict) error {
	return g.check(ctx, subagent{}, action{env: env, call: c, kind: kind, title: title, verdict: v})
}

// CheckEdit is Check for an edit of files, see [tools.Approver].
func (g *Gate) CheckEdit(ctx context.Context, env *tools.Env, c tools.Call, e tools.Edit) error {
	return g.check(ctx, subagent{}, action{env: env, call: c, kind: tools.KindEdit, title: e.Title, verdict: e.Verdict, edit: &e})
}

type action struct {
	env     *tools.Env
	call    tools.Call
	kind    tools.Kind
	title   string
	verdict policy.Verdict
	edit    *tools.Edit // nil: it is no edit of files
	careful bool        // it requires approval because of mode careful
}

// check is Check for a subagent; the zero subagent is the session itself.
func (g *Gate) check(ctx context.Context, by subagent, a action) error {
	a = a.withEvent()
	v := a.verdict
	switch rule, certain := g.denied(a.title, v); {
	case rule == "" || v.Syntax != "":
	case certain:
		return rejection(v, fmt.Sprintf("Denied: the user's rule %q (approvals.deny) forbids it. Do not try it in another form; do without it, or tell the user what you wanted it for.", rule))
	case v.Level != policy.Blocked:
		v = maybeDenied(v, a.title, rule)
	}
	if err := g.checkPlan(a.env, a.call, a.kind, v); err != nil {
		return err
	}
	a.verdict = v
	a = g.inMode(a)
	switch v = a.verdict; v.Level {
	case policy.Runs:
		return nil
	case policy.Blocked:
		if v.Syntax != "" {
			return rejection(v, "Syntax error: "+v.Syntax+". Nothing was run. Correct the command and call again; put long or oddly quoted text into a file first.")
		}
		return rejection(v, fmt.Sprintf("Blocked: it %s. This is always blocked, so do not try it in another form. %s", v.Reason, nextStep(v.Reason)))
	}
	if a.edit != nil && !a.edit.Alone && a.env.EditApproved {
		return nil
	}
	if g.passes(a) {
		return nil
	}
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return rejection(v, "Not run: "+tools.NotRunText(ctx, "before its approval request was open"))
	}
	if g.passes(a) { // the previous request was for the same action
		return nil
	}
	if !g.harmless(ctx, a) {
		if err := g.ask(ctx, by, a); err != nil {
			return err
		}
	}
	return g.checkPlan(a.env, a.call, a.kind, v) // the user may have changed the mode meanwhile
}

// withEvent returns the action with the approval required by an event for its edit.
func (a action) withEvent() action {
	if a.edit == nil || a.env.EditAsk == "" {
		return a
	}
	v := &a.verdict
	if v.Reason != "" {
		v.Reason = "; " + v.Reason
	}
	v.Reason, v.Level = a.env.EditAsk+v.Reason, max(v.Level, policy.Asks)
	v.EveryMode, v.Once = true, true
	v.Commands = append(slices.Clone(v.Commands), a.call.Name+" "+string(a.call.Args)) // deny rules match it
	return a
}

// inMode returns the action as mode careful judges it: each edit requires approval, and a
// remembered approval covers only the files it names, until the session ends.
func (g *Gate) inMode(a action) action {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.careful || a.edit == nil || a.edit.Alone || a.verdict.Level == policy.Blocked {
		return a
	}
	a.careful = true
	if a.verdict.Level == policy.Runs {
		a.verdict.Level, a.verdict.Keys = policy.Asks, nil
		a.verdict.Reason = "changes " + counted(len(a.edit.Paths)) + ", and each edit requires approval in mode careful"
	}
	a.verdict.Keys = slices.Clone(a.verdict.Keys)
	for _, path := range a.edit.Paths {
		a.verdict.Keys = append(a.verdict.Keys, "edits of "+escape.Line(path))
	}
	return a
}

func counted(files int) string {
	if files == 1 {
		return "a file"
	}
	return fmt.Sprintf("%d files", files)
}

// checkPlan rejects actions in plan mode: those that require approval, even if approved before, and
// actions of calls that began in another mode. Actions that only read, and actions of the server,
// such as the start of an MCP server, are checked as in the other modes.
func (g *Gate) checkPlan(env *tools.Env, c tools.Call, kind tools.Kind, v policy.Verdict) error {
	reads := kind == tools.KindRead || kind == tools.KindSearch || kind == tools.KindFetch || kind == tools.KindThink
	switch {
	case c.Args == nil || reads || v.Level == policy.Blocked:
		return nil
	case env.Planning && v.Level == policy.Asks:
		return rejection(v, tools.Rejected(v.Reason).Error())
	case !env.Planning && g.Planning():
		return rejection(v, tools.Rejected("began before that mode").Error())
	}
	return nil
}

// judgeLimit is how long a judgment may take before the user is asked.
const judgeLimit = 20 * time.Second

// harmless asks the judge, if it applies to the action.
func (g *Gate) harmless(ctx context.Context, a action) bool {
	g.mu.Lock()
	asked := g.mode == "smart" && g.cfg.Judge != nil && !a.verdict.EveryMode && !a.careful
	g.mu.Unlock()
	if !asked {
		return false
	}
	limited, stop := context.WithTimeout(ctx, judgeLimit)
	defer stop()
	if !g.cfg.Judge(limited, escape.Line(a.title), a.verdict.Reason) || ctx.Err() != nil {
		return false
	}
	if a.env.Progress != nil {
		a.env.Progress(tools.Progress{CallID: a.call.ID, Message: "allowed: the model judged it harmless (approvals.mode: smart)"})
	}
	return true
}

// passes reports whether an action was approved before.
func (g *Gate) passes(a action) bool {
	v := a.verdict
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mode == "off" && !v.EveryMode && !a.careful {
		return true
	}
	return len(v.Keys) > 0 && !v.Once && !slices.ContainsFunc(v.Keys, func(k string) bool { return (a.careful || !g.allow[k]) && !g.session[k] })
}

func (g *Gate) remember(keys []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, k := range keys {
		g.session[k] = true
	}
}

const whileAsked = "while it waited for approval"

// ask asks the user and returns nil if the decision allows the action. Any other or late answer is
// a denial.
func (g *Gate) ask(ctx context.Context, by subagent, a action) error {
	v := a.verdict
	question, err := g.request(ctx, by, a)
	switch {
	case err != nil:
		return err
	case a.edit != nil && !a.edit.Alone && a.edit.Show != nil && len(question.Edits) == 0:
		return nil // nothing changes
	case g.cfg.Asker == nil:
		return unapproved(v, &Unanswered{Why: "no user is present to approve it"})
	}
	waiting, stop := context.WithTimeout(ctx, g.cfg.Timeout)
	defer stop()
	var unasked *Unanswered
	var denied *tools.Denied
	var stopped *tools.Stopped
	filetime.Pass(ctx) // what the user saves during the request is not attributed to the agent
	resumed := a.waits(ctx)
	decision, err := g.cfg.Asker.AskPermission(waiting, question)
	resumed()
	filetime.Pass(ctx)
	switch {
	case ctx.Err() != nil:
		return rejection(v, "Not run: "+tools.NotRunText(ctx, whileAsked))
	case errors.Is(waiting.Err(), context.DeadlineExceeded):
		return unapproved(v, &Unanswered{Why: fmt.Sprintf("the user did not answer within %v", g.cfg.Timeout)})
	case errors.As(err, &denied):
		return rejection(v, (&tools.Denied{Reason: tools.CutMiddle(strings.TrimSpace(tools.StripControl(denied.Reason)), longestReason)}).Error())
	case errors.As(err, &unasked):
		return unapproved(v, unasked)
	case errors.As(err, &stopped):
		return rejection(v, "Not run: "+stopped.NotRun(whileAsked))
	case err != nil:
		return unapproved(v, &Unanswered{Why: "asking failed, so that it has changed nothing (" + err.Error() + ")"})
	}
	switch decision {
	case tools.DecisionOnce:
		return nil
	case tools.DecisionSession, tools.DecisionAlways:
		if v.Once {
			return nil
		}
		g.remember(v.Keys)
		if decision == tools.DecisionAlways && len(question.Keys) > 0 {
			g.keep(a.env, a.call, question.Keys)
		}
		return nil
	case tools.DecisionDeny:
		return rejection(v, "The user denied this: it "+v.Reason+". Do not retry it in another form. Go on without it, or ask what they would like instead.")
	}
	return unapproved(v, &Unanswered{Why: "the approval request was closed without an answer, which denies it"})
}

// waits notes, for a call without effects so far, that it waits for an answer, until resumed is
// called.
func (a action) waits(ctx context.Context) (resumed func()) {
	edits := a.edit != nil && !a.edit.Alone // which asks before it writes
	if a.env == nil || a.env.Waits == nil || !edits && a.env.HasRun() {
		return func() {}
	}
	return a.env.Waits(ctx, a.call.ID)
}

// longestReason limits the bytes of a denial's reason for the model.
const longestReason = 8000

// request returns the approval request of an action. If its edit cannot be made, it returns the
// error.
func (g *Gate) request(ctx context.Context, by subagent, a action) (q tools.ApprovalRequest, err error) {
	v := a.verdict
	q = tools.ApprovalRequest{
		SessionID: a.env.SessionID, Call: a.call, Kind: a.kind,
		Title: escape.Line(a.title), Reason: escape.Text(v.Reason), Text: escape.Text(v.Text),
		Remember: strings.Join(v.Keys, " and "), Keys: v.Keys, Alone: a.call.Args == nil,
	}
	if a.edit != nil && a.edit.Show != nil {
		if q.Edits, err = a.edit.Show(ctx); err != nil {
			return q, err
		}
	}
	switch {
	case v.Once:
		q.Remember, q.Keys = "", nil
	case a.careful:
		q.Remember, q.Keys = "edits of "+escape.Line(strings.Join(a.edit.Names, ", ")), nil
	case slices.ContainsFunc(q.Edits, func(f tools.FileEdit) bool { return f.Cut }):
		q.Keys = nil // a hidden change is never always allowed
	}
	if by.owner != "" {
		q.SessionID, q.Subagent, q.For = by.owner, a.env.SessionID, escape.Line(by.goal)
	}
	return q, nil
}

// Unanswered is the error of an [Asker] without an answer of the user.
type Unanswered struct {
	Why string // such as "no user is present to approve it"
	How string // how the user can make the call run another time; may be empty
}

func (u *Unanswered) Error() string { return u.Why }

// Entries returns the keys of an action as entries of command_allowlist, quoted for YAML.
func Entries(keys []string) string {
	quoted := make([]string, len(keys))
	for i, key := range keys {
		quoted[i] = strconv.Quote(key)
	}
	return strings.Join(quoted, " and ")
}

// unapproved returns the error for a call that did not run for lack of an answer. It differs from a
// denial.
func unapproved(v policy.Verdict, u *Unanswered) error {
	because := ", which requires approval, and " + u.Why
	if strings.Contains(v.Reason, "requires approval") && u.Why != "" {
		because = ". " + strings.ToUpper(u.Why[:1]) + u.Why[1:]
	}
	text := "Not run: it " + v.Reason + because + ". Do not retry it in another form; go on without it, and say what is left to do."
	if u.How != "" {
		text += " To allow it, the user can " + u.How + "."
	}
	return rejection(v, text)
}

// keep writes keys to the allowlist. If this fails, the approval holds for the session, and the
// call reports it.
func (g *Gate) keep(env *tools.Env, c tools.Call, keys []string) {
	if g.cfg.Always == nil {
		return
	}
	for _, k := range keys {
		if err := g.cfg.Always(k); err != nil && env.Progress != nil {
			env.Progress(tools.Progress{CallID: c.ID, Message: "allowed for this session only: it could not be saved (" + err.Error() + ")"})
		}
	}
}

func rejection(v policy.Verdict, text string) error {
	return &Rejection{Reason: v.Reason, Text: text}
}

// nextStep returns the next step after a blocked call.
func nextStep(reason string) string {
	switch {
	case strings.Contains(reason, "too long"):
		return "Write a script file in the workspace and run that."
	case strings.Contains(reason, "git hooks"), strings.Contains(reason, "configuration of hermes-ls"):
		return "If it is really wanted, tell the user exactly what to change by hand."
	case strings.Contains(reason, "deletes"):
		return "Name exactly the files in the workspace that have to go, and delete only those."
	}
	return "Do without it, or tell the user what to run by hand."
}

// denied returns the rule that forbids a call, or "". If a part of the call is unknown and some
// text there would match a rule, certain is false.
func (g *Gate) denied(title string, v policy.Verdict) (rule string, certain bool) {
	g.mu.Lock()
	deny := g.deny
	g.mu.Unlock()
	if len(deny) == 0 {
		return "", false
	}
	said := append([]string{strings.Join(strings.Fields(title), " ")}, v.Commands...)
	said = append(said, v.Keys...)
	for _, r := range deny {
		pattern := strings.Join(strings.Fields(r), " ")
		for _, s := range said {
			switch {
			case pattern == "":
			case glob(pattern, s) || glob(pattern+" *", s):
				return r, true
			case rule == "" && (strings.Contains(s, unseenPart) || strings.ContainsAny(s, "?[")) && (mayMatch(pattern, s) || mayMatch(pattern+" *", s)):
				rule = r
			}
		}
	}
	return rule, false
}

// unquoted returns a command without quotes; shell patterns outside of quotes become an unknown
// part.
func unquoted(s string) string {
	quoted := false
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\'':
			quoted = !quoted
			return -1
		case !quoted && strings.ContainsRune("*?[]", r):
			return 0
		}
		return r
	}, s)
}

// maybeDenied returns the verdict on a call possibly forbidden by a rule: it requires approval in
// every mode.
func maybeDenied(v policy.Verdict, title, rule string) policy.Verdict {
	reason := fmt.Sprintf("has a part that cannot be seen, by which the rule %q (approvals.deny) may forbid it", escape.Line(rule))
	if v.Level == policy.Asks {
		reason = v.Reason + "; " + reason
	}
	v.Level, v.Reason, v.EveryMode, v.Keys = policy.Asks, reason, true, []string{escape.Line(title)}
	return v
}

// unseenPart replaces unknown text in the commands of a verdict.
const unseenPart = "$…"

// mayMatch reports whether a pattern matches s with some text in each unknown part.
func mayMatch(pattern, s string) bool {
	text := []rune(unquoted(strings.ReplaceAll(s, unseenPart, "\x00")))
	const most = 4096
	if len(text) > most {
		text = append(text[:most:most], 0)
	}
	// row[i] is true if the pattern from i on matches the text from at on.
	p := []rune(strings.ReplaceAll(pattern, "'", ""))
	row := make([]bool, len(p)+1)
	for at := len(text); at >= 0; at-- {
		next := slices.Clone(row)
		for i := len(p); i >= 0; i-- {
			more := at < len(text)
			switch {
			case i == len(p) && !more:
				row[i] = true
			case i < len(p) && p[i] == '*':
				row[i] = row[i+1] || more && next[i]
			case more && text[at] == 0:
				row[i] = next[i] || i < len(p) && row[i+1]
			default:
				row[i] = more && i < len(p) && (p[i] == '?' || p[i] == text[at]) && next[i+1]
			}
		}
	}
	return row[0]
}

// glob matches the whole of s: * is any text, also with slashes and spaces, and
// ? one byte.
func glob(pattern, s string) bool {
	star, from := -1, 0
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
		case p < len(pattern) && pattern[p] == '?':
			p++
			i += width(s[i:])
		case p < len(pattern) && pattern[p] == s[i]:
			p++
			i++
		case star >= 0:
			from += width(s[from:])
			p, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// width returns the number of bytes of the first character.
func width(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	return n
}

// Wait waits until no request is open in the session, and then keeps others waiting, like an
// approval request. If ctx ends, it returns ctx's error. Otherwise the caller must call leave.
func (g *Gate) Wait(ctx context.Context) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	select {
	case g.turn <- struct{}{}:
		return func() { <-g.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
