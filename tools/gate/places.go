package gate

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Places are the files of the workspace that run or configure something, in their state before a
// command.
type Places struct {
	watch *sandbox.Watch
	box   *sandbox.Box
	hide  func(string) string // replaces secrets in a text
}

// WatchPlaces records the places before a command that box confines. If a killed server left
// commands without a review, WatchPlaces first asks the user about their changes. If ctx ends
// before, it returns an error, and the command must not start. Otherwise [Places.Review] follows.
// hide redacts secrets in the files shown to the user.
func WatchPlaces(ctx context.Context, env *tools.Env, call tools.Call, box *sandbox.Box, hide func(string) string) (Places, error) {
	watch, err := box.Watch(ctx)
	p := Places{watch, box, hide}
	by := ""
	switch beside := p.watch.Beside(); {
	case p.watch.Left():
		by = "was left behind by a command of a server that was killed: "
	case beside != nil:
		by = oneOf(beside)
	}
	if err == nil && by != "" {
		if note := p.review(ctx, env, call, by); note != "" {
			p.warn(env, call, note)
		}
	}
	return p, err
}

// oneOf starts a sentence about a change made by one of the programs, or by the user.
func oneOf(programs []string) string {
	return "comes from " + listed(programs, mostListed) + ", or from you meanwhile: "
}

// Standing reviews the changes of a program that runs between its calls and can write in the
// workspace.
type Standing struct {
	places Places
	env    *tools.Env
	life   context.Context
	by     string
}

// Stand records the places before the start of a long-running or unreviewed program, such as an MCP
// server, a plugin or a hook. by names it for the user. If ctx ends before, Stand returns an error,
// and the program must not start. From now on, each command of the session first reviews the
// changes made meanwhile. env is the session's until life ends. hide redacts secrets in the files
// shown to the user.
func Stand(ctx, life context.Context, env *tools.Env, box *sandbox.Box, hide func(string) string, by string) (*Standing, error) {
	watch, err := box.Stand(ctx, by)
	return &Standing{Places{watch, box, hide}, env, life, by}, err
}

// Rest reviews, at the end of a turn, the changes that the programs of [Stand] made between their
// calls. For its parameters, see [Stand] and [Standing.Review].
func Rest(ctx, life context.Context, env *tools.Env, box *sandbox.Box, hide func(string) string) {
	all := box.Standing()
	if len(all) == 0 {
		return
	}
	if s, err := Stand(ctx, life, env, box, hide, all[0]); err == nil && s.places.watch != nil {
		s.by = listed(all, mostListed)
		call := tools.Call{ID: "review", Name: "review"}
		if note := s.Review(ctx, call); note != "" {
			s.places.warn(env, call, note)
		}
	}
}

// Review asks the user about changes when a call of the program has ended. Unapproved changes are
// removed. It returns text for the model, nearly always "". If ctx ends, it returns within a
// second, and the review continues.
func (s *Standing) Review(ctx context.Context, call tools.Call) string {
	if ctx.Err() != nil {
		s.Later()
		return ""
	}
	// With Args, plan mode would reject the call.
	call = tools.Call{ID: call.ID, Name: call.Name}
	places := s.now()
	note, _ := places.watch.Finish(ctx, func() string { return places.review(s.life, s.env, call, oneOf([]string{s.by})) })
	return note
}

// now returns the places. If the sandbox was turned on after the start of the program, they are watched now.
func (s *Standing) now() Places {
	places := s.places
	if places.watch == nil {
		places.watch, _ = places.box.Stand(s.life, s.by)
	}
	return places
}

// Later is Review in the background. The next command waits for it.
func (s *Standing) Later() {
	places := s.now()
	places.watch.Apart(func() {
		call := tools.Call{ID: "review", Name: "review"}
		if note := places.review(s.life, s.env, call, oneOf([]string{s.by})); note != "" {
			places.warn(s.env, call, note)
		}
	})
}

