package file

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

//go:embed patch.md
var patchWords string

type patchMode string

func (patchMode) Enum() []string { return []string{"replace", "patch"} }

type patchIn struct {
	Path       string    `json:"path,omitempty" jsonschema:"replace: the file"`
	OldString  string    `json:"old_string,omitempty" jsonschema:"replace: text to find"`
	NewString  *string   `json:"new_string,omitempty" jsonschema:"replace: text to put there; empty deletes old_string"`
	ReplaceAll bool      `json:"replace_all,omitempty" jsonschema:"replace: change every occurrence"`
	Mode       patchMode `json:"mode,omitempty" jsonschema:"default replace"`
	Patch      string    `json:"patch,omitempty" jsonschema:"patch: text as above, from *** Begin Patch to *** End Patch"`
	// Edits are several replacements in one file, all or none, as other agents send them.
	Edits []patchEdit `json:"edits,omitempty" offer:"no"`
}

// patchEdit is a replacement in Edits.
type patchEdit struct {
	OldString  string  `json:"old_string"`
	NewString  *string `json:"new_string,omitempty"`
	ReplaceAll bool    `json:"replace_all,omitempty"`
}

// edits returns the replacements of a call.
func (in patchIn) edits() []patchEdit {
	if len(in.Edits) > 0 {
		return in.Edits
	}
	return []patchEdit{{in.OldString, in.NewString, in.ReplaceAll}}
}

type patchOut struct {
	Success       bool     `json:"success"`
	Diff          string   `json:"diff"`
	FilesModified []string `json:"files_modified"`
	Replacements  int      `json:"replacements"`
	SyntaxErrors  []string `json:"syntax_errors,omitempty"`
	problems
	Note string `json:"note,omitempty"`
}

func patchTool(c Config) tools.Tool {
	return tools.New(tools.Tool{
		Name: "patch", Toolset: "file", Replay: tools.Replayed, Kind: tools.KindEdit, EditsFiles: true,
		Description: strings.TrimSpace(patchWords),
		Brief:       "Change part of a file: replace old_string, copied exactly from the file without line numbers, by new_string. It must occur once.",
		BriefParams: []string{"path", "old_string", "new_string"},
		Title:       tools.Titled(patchTitle),
		Script:      `(path, old_string, new_string, replace_all=False) → success, diff`,
		Edit:        editOf(c, patchEdits),
	}, with(c, patch))
}

// patchEdits returns the edit of a call without making it.
func patchEdits(ctx context.Context, env *callEnv, in patchIn) (tools.Edit, error) {
	if in.wholePatch() {
		p, err := planPatch(ctx, env, in.Patch)
		if err != nil {
			return tools.Edit{}, err
		}
		return gate.EditOf(ctx, env.Bounds, p.changes(), p.plan(env))
	}
	if err := checkPatch(in); err != nil {
		return tools.Edit{}, err
	}
	var done replaced
	return gate.EditOf(ctx, env.Bounds, in.changes(), plan(env, in.Path, in.change(ctx, &done)))
}

// wholePatch reports whether the call contains a V4A patch.
func (in patchIn) wholePatch() bool {
	return in.Mode == "patch" || in.Mode == "" && in.Patch != "" && in.OldString == ""
}

func (in patchIn) changes() []gate.Change { return []gate.Change{{Doing: "Edit ", Path: in.Path}} }

// change returns the change of the file. It sets done.
func (in patchIn) change(ctx context.Context, done *replaced) presentChange {
	return onPresent(func(old string, since sinceRead) (string, error) {
		err := since.check(in.edits())
		if err != nil {
			return "", err
		}
		if *done, err = replaceAll(ctx, old, in.edits()); err == nil && done.text == old {
			err = errUnchanged
		}
		done.since = since.note()
		return done.text, since.explain(err)
	})
}

func patchTitle(in patchIn) string {
	if in.Patch == "" {
		return "Edit " + in.Path
	}
	ops, err := parsePatch(in.Patch)
	if err != nil {
		return "Edit files"
	}
	title := map[int]string{opAdd: "Add ", opDelete: "Delete ", opUpdate: "Edit "}[ops[0].kind] + ops[0].path
	if others := len(ops) - 1; others > 0 {
		title += fmt.Sprintf(" and %d more", others)
	}
	return title
}

