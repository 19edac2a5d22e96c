package embedded

import (
	"fmt"
	"slices"
	"strings"
)

var (
	wantsFix   = pattern(`(?i)\b(fix|mend|repair|correct|pass)\b`)
	aboutTests = pattern(`(?i)\b(tests?|failing|fails?|failed|unittest|pytest)\b`)
	wantsRun   = pattern(`(?i)^(please )?run (the |all |my )?tests?\b`)
)

// The plan. Its state follows from where the work is.
var plan = [...]string{"Run the tests and see what fails", "Find the cause and mend it", "Run the tests again"}

const (
	planTest = iota
	planMend
	planCheck
	planDone
)

const maxRuns = 6 // of the tests in one turn

// fix makes failing tests pass, as far as the rules in mend.go go. Each reply
// depends only on what this turn has done so far.
func fix(c *conversation) (reply, bool) {
	mending := wantsFix().MatchString(c.prompt) && aboutTests().MatchString(c.prompt)
	if !mending && !wantsRun().MatchString(c.prompt) {
		return nil, false
	}
	if !c.has("search_files", "terminal", "read_file", "patch") {
		return say("For this I need read_file, search_files, patch and terminal, and not all of them are offered in this session."), true
	}
	w := work{c}
	lastRun, at := c.last("terminal")
	switch {
	case !c.listed():
		return w.at(planTest, "I look at what is there and run the tests first. ", listFiles()), true
	case at < 0:
		command := testCommandOf(c.prompt, c.files())
		if command == "" {
			return say("I found no tests in the workspace, and the prompt names no command (in backticks) that runs some."), true
		}
		return w.at(planTest, "", runCommand(command)), true
	case lastRun.result.Error != "" || lastRun.result.TimedOut || lastRun.result.Interrupted || lastRun.result.ExitCode == nil:
		return say(fmt.Sprintf("I could not run `%s`: %s", lastRun.arg("command"), w.trouble(lastRun))), true
	}
	r := readRun(lastRun)
	switch {
	case r.passed:
		return w.done(r), true
	case !mending:
		return say(fmt.Sprintf("`%s` fails: %s.", r.command, failing(r))), true
	case w.patchedSince(at):
		return w.at(planCheck, "", runCommand(r.command)), true
	default:
		return w.mend(r), true
	}
}

// work is a turn that fixes something.
type work struct{ *conversation }

// at makes a reply at a place in the plan, and brings the list up to date if it
// is not.
func (w work) at(place int, text string, calls ...step) reply {
	var r reply
	if text != "" {
		r = say(text)
	}
	if w.has("todo") && w.listedPlace() != place {
		r = append(r, planned(place))
	}
	return append(r, calls...)
}

// planned writes the list with everything before place completed.
func planned(place int) step {
	todos := make([]map[string]any, len(plan))
	for i, content := range plan {
		status := "pending"
		if i < place {
			status = "completed"
		} else if i == place {
			status = "in_progress"
		}
		todos[i] = map[string]any{"id": fmt.Sprint(i + 1), "content": content, "status": status}
	}
	return callTool("todo", map[string]any{"todos": todos})
}

// listedPlace is where the list stands; -1: there is none.
func (w work) listedPlace() int {
	d, at := w.last("todo")
	if at < 0 {
		return -1
	}
	for i, t := range d.result.Todos {
		if t.Status != "completed" {
			return i
		}
	}
	return planDone
}

// patchedSince tells whether something was changed after call number at.
func (w work) patchedSince(at int) bool {
	for _, d := range w.turn[at+1:] {
		if d.name == "patch" && d.result.Error == "" {
			return true
		}
	}
	return false
}

// current returns a file's text if it was read after the last change of it.
func (w work) current(path string) (document, bool) {
	for i := len(w.turn) - 1; i >= 0; i-- {
		d := w.turn[i]
		if d.arg("path") != path {
			continue
		}
		if d.name == "read_file" && d.result.Error == "" {
			return document{path, unnumbered(d.result.Content)}, true
		}
		if d.name == "patch" {
			return document{}, false
		}
	}
	return document{}, false
}

