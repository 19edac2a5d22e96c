package learnings

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/escape"
)

var command = extension.Command{
	Name: "learnings", Neovim: "learnings", Description: "Show what worked after errors, or forget it", Hint: "text, or forget and a number or all", Order: 67,
}

// Table holds the rows of the command table.
var Table = []extension.Command{command, {Execute: "hermes.learnings.open", VSCode: "hermes.learnings.open", Title: "Open Learnings", Description: "Open the learnings in the editor", Order: 155}, {VSCode: "hermes.learnings.forget", Title: "Forget Learning…", Description: "Forget a learning", Order: 157}}

// Commands returns /learnings.
func (x *instance) Commands() []extension.Command { return []extension.Command{command.With(x.run)} }

// run is /learnings.
func (x *instance) run(ctx context.Context, args string) (string, error) {
	words := strings.Fields(args)
	if len(words) == 2 && words[0] == "forget" {
		id, err := IDOf(words[1])
		if err != nil {
			return "", extension.BadInput("learnings", "%v", err)
		}
		return Forget(ctx, x.store, id)
	}
	all, err := x.store.List(ctx, x.config().HalfLife)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, l := range all {
		if args == "" || strings.Contains(strings.ToLower(l.Program+" "+l.Error+" "+l.Failed+" "+l.Worked), strings.ToLower(args)) {
			fmt.Fprintf(&b, "%d. `%s`: %s\n   failed: %s\n   worked: %s (seen %d, confidence %.2f)\n", l.ID, escape.Line(l.Program), escape.Line(l.Error), escape.Line(l.Failed), escape.Line(l.Worked), l.Seen, l.Confidence)
		}
	}
	if b.Len() == 0 {
		return "There are no learnings" + map[bool]string{true: ".", false: " with this text."}[args == ""], nil
	}
	return b.String() + "\n`/learnings forget NUMBER` or `/learnings forget all` removes them.", nil
}

// IDOf returns the number of a learning; "all" is 0.
func IDOf(text string) (id int64, err error) {
	if text == "all" {
		return 0, nil
	}
	if id, err = strconv.ParseInt(text, 10, 64); err != nil || id <= 0 {
		return 0, fmt.Errorf("%q is neither the number of a learning nor all", text)
	}
	return id, nil
}

// Forget deletes the learning of a number, or all if it is 0, and returns a text about it.
func Forget(ctx context.Context, s *Store, id int64) (string, error) {
	n, err := s.Forget(ctx, id)
	switch {
	case err != nil:
		return "", err
	case n == 0 && id > 0:
		return "", fmt.Errorf("there is no learning %d. Nothing was forgotten", id)
	case n == 1:
		return "One learning is forgotten.", nil
	}
	return fmt.Sprintf("%d learnings are forgotten.", n), nil
}