func patch(ctx context.Context, env *callEnv, call tools.Call, in patchIn) (tools.Result, error) {
	if in.wholePatch() {
		return patchFiles(ctx, env, call, in.Patch)
	}
	if err := checkPatch(in); err != nil {
		return tools.Result{}, err
	}
	var done replaced
	change, asked := in.change(ctx, &done), &approval{}
	if err := gate.CheckEdit(ctx, env.Env, env.Bounds, call, in.changes(), asked.record(plan(env, in.Path, change))); err != nil {
		if rejected := (*gate.Rejection)(nil); errors.As(err, &rejected) {
			return tools.Result{}, err
		}
		return tools.Result{}, readAgain(ctx, env, in.Path, in.OldString, err)
	}
	known := diagnose(ctx, env, in.Path)
	written, err := env.Files.EditPresent(ctx, in.Path, asked.edited(env, in.Path, change))
	if errors.Is(err, errUnchanged) {
		out := patchOut{Success: true, FilesModified: []string{}, Note: joined(done.note, done.since)}
		return tools.OK(out).Brief(out.brief(false)), nil
	}
	if err != nil {
		return tools.Result{}, readAgain(ctx, env, in.Path, in.OldString, err)
	}
	out := patchOut{
		Success:       true,
		Diff:          briefDiff(shownDiff(written)),
		FilesModified: []string{written.Name},
		Replacements:  done.count,
		SyntaxErrors:  afterwards(ctx, env, written),
		problems:      known.notice(ctx, written),
		Note:          joined(done.note, done.since, written.Note),
	}
	return tools.OK(out).Brief(out.brief(done.note != "", written)).With(shownEdit(written)...), nil
}

// patchBrief is a patchOut for the model. It contains the diff only if the text was not found
// exactly as given.
type patchBrief struct {
	Changed      []changed `json:"changed"`
	Replacements int       `json:"replacements,omitempty"`
	Diff         string    `json:"diff,omitempty"`
	SyntaxErrors []string  `json:"syntax_errors,omitempty"`
	problems
	Note string `json:"note,omitempty"`
}

func (out patchOut) brief(fuzzy bool, written ...*workspace.Written) patchBrief {
	b := patchBrief{Changed: changesOf(written...), SyntaxErrors: out.SyntaxErrors, problems: out.problems, Note: out.Note}
	if out.Replacements > 1 {
		b.Replacements = out.Replacements
	}
	if fuzzy {
		b.Diff = out.Diff
	}
	return b
}

// mark may begin a file; the model is not shown it and does not write it.
const mark = "\ufeff"

// onText converts a change of text into a change of bytes. The file keeps its encoding, and its
// byte order mark if it had it.
func onText(change func(old string) (string, error)) func([]byte) ([]byte, error) {
	return func(old []byte) ([]byte, error) {
		charset := textenc.CharsetOf(old)
		before, marked := strings.CutPrefix(string(charset.Decode(old)), mark)
		text, err := change(before)
		if err != nil {
			return nil, err
		}
		// A whole new text may bring its own mark; a text with two marks keeps them.
		if marked && (strings.HasPrefix(before, mark) || !strings.HasPrefix(text, mark)) {
			text = mark + text
		}
		return charset.EncodeEdit(old, []byte(text))
	}
}

// missesBeforeAdvice is how many edits of a file may fail in a row before the model is advised to
// read it.
const missesBeforeAdvice = 3

// replaceAll makes the replacements one after the other. If a replacement fails, the error names
// it.
func replaceAll(ctx context.Context, text string, edits []patchEdit) (replaced, error) {
	all := replaced{text: text}
	var said notes
	for i, e := range edits {
		done, err := replace(ctx, all.text, replacement{old: e.OldString, new: *e.NewString, all: e.ReplaceAll})
		which := ""
		if len(edits) > 1 {
			which = fmt.Sprintf("edit %d: ", i+1)
		}
		if err != nil {
			return replaced{}, fmt.Errorf("%s%w", which, err)
		}
		if done.note != "" {
			said.add(which + done.note)
		}
		all.text, all.count = done.text, all.count+done.count
	}
	all.note = said.String()
	return all, nil
}

// readAgain counts failed edits to a file. From the third failure, the error shows lines of the
// file, near old if a similar line exists.
func readAgain(ctx context.Context, env *callEnv, path, old string, failure error) error {
	abs, err := env.Files.Abs(path)
	if err != nil || errors.Is(failure, context.Canceled) || errors.Is(failure, workspace.ErrStale) || errors.Is(failure, workspace.ErrNotFound) {
		return failure
	}
	if n := env.Recall.missed(abs); n >= missesBeforeAdvice {
		return fmt.Errorf("%w. %d edits of %s have failed in a row. %s", failure, n, path, currentLines(ctx, env, path, old))
	}
	return failure
}

// currentMost lines of a file are shown after failed edits.
const currentMost = 60