// mend reads what a failing run points at, and then changes one thing.
func (w work) mend(r run) reply {
	if len(r.failures) == 0 {
		return w.giveUp(r, "I cannot read from the output which test it is")
	}
	if w.count("terminal") >= maxRuns {
		return w.giveUp(r, fmt.Sprintf("I have run the tests %d times now", w.count("terminal")))
	}
	if d, ok := w.refusedTwice(); ok {
		return w.giveUp(r, "my change was not made: "+d.result.Error)
	}
	testFile := listed(w.files(), r.failures[0].file)
	if testFile == "" {
		return w.giveUp(r, "I do not find the test's file among those of the workspace")
	}
	test, ok := w.current(testFile)
	if !ok {
		if w.asked(testFile) {
			return w.giveUp(r, "I cannot read "+testFile)
		}
		return w.at(planMend, w.seen(r), readFile(testFile))
	}
	var sources []document
	var unread []step
	for _, path := range tested(test, w.files()) {
		if src, ok := w.current(path); ok {
			sources = append(sources, src)
		} else {
			unread = append(unread, readFile(path))
		}
	}
	if len(unread) > 0 {
		if _, at := w.last("patch"); at >= 0 {
			return w.at(planMend, w.seen(r), unread...)
		}
		return w.at(planMend, "", unread...)
	}
	e, ok := mend(r, test, sources)
	if !ok {
		return w.giveUp(r, "none of the bugs that I know is in the code that the test calls")
	}
	for _, src := range sources {
		if src.path == e.path {
			return w.at(planMend, e.why+". ", e.call(src))
		}
	}
	return w.giveUp(r, "I lost "+e.path)
}

// refusedTwice returns the newest change that was not made, if it is not the
// first: a file that has changed meanwhile is read once more.
func (w work) refusedTwice() (last done, ok bool) {
	n := 0
	for _, d := range w.turn {
		if d.name == "patch" && d.result.Error != "" {
			last = d
			n++
		}
	}
	return last, n > 1
}

// asked tells whether the newest call on path was a reading that failed.
func (w work) asked(path string) bool {
	for i := len(w.turn) - 1; i >= 0; i-- {
		if d := w.turn[i]; d.arg("path") == path {
			return d.name == "read_file" && d.result.Error != ""
		}
	}
	return false
}

// seen says what a run showed.
func (w work) seen(r run) string {
	still := ""
	if w.count("patch") > 0 {
		still = "still "
	}
	return fmt.Sprintf("`%s` %sfails: %s. ", r.command, still, failing(r))
}

func failing(r run) string {
	var names []string
	for _, f := range r.failures {
		name := "`" + f.test + "`"
		if f.message != "" {
			name += " (" + f.message + ")"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return "the output names no test"
	}
	return strings.Join(names, ", ")
}

func (w work) trouble(d done) string {
	switch {
	case d.result.Error != "":
		return d.result.Error
	case d.result.TimedOut:
		return "it ran into its time limit."
	default:
		return "it did not end by itself."
	}
}

// giveUp ends the work honestly.
func (w work) giveUp(r run, why string) reply {
	return say(fmt.Sprintf("%sHere I stop: %s. %s\n\n%s", w.seen(r), why, w.changes(), standIn))
}

// done ends the work: the tests pass.
func (w work) done(r run) reply {
	if w.has("todo") && w.listedPlace() >= 0 && w.listedPlace() != planDone {
		return reply{planned(planDone)}
	}
	count := ""
	if r.counted != "" {
		count = " (" + r.counted + ")"
	}
	if w.count("patch") == 0 {
		return say(fmt.Sprintf("`%s` passes%s. I changed nothing.", r.command, count))
	}
	return say(fmt.Sprintf("The tests pass now: `%s` ended with exit code 0%s, after %d runs. %s",
		r.command, count, w.count("terminal"), w.changes()))
}

// changes counts what the turn has changed, from the results' diffs.
func (w work) changes() string {
	var files []string
	edits, added, removed := 0, 0, 0
	for _, d := range w.turn {
		if d.name != "patch" || d.result.Error != "" {
			continue
		}
		edits++
		if p := d.arg("path"); !slices.Contains(files, p) {
			files = append(files, p)
		}
		for line := range strings.Lines(d.result.Diff) {
			switch {
			case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"):
			case strings.HasPrefix(line, "+"):
				added++
			case strings.HasPrefix(line, "-"):
				removed++
			}
		}
	}
	if edits == 0 {
		return "I have changed nothing."
	}
	return fmt.Sprintf("Changed: %s, %d edits, %d lines added and %d removed.", strings.Join(files, ", "), edits, added, removed)
}