// Noted returns a function that reports the changes of file tools to a box. See
// [workspace.Workspace.Wrote].
func Noted(box *sandbox.Box) func(path string, old, now workspace.Image) {
	return func(path string, old, now workspace.Image) {
		if w, ok := wroteOf(path, old, now); ok {
			box.Note(w)
		}
	}
}

// wroteOf returns the change of a file between two states. If its text is unknown, ok is false.
func wroteOf(path string, old, now workspace.Image) (w sandbox.Wrote, ok bool) {
	w = sandbox.Wrote{Path: path, Old: old.Text, New: now.Text, Gone: !now.There(), Unsaved: now.Open}
	whole := w.Gone || now.Mode.IsRegular() && (now.Text != nil || now.Size == 0)
	return w, whole && (!old.There() || old.Mode.IsRegular() && (old.Text != nil || old.Size == 0))
}

// Review reviews the changes after the command has ended. Unapproved changes are removed. It
// returns text for the model's note, nearly always "". After a cancel it returns within a second: a
// longer review continues, and the next command waits for it.
func (p Places) Review(ctx context.Context, env *tools.Env, call tools.Call) string {
	var over atomic.Bool
	during := *env
	during.Progress = func(shown tools.Progress) {
		if env.Progress != nil && !over.Load() {
			env.Progress(shown)
		}
	}
	note, _ := p.watch.Finish(ctx, func() string { return p.review(ctx, &during, call, "") })
	over.Store(true)
	return note
}

// review asks about changes without a review. If they do not come from the call, by begins the
// reason.
func (p Places) review(ctx context.Context, env *tools.Env, call tools.Call, by string) string {
	changes, done := p.watch.Changes()
	defer done()
	var unwanted []sandbox.Change
	for _, alike := range grouped(changes) {
		if alike[0].Asks && p.approved(ctx, env, call, alike, by) {
			p.watch.Keep(alike)
			continue
		}
		unwanted = append(unwanted, alike...)
	}
	var removed, failed []string
	for i, err := range p.watch.Remove(ctx, unwanted) {
		what := escape.Line(unwanted[i].What)
		if err != nil {
			failed = append(failed, what+" ("+err.Error()+")")
			continue
		}
		removed = append(removed, what)
	}
	var notes []string
	if len(removed) > 0 {
		notes = append(notes, "removed, because commands may not leave behind what runs by itself: "+listed(removed, mostListed)+
			"; if it is really wanted, tell the user what to change")
	}
	if len(failed) > 0 {
		text := "this was denied and could not be removed: " + listed(failed, mostListed)
		p.warn(env, call, text+". Remove it by hand; until then, no command runs")
		notes = append(notes, text+"; tell the user. No command runs until it is gone")
	}
	return strings.Join(notes, "; ")
}

// warn shows text to the user, if possible.
func (p Places) warn(env *tools.Env, call tools.Call, text string) {
	if env.Progress != nil {
		env.Progress(tools.Progress{CallID: call.ID, Message: text})
	}
	p.box.Report(text)
}

// askedApart is the maximum number of same-named files with separate requests, and mostListed the
// maximum number of items in a sentence. If there are more than mostShown settings and hooks, no
// request is sent, because the user could not see them all.
const (
	askedApart = 5
	mostListed = 20
	mostShown  = 100
)

// grouped groups changes for a single request each: many files of the same name form one group. A
// script that unpacks a large repository leaves hundreds of them.
func grouped(changes []sandbox.Change) (groups [][]sandbox.Change) {
	count, at := map[string]int{}, map[string]int{}
	for _, c := range changes {
		count[filepath.Base(c.Path)]++
	}
	for _, c := range changes {
		name := filepath.Base(c.Path)
		i, begun := at[name]
		if !c.Asks || count[name] <= askedApart || !begun {
			i = len(groups)
			groups = append(groups, nil)
		}
		if c.Asks {
			at[name] = i
		}
		groups[i] = append(groups[i], c)
	}
	return groups
}