// currentLines shows the lines of a file near old, or its first lines.
func currentLines(ctx context.Context, env *callEnv, path, old string) string {
	again := "Read it again before the next edit"
	f, err := env.Files.Read(ctx, path)
	if err != nil {
		return again
	}
	text := string(withoutBOM(textenc.CharsetOf(f.Text).Decode(f.Text)))
	lines := strings.Split(strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n"), "\n")
	first := 0
	if at, _, _ := closest(lines, strings.Split(strings.Trim(old, "\n"), "\n")); at >= 0 && old != "" && len(lines) > currentMost {
		first = max(min(at-currentMost/3, len(lines)-currentMost), 0)
	}
	last := min(first+currentMost, len(lines))
	var b strings.Builder
	var n notes
	for i, line := range lines[first:last] {
		b.WriteString("\n" + shownLine(line, first+i+1, &n))
	}
	return fmt.Sprintf("Its lines %d to %d of %d are now:%s\nCopy old_string from these lines, without the numbers and |", first+1, last, len(lines), tools.CutMiddle(b.String(), 6000))
}

// checkPatch rejects an invalid input before a file is read. If it returns nil, new_string was
// given: a truncated call must not delete old_string.
func checkPatch(in patchIn) error {
	switch {
	case in.Patch != "" || len(in.Edits) > 0 && in.OldString != "":
		return errors.New("give either path, old_string and new_string, or mode=patch and patch, not both; nothing was changed")
	case in.Path == "" && in.OldString == "" && in.Edits == nil && in.NewString == nil:
		return errors.New("path, old_string and new_string are missing. Nothing was changed. Send all three, or mode=patch with patch. " + patchFormat)
	case in.Path == "":
		return errors.New("path is missing. Nothing was changed. Send path, the file to change, with old_string and new_string")
	}
	edits := in.edits()
	for i, e := range edits {
		if err := e.check(); err != nil && len(edits) > 1 {
			return fmt.Errorf("edit %d: %w", i+1, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// check rejects a replacement without a valid meaning.
func (e patchEdit) check() error {
	switch {
	case e.OldString == "" && e.NewString != nil:
		return errors.New("old_string is empty. Nothing was changed. Copy into it the text to replace, with enough lines around it to occur once. A new file is made with write_file")
	case e.OldString == "":
		return errors.New(`old_string and new_string are missing. Nothing was changed. Send the text to replace as old_string, and its replacement as new_string`)
	case strings.TrimSpace(e.OldString) == "":
		return errors.New("old_string is only white space, which is everywhere. Nothing was changed. Include the text before or after it")
	case e.NewString == nil:
		return errors.New(`new_string is missing. Nothing was changed. Send new_string; "" deletes old_string`)
	case e.OldString == *e.NewString:
		return errors.New("old_string and new_string are the same, so nothing was changed. If the file is already right, go on; else send another new_string")
	}
	return nil
}

// replaced is a text with its replacements.
type replaced struct {
	text  string
	count int
	note  string
	since string // the changes since the file was read
}

// alreadyLength is the minimum length of new_string to conclude from its presence that the edit was
// made before.
const alreadyLength = 8

// replace makes the replacement in text. If the old text is missing, the error
// names the nearest lines.
func replace(ctx context.Context, text string, e replacement) (replaced, error) {
	found, err := find(ctx, text, e)
	if err != nil {
		return replaced{}, err
	}
	if len(found.spans) == 0 {
		if at, ok := already(text, e); ok {
			return replaced{text: text, note: fmt.Sprintf("already applied: old_string is not in the file, and new_string is, at line %d; nothing was changed", at)}, nil
		}
		return replaced{}, noMatch(text, e.old)
	}
	done := replaced{text: found.apply(), count: len(found.spans), note: found.note()}
	if done.text == text {
		done.note = fmt.Sprintf("already applied: line %d is as new_string has it; nothing was changed", lineAt(text, found.spans[0].start))
	}
	return done, nil
}

// already reports whether the new text occurs exactly once and is long enough to conclude that the
// edit was made before.
func already(text string, e replacement) (line int, ok bool) {
	if len(strings.TrimSpace(e.new)) < alreadyLength {
		return 0, false
	}
	v := viewOf(text, e.new)
	e.old = v.wanted(e.new)
	spans := v.allowed(v.exactly(e.old), e)
	if len(spans) == 0 || len(spans) > 1 && !e.all {
		return 0, false
	}
	return lineAt(text, spans[0].start), true
}

// note states where and how an inexact match was found.
func (h hits) note() string {
	if h.how == "" {
		return ""
	}
	where := fmt.Sprintf("line %d", lineAt(h.text, h.spans[0].start))
	if len(h.spans) > 1 {
		where = fmt.Sprintf("%d places", len(h.spans))
	}
	return "found at " + where + " " + h.how
}
