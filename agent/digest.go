package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Headings of a compaction's text. They are stored: a later compaction finds the parts of
// the earlier text by them.
const (
	digestHead  = "The older part of this conversation did not fit the context window any more. This stands for it: data, put together by hermes-ls and by you, not said by the user now."
	askedPart   = "## What the user asked, in their words"
	planPart    = "## The plan"
	changedPart = "## Files that were changed"
	readPart    = "## Files that were read (read them again before you rely on them)"
	notesPart   = "## Your notes"
)

const (
	askedMost   = 40     // number of prompts: the first and the last ones
	askedLong   = 600    // bytes of each
	currentLong = 16_000 // bytes of the newest one
	filesMost   = 60
	notesLong   = 24_000 // bytes
)

// digest returns the text that replaces the messages before from. It has the facts that
// are known without a model, and the model's notes. known are files that have changed, no
// matter which program changed them.
func (h *history) digest(from int, notes string, known []string, env *tools.Env) string {
	old := h.messages[:from]
	var before string // the text of the previous compaction
	if len(old) > 0 && h.origins[0].seq == 0 {
		before = old[0].Text()
	}
	var b strings.Builder
	b.WriteString(digestHead)
	part(&b, askedPart, h.asked(from, before))
	part(&b, planPart, plan(h))
	changed, read := files(old, env)
	changed = newest(slices.Concat(listed(before, changedPart), changed, known), filesMost)
	read = slices.DeleteFunc(append(listed(before, readPart), read...), func(f string) bool { return slices.Contains(changed, f) })
	part(&b, changedPart, changed)
	part(&b, readPart, newest(read, filesMost))
	if notes == "" {
		_, notes, _ = strings.Cut(before, notesPart+"\n") // older notes are better than none
	}
	if notes = clipped(strings.TrimSpace(notes), notesLong); notes != "" {
		fmt.Fprintf(&b, "\n\n%s\n%s", notesPart, notes)
	}
	return b.String()
}

func part(b *strings.Builder, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintf(b, "\n\n%s", title)
	for _, item := range items {
		fmt.Fprintf(b, "\n- %s", item)
	}
}

// listed returns the items of a part of an earlier digest.
func listed(text, title string) []string {
	text, _, _ = strings.Cut(text, "\n"+notesPart+"\n")
	_, text, found := strings.Cut(text, "\n"+title+"\n- ")
	if !found {
		return nil
	}
	text, _, _ = strings.Cut(text, "\n\n## ")
	return strings.Split(strings.TrimRight(text, "\n"), "\n- ")
}

// asked returns the user's prompts, quoted so that no line looks like a heading. If the
// newest prompt is among the old messages, up to currentLong bytes of it are kept, because
// the turn may still work on it.
func (h *history) asked(from int, before string) []string {
	said := listed(before, askedPart)
	last := -1
	for i := range h.messages {
		if h.origins[i].spoken {
			last = i
		}
	}
	for i, m := range h.messages[:from] {
		switch {
		case !h.origins[i].spoken:
		case i == last:
			said = append(said, "(the newest) "+quoted(m.Text(), currentLong))
		default:
			said = append(said, quoted(m.Text(), askedLong))
		}
	}
	if len(said) > askedMost {
		half := askedMost / 2
		said = append(slices.Clone(said[:half]), said[len(said)-half:]...)
	}
	return said
}

func quoted(text string, limit int) string {
	return strings.ReplaceAll(clipped(strings.TrimSpace(text), limit), "\n", "\n  ")
}

func clipped(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " […]"
}

func plan(h *history) []string {
	var lines []string
	for _, t := range h.todos {
		lines = append(lines, fmt.Sprintf("%s: %s", t.Status, quoted(t.Content, askedLong)))
	}
	return lines
}

// files returns the paths in the arguments of calls, except those of failed calls.
func files(messages []model.Message, env *tools.Env) (changed, read []string) {
	failed := map[string]bool{}
	for _, m := range messages {
		if m.Role == model.ToolRole && strings.HasPrefix(m.Text(), `{"error"`) {
			failed[m.CallID()] = true
		}
	}
	for _, m := range messages {
		for _, c := range m.Calls() {
			if failed[c.ID] {
				continue
			}
			switch c.Name {
			case "write_file", "patch":
				changed = append(changed, pathsOf(c, env)...)
			case "read_file":
				read = append(read, pathsOf(c, env)...)
			}
		}
	}
	return changed, read
}

// pathsOf returns the files in the arguments of a call. A patch may have several.
func pathsOf(c model.Call, env *tools.Env) []string {
	var in struct{ Path, Patch string }
	if json.Unmarshal([]byte(c.Args), &in) != nil {
		return nil
	}
	named := []string{in.Path}
	for line := range strings.Lines(in.Patch) {
		line = strings.TrimSpace(line)
		for _, head := range []string{"*** Update File:", "*** Add File:", "*** Delete File:", "*** Move to:"} {
			if path, ok := strings.CutPrefix(line, head); ok {
				named = append(named, strings.TrimSpace(path))
			}
		}
	}
	var paths []string
	for _, path := range named {
		if path != "" {
			paths = append(paths, nameOf(path, env))
		}
	}
	return paths
}

// nameOf returns the name of a file in the form that the session uses for all files.
func nameOf(path string, env *tools.Env) string {
	if env.Files != nil {
		if abs, err := env.Files.Abs(path); err == nil {
			path = env.Files.Name(abs)
		}
	}
	return strings.Map(printable, path)
}

// newest returns the last items, without duplicates, at most limit.
func newest(items []string, limit int) []string {
	var kept []string
	for _, item := range slices.Backward(items) {
		if len(kept) < limit && !slices.Contains(kept, item) {
			kept = append(kept, item)
		}
	}
	slices.Reverse(kept)
	return kept
}
