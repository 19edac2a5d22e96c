package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/markup"
)

var command = extension.Command{
	Name: "memory", Neovim: "memory", Description: "Show what is remembered, or undo the last write", Hint: "undo", Order: 66,
}

// Table holds the rows of the command table.
var Table = []extension.Command{command, {Execute: "hermes.memory.open", VSCode: "hermes.memory.open", Title: "Edit Memory…", Description: "Open a file of the memory in the editor", Order: 154}, {VSCode: "hermes.memory.undo", Title: "Undo Last Write of Memory", Description: "Undo the last write of the agent to the memory", Order: 156}}

// Commands returns /memory.
func (x *instance) Commands() []extension.Command { return []extension.Command{command.With(x.run)} }

// run is /memory.
func (x *instance) run(ctx context.Context, args string) (string, error) {
	switch strings.TrimSpace(args) {
	case "":
		return show(x.files())
	case "undo":
		name, err := Undo(ctx, x.home)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("The last write of %s is undone.", name), nil
	}
	return "", extension.BadInput("memory", "%q is not known: use /memory or /memory undo", args)
}

// Kept are the entries of a file, for people.
type Kept struct {
	Target  Target
	Heading string
	Usage   string // such as "67 %, 1474/2200"
	Path    string
	Entries []string // as they are on disk
	Blocked []string // for each entry, why the model does not see it; empty: it does
}

// List reads files.
func List(files map[Target]File) (all []Kept, err error) {
	for _, t := range targets {
		f, ok := files[t]
		if !ok {
			continue
		}
		c, err := f.read()
		if err != nil {
			return nil, err
		}
		k := Kept{Target: t, Heading: headings[t], Usage: f.usage(c.entries), Path: f.Path, Entries: c.entries}
		for _, e := range c.entries {
			k.Blocked = append(k.Blocked, poisoned(e))
		}
		all = append(all, k)
	}
	return all, nil
}

// show returns the entries of files, as Markdown.
func show(files map[Target]File) (string, error) {
	all, err := List(files)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "Memory is turned off in the configuration.", nil
	}
	var b strings.Builder
	for _, k := range all {
		fmt.Fprintf(&b, "**%s** (%s): `%s`\n\n", k.Heading, k.Usage, k.Path)
		for i, e := range k.Entries {
			b.WriteString(quoted(e))
			if k.Blocked[i] != "" {
				fmt.Fprintf(&b, "The model does not see it: %s.\n", k.Blocked[i])
			}
		}
		if len(k.Entries) == 0 {
			b.WriteString("No entries.\n")
		}
		b.WriteString("\n")
	}
	b.WriteString("The files may be edited by hand; a line with only § separates entries. A new session reads them.")
	return b.String(), nil
}

// quoted returns an entry as a code block, so its text is shown unchanged.
func quoted(entry string) string {
	text := escape.Text(entry)
	fence := markup.Fence(text)
	return fence + "\n" + text + "\n" + fence + "\n"
}
