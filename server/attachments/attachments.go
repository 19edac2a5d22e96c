// Package attachments makes the resources of a prompt readable for the model.
//
// Attachments of an editor name a file by its URI, with lines as in #L3-L9, and have a selection
// as its text. The model gets them as tools name and read files: the path in the workspace, and
// whole lines with their numbers.
package attachments

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// around is how many lines are attached before and after a place.
const around = 10

var lineFragment = lazyregexp.New(`^L(\d{1,9})(?:-L?(\d{1,9}))?$`)

// Read returns the resources of a prompt in the model's form. Resources outside of the workspace
// stay as they are.
func Read(ctx context.Context, files tools.Files, all []agent.Resource) []agent.Resource {
	out := make([]agent.Resource, len(all))
	for i, r := range all {
		out[i] = attachment(ctx, files, r)
	}
	return out
}

func attachment(ctx context.Context, files tools.Files, r agent.Resource) agent.Resource {
	address, fragment, _ := strings.Cut(r.URI, "#")
	path := workspace.FromURI(address)
	if path == address {
		return r
	}
	abs, err := files.Abs(path)
	if err != nil {
		return r
	}
	name := files.Name(abs)
	m := lineFragment.FindStringSubmatch(fragment)
	if m == nil {
		switch {
		case fragment != "": // such as #diagnostics
			return agent.Resource{URI: name + ", " + fragment, Text: r.Text}
		case r.Text != "":
			return agent.Resource{URI: name, Text: numbered(r.Text, 1)}
		}
		return agent.Resource{URI: name}
	}
	first, _ := strconv.Atoi(m[1]) // are digits
	last, _ := strconv.Atoi(m[2])
	return linesOf(ctx, files, abs, r.Text, max(first, 1), last)
}

// linesOf attaches the lines from first to last of a file. If it is one line, or last is 0, and
// no part of the line is selected, the lines around it are attached. If the file has another text there, the
// attached text applies.
func linesOf(ctx context.Context, files tools.Files, abs, text string, first, last int) agent.Resource {
	name := files.Name(abs)
	from, to := first, max(first, last)
	f, err := files.Read(ctx, abs)
	var lines []string
	if err == nil && bytes.IndexByte(f.Text, 0) < 0 {
		lines = strings.SplitAfter(strings.TrimSuffix(string(f.Text), "\n"), "\n")
	}
	selected := strings.TrimSpace(text)
	if last <= first && (selected == "" || first <= len(lines) && selected == strings.TrimSpace(lines[first-1])) {
		from, to = max(1, first-around), first+around
	}
	to = min(to, len(lines))
	if from > to || !strings.Contains(strings.Join(lines[from-1:to], ""), strings.TrimRight(text, "\n")) {
		if text == "" {
			return agent.Resource{URI: name}
		}
		return agent.Resource{URI: fmt.Sprintf("%s, lines %d-%d", name, first, max(first, last)), Text: numbered(text, first)}
	}
	where := fmt.Sprintf("%s, lines %d-%d", name, from, to)
	if last <= first && from < first {
		where += fmt.Sprintf(" (the cursor is on line %d)", first)
	}
	return agent.Resource{URI: where, Text: numbered(strings.Join(lines[from-1:to], ""), from)}
}

// numbered writes the number of each line before it.
func numbered(text string, first int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		fmt.Fprintf(&b, "%d|%s", first, line)
		first++
	}
	return b.String()
}
