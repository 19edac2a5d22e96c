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
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// Places are those of the workspace that run or configure something by themselves,
// as they were before a command.
type Places struct {
	watch *sandbox.Watch
	box   *sandbox.Box
	hide  func(string) string // replaces secrets in a text
}

// WatchPlaces looks at them before a command that box confines. If a server was killed
// before it could review its commands, WatchPlaces asks the user about their changes first.
// If ctx ends before, it returns an error, and the command must not start. Else
// [Places.Review] follows. hide replaces secrets in the files that the user sees.
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

// oneOf begins a sentence about a change that one of some programs has made, or the user.
func oneOf(programs []string) string {
	return "comes from " + listed(programs, mostListed) + ", or from you meanwhile: "
}

// Standing reviews the changes of a program that goes on between its calls and can write in the workspace.
type Standing struct {
	places Places
	env    *tools.Env
	life   context.Context
	by     string
}

// Stand looks at the places before a program is started that goes on between its calls, or at least is not reviewed by its
// caller, such as an MCP server, a plugin or a hook. by names it for the user. If ctx ends before, Stand returns an error, and the program must not start.
// From now on, each command of the session reviews before it starts what has changed meanwhile. env is that of the session
// until life ends. hide replaces secrets in the files that the user sees.
func Stand(ctx, life context.Context, env *tools.Env, box *sandbox.Box, hide func(string) string, by string) (*Standing, error) {
	watch, err := box.Stand(ctx, by)
	return &Standing{Places{watch, box, hide}, env, life, by}, err
}

// Rest reviews at the end of a turn what the programs of [Stand] have changed between their calls. It is as [Stand] and [Standing.Review].
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

// Review asks the user about what has changed, when a call of the program has ended. Changes that the user has not approved are
// removed. It returns text for the model, nearly always none. If ctx ends, it returns within a second, and the review goes on.
func (s *Standing) Review(ctx context.Context, call tools.Call) string {
	if ctx.Err() != nil {
		s.Later()
		return ""
	}
	// Args would have the gate take it for a call that plan mode rejects.
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

// Noted has a box know the changes that file tools make. See [workspace.Workspace.Wrote].
func Noted(box *sandbox.Box) func(path string, old, now workspace.Image) {
	return func(path string, old, now workspace.Image) {
		if w, ok := wroteOf(path, old, now); ok {
			box.Note(w)
		}
	}
}

// wroteOf is the change of a file from one image to another. If its text is not known, ok is false.
func wroteOf(path string, old, now workspace.Image) (w sandbox.Wrote, ok bool) {
	w = sandbox.Wrote{Path: path, Old: old.Text, New: now.Text, Gone: !now.There(), Unsaved: now.Open}
	whole := w.Gone || now.Mode.IsRegular() && (now.Text != nil || now.Size == 0)
	return w, whole && (!old.There() || old.Mode.IsRegular() && (old.Text != nil || old.Size == 0))
}

// Review looks again when the command has ended. Changes that the user has not approved are
// removed. It returns text for the model's note, nearly always none. After a cancel it
// returns within a second: a longer review goes on, and the next command waits for it.
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

// review asks about changes that were not reviewed yet. by begins the reason if they do not come from the call.
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

// warn tells the user, where there is a way.
func (p Places) warn(env *tools.Env, call tools.Call, text string) {
	if env.Progress != nil {
		env.Progress(tools.Progress{CallID: call.ID, Message: text})
	}
	p.box.Report(text)
}

// askedApart is how many changes of files of one name are asked about one by one, and
// mostListed how many things a sentence lists. More settings and hooks than mostShown are
// not asked about, since the user could not see them all.
const (
	askedApart = 5
	mostListed = 20
	mostShown  = 100
)

// grouped puts changes together that are asked about by one question: those of files of one
// name, if they are many. A script that unpacks a large repository leaves hundreds of them.
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

// shown returns the files of changes. Their texts before are not known: commands can make such files, and change
// only those that the user has opened to them.
func (p Places) shown(changes []sandbox.Change) []tools.FileEdit {
	var written []*workspace.Written
	for _, c := range changes {
		paths, made := c.Files(mostDiffs - len(written))
		for _, path := range paths {
			text, err := safefile.Read(path, shownFile)
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

// gitTakes are commands of git that put files of a repository into the workspace, and
// besideGit programs that write nothing in the same line.
var (
	gitTakes = strings.Fields("add am apply branch checkout cherry-pick clean clone commit config diff fetch init log merge mv pull push rebase " +
		"remote reset restore revert rev-parse rm show stash status submodule switch tag worktree")
	besideGit = strings.Fields("cd pwd echo true ls cat head tail")
)

// onlyGit reports whether a line runs git, and nothing else that writes files.
func onlyGit(commands []string) bool {
	found := false
	for _, command := range commands {
		words := strings.Fields(command)
		switch {
		case len(words) > 1 && words[0] == "git" && slices.Contains(gitTakes, words[1]):
			found = true
		case len(words) > 2 && words[0] == "git" && (words[1] == "-C" || words[1] == "--no-pager"): // the verb stands in a line of its own
		case len(words) > 0 && (words[0] == "write" || slices.Contains(besideGit, words[0])): // a write that is seen was judged
		default:
			return false
		}
	}
	return found
}