// listed joins the first most items for a sentence.
func listed(all []string, most int) string {
	if more := len(all) - most; more > 0 {
		return strings.Join(all[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return strings.Join(all, ", ")
}

// approved asks the user whether changes may stay.
func (p Places) approved(ctx context.Context, env *tools.Env, call tools.Call, alike []sandbox.Change, by string) bool {
	if env.Gate == nil || ctx.Err() != nil {
		return false
	}
	first := alike[0]
	title, reason := "keep "+first.What+" in "+first.Path, first.What
	verdict := policy.Verdict{Level: policy.Asks, EveryMode: true, Keys: []string{escape.Line(first.Key)}}
	if len(alike) > mostShown && strings.HasPrefix(first.What, "the git ") {
		return false
	}
	if len(alike) > 1 {
		var all []string
		for _, c := range alike {
			all = append(all, c.What)
		}
		title, reason = fmt.Sprintf("keep %d changes: ", len(alike))+listed(all, mostShown), fmt.Sprintf("%d changes of files named %s", len(alike), filepath.Base(first.Path))
		verdict.Once = true // a remembered yes would be for more than was shown
	}
	verdict.Reason = cmp.Or(by, "has left behind ") + reason
	show := func(context.Context) ([]tools.FileEdit, error) { return p.shown(alike), nil }
	return env.Gate.CheckEdit(ctx, env, call, tools.Edit{Title: title, Verdict: verdict, Show: show, Alone: true}) == nil
}

// mostDiffs is how many files a request shows.
const mostDiffs = 20

// shown returns the files of changes. Their previous texts are unknown: commands can create such
// files, but change only files opened for them by the user.
func (p Places) shown(changes []sandbox.Change) []tools.FileEdit {
	var written []*workspace.Written
	for _, c := range changes {
		paths, made := c.Files(mostDiffs - len(written))
		for _, path := range paths {
			text, err := c.Read(path, shownFile)
			if err != nil {
				continue // the title names it
			}
			w := &workspace.Written{Path: path, Name: path, Created: true, New: text}
			if !made {
				w.Note = "its text before is not known"
			}
			written = append(written, w)
		}
	}
	return ShownWithout(p.hide, written)
}

// openingOf returns the opening of the sandbox for a judged command line.
func openingOf(v policy.Verdict) sandbox.Opening {
	o := sandbox.Opening{Open: v.Opens, Settings: v.Settings, Git: onlyGit(v.Commands)}
	for _, command := range v.Commands {
		if path, ok := strings.CutPrefix(command, "write "); ok {
			o.Writes = append(o.Writes, path)
		}
	}
	return o
}

// gitTakes are git commands that put files of a repository into the workspace, gitReads the others,
// and besideGit programs that write nothing in the same line. "git apply" and "git am" are none of them: they take
// changes from a file, which a command may have made.
var (
	gitTakes  = strings.Fields("checkout cherry-pick clean clone merge mv pull rebase reset restore revert rm stash submodule switch worktree")
	gitReads  = strings.Fields("add branch commit config diff fetch init log push remote rev-parse show status tag")
	besideGit = strings.Fields("cd pwd echo true ls cat head tail")
)

// onlyGit reports whether a line runs git and otherwise only programs that write no files.
func onlyGit(commands []string) bool {
	found := false
	for _, command := range commands {
		words := strings.Fields(command)
		switch {
		case len(words) > 1 && words[0] == "git" && slices.Contains(gitTakes, words[1]):
			found = true
		case len(words) > 1 && words[0] == "git" && slices.Contains(gitReads, words[1]):
		case len(words) > 2 && words[0] == "git" && (words[1] == "-C" || words[1] == "--no-pager"): // the verb is in a separate entry
		case len(words) > 0 && (words[0] == "write" || slices.Contains(besideGit, words[0])): // a visible write was judged
		default:
			return false
		}
	}
	return found
}
