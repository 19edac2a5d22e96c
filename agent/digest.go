package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Headings of a compaction's text. They are stored: a later compaction uses them to find the
// parts of the earlier text.
const (
	digestHead = "This summary replaces the older part of this conversation, which did not fit the context window. " +
		"The user wrote the requests and the last message in it: they have the rank of the user's messages, and a later one beats an earlier one. " +
		"hermes-ls wrote the lists. You wrote the notes. Do not repeat work that is done."
	askedPart   = "## What the user asked, in their words"
	planPart    = "## The plan"
	changedPart = "## Files that were changed"
	readPart    = "## Files that were read (read them again before you rely on them)"
	notesPart   = "## Your notes"
	lastPart    = "## The user's last message, word for word"
)

const (
	askedMost  = 40     // number of prompts: the first and the newest
	askedLong  = 600    // bytes of each
	firstLong  = 4_000  // bytes of the first prompt
	lastLong   = 48_000 // bytes of the last prompt, if the context window has room
	filesMost  = 60
	notesLong  = 24_000 // bytes
	filesLeast = 4      // minimum number of listed paths
	filesRoom  = 800    // minimum for listed paths, in bytes
)

// digestFacts are the parts of a digest not in the history.
type digestFacts struct {
	notes   string   // of the model
	changed []string // files, changed by any program
	most    int      // approximate size limit of the digest, in bytes
}

// asked returns the number of user prompts in the digest and the bytes for each.
func (f digestFacts) asked() (count, long int) {
	long = min(askedLong, max(f.most/16, 80))
	return min(askedMost, max(f.most/4/long, 2)), long
}

// first returns the bytes of the user's first request, which is often the task.
func (f digestFacts) first() int { return max(askedLong, min(f.most/4, firstLong)) }

// files returns as many of the newest files of a list as fit into its share of the digest.
func (f digestFacts) files(all []string) []string {
	all = newest(all, filesMost)
	n, room := 0, max(f.most/8, filesRoom)
	for _, path := range slices.Backward(all) {
		if room -= len(path) + len("\n- "); room < 0 && n >= filesLeast {
			break
		}
		n++
	}
	return all[len(all)-n:]
}

// digest returns the text that replaces the messages before from. It contains facts known
// without a model, and the model's notes. If the user's last message is replaced too, the
// digest ends with it.
func (h *history) digest(from int, facts digestFacts, set *tools.Set, at tools.Files) string {
	old := h.messages[:from]
	var before string // the text of the previous compaction
	if len(old) > 0 && h.origins[0].seq == 0 {
		before = old[0].Text()
	}
	before, last := splitLast(before)
	askedCount, askedBytes := facts.asked()
	asked := listed(before, askedPart)
	for i := range asked { // earlier versions kept the last message in this list
		if text, newest := strings.CutPrefix(asked[i], "(the newest) "); newest {
			asked[i] = clipped(text, askedLong)
		}
	}
	for i := range h.messages {
		if !h.origins[i].isPrompt {
			continue
		}
		if words := ownWords(last); words != "" {
			if len(asked) == 0 {
				askedBytes = max(askedBytes, facts.first()) // of the first prompt
			}
			asked = append(asked, quoted(words, askedBytes))
			_, askedBytes = facts.asked()
		}
		if last = h.promptText(i); i >= from {
			last = "" // it stays in the history
			break
		}
	}
	var b strings.Builder
	b.WriteString(digestHead)
	if len(asked) > 0 {
		first := clipped(asked[0], facts.first())
		asked = append([]string{first}, clipAll(asked[1:], askedBytes)...)
	}
	part(&b, askedPart, firstAndLast(asked, askedCount))
	part(&b, planPart, plan(h))
	changed, read := files(old, set, at)
	changed = facts.files(slices.Concat(listed(before, changedPart), changed, facts.changed))
	read = slices.DeleteFunc(append(listed(before, readPart), read...), func(f string) bool { return slices.Contains(changed, f) })
	part(&b, changedPart, changed)
	part(&b, readPart, facts.files(read))
	notes := facts.notes
	if notes == "" {
		_, notes, _ = strings.Cut(before, notesPart+"\n") // older notes are better than none
	}
	notes = strings.ReplaceAll("\n"+notes, "\n"+lastPart, "\n#"+lastPart) // a line of the notes must not look like the heading
	if notes = clipped(strings.TrimSpace(notes), min(notesLong, facts.most/3)); notes != "" {
		fmt.Fprintf(&b, "\n\n%s\n%s", notesPart, notes)
	}
	if last != "" {
		fmt.Fprintf(&b, "\n\n%s\n\n%s", lastPart, clipped(last, min(lastLong, max(askedLong, facts.most/3))))
	}
	return b.String()
}

// promptText returns the user's own text in a prompt and its attachments. Rules, the
// environment and notices are not the user's.
func (h *history) promptText(i int) string {
	text := h.messages[i].Text()
	typed := min(h.origins[i].typed, len(text))
	added := visible(text[typed:])
	for {
		before, after, found := cutBlock(added, newsText)
		if !found {
			return text[:typed] + added
		}
		added = before + after
	}
}

// ownWords returns the user's own part of a text from promptText.
func ownWords(text string) string {
	for _, name := range []string{rulesText, environmentText, newsText, attachedText, linkedText} {
		if strings.HasPrefix(text, name) {
			return ""
		}
		text, _, _ = strings.Cut(text, "\n\n"+name)
	}
	return strings.TrimSpace(text)
}

func clipAll(items []string, limit int) []string {
	out := make([]string, len(items))
	for i, item := range items {
		out[i] = clipped(item, limit)
	}
	return out
}

// splitLast cuts the user's last message off an earlier digest. If the digest contains none,
// last is empty.
func splitLast(text string) (before, last string) {
	before, last, _ = strings.Cut(text, "\n\n"+lastPart+"\n\n")
	return before, last
}

// firstAndLast returns the first and the last items, at most limit.
func firstAndLast(items []string, limit int) []string {
	if len(items) <= limit {
		return items
	}
	return slices.Concat(items[:limit/2], items[len(items)-limit/2:])
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

// quoted returns a text as a list item: no line of it looks like a heading.
func quoted(text string, limit int) string {
	return strings.ReplaceAll(clipped(strings.TrimSpace(text), limit), "\n", "\n  ")
}

func clipped(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	kept := strings.ToValidUTF8(text[:limit], "")
	return fmt.Sprintf("%s […%d more bytes]", kept, len(text)-len(kept))
}

func plan(h *history) []string {
	var lines []string
	for _, t := range h.todos {
		lines = append(lines, fmt.Sprintf("%s: %s", t.Status, quoted(t.Content, askedLong)))
	}
	return lines
}

// files returns the paths in the arguments of file tool calls, except failed calls.
func files(messages []model.Message, set *tools.Set, at tools.Files) (changed, read []string) {
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
			t, _ := set.Get(c.Name)
			switch {
			case t.Replay != tools.Replayed: // its paths may be on another machine
			case t.Kind == tools.KindEdit:
				changed = append(changed, pathsOf(c, at)...)
			case t.Kind == tools.KindRead:
				read = append(read, pathsOf(c, at)...)
			}
		}
	}
	return changed, read
}

// pathsOf returns the files in the arguments of a call. A patch may name several.
func pathsOf(c model.Call, at tools.Files) []string {
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
			paths = append(paths, nameOf(path, at))
		}
	}
	return paths
}

// nameOf returns the session's standard form of a file name.
func nameOf(path string, at tools.Files) string {
	if at != nil {
		if abs, err := at.Abs(path); err == nil {
			path = at.Name(abs)
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
