package learnings

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/markup"
	"github.com/hermes-ls/hermes-ls/tools"
)

// entries lists the learnings.
func (x *instance) entries(ctx context.Context) (map[string]any, error) {
	all, err := x.store.List(ctx, x.config().HalfLife)
	return map[string]any{"learnings": tools.OrEmpty(all)}, err
}

// document writes the learnings as Markdown to a file in $HERMES_HOME/cache and returns its path.
func (x *instance) document(ctx context.Context, command, _ string) (path string, ok bool, err error) {
	if command != Table[1].Execute {
		return "", false, nil
	}
	all, err := x.store.List(ctx, x.config().HalfLife)
	if err != nil {
		return "", true, err
	}
	path = filepath.Join(x.store.home, "cache", "learnings.md")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", true, err
	}
	return path, true, os.WriteFile(path, []byte(document(all)), 0o600)
}

// document returns learnings as Markdown.
func document(all []Learning) string {
	var b strings.Builder
	b.WriteString("# Learnings\n\nThese calls worked after an error. This file is a copy: `/learnings forget NUMBER` removes a learning.\n")
	for _, l := range all {
		fmt.Fprintf(&b, "\n## %d. %s\n\nSeen %s, confidence %.2f.\n", l.ID, escape.Line(l.Program), amount.Plural(l.Seen, "time"), l.Confidence)
		for _, part := range [][2]string{{"Error", l.Error}, {"Failed", l.Failed}, {"Worked", l.Worked}} {
			text := escape.Text(part[1])
			fence := markup.Fence(text)
			fmt.Fprintf(&b, "\n%s:\n\n%s\n%s\n%s\n", part[0], fence, text, fence)
		}
	}
	if len(all) == 0 {
		b.WriteString("\nThere are no learnings.\n")
	}
	return b.String()
}
