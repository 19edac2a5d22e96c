// Package prompts offers the prompts of servers as slash commands.
package prompts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/clean"
	"github.com/hermes-ls/hermes-ls/internal/amount"
)

const (
	most     = 200      // prompts of a server
	mostText = 64 << 10 // bytes of a prompt
	order    = 560      // of the commands: after those of files
)

// Prompts are the prompts of a server. The zero value is empty.
type Prompts struct {
	mu   sync.Mutex
	list []*sdk.Prompt
}

// Fetch requests the prompts, and reports whether they have changed. If the server offers none, or
// does not answer, the list stays.
func (p *Prompts) Fetch(ctx context.Context, session *sdk.ClientSession) (changed bool) {
	r := session.InitializeResult()
	if r == nil || r.Capabilities == nil || r.Capabilities.Prompts == nil {
		return false
	}
	var found []*sdk.Prompt
	for one, err := range session.Prompts(ctx, nil) {
		if err != nil {
			return false
		}
		if len(found) == most {
			break
		}
		found = append(found, one)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	same := slices.EqualFunc(p.list, found, func(a, b *sdk.Prompt) bool {
		return a.Name == b.Name && a.Description == b.Description && hint(a) == hint(b)
	})
	p.list = found
	return !same
}

// Get requests a prompt with its arguments.
type Get func(ctx context.Context, params *sdk.GetPromptParams) (*sdk.GetPromptResult, error)

// Commands returns a slash command for each prompt.
func (p *Prompts) Commands(server string, get Get) (all []extension.Command) {
	p.mu.Lock()
	list := slices.Clone(p.list)
	p.mu.Unlock()
	for _, one := range list {
		name := strings.Join(strings.Fields(clean.Text(server+":"+one.Name, 100)), "_")
		about := one.Description
		if about == "" {
			about = one.Title
		}
		c := extension.Command{
			Name: name, Hint: hint(one), Order: order,
			Description: strings.TrimSpace(fmt.Sprintf("(MCP server %s) %s", server, clean.Line(about, 200))),
		}
		c.Send = func(ctx context.Context, args string) (sent extension.Sent, err error) {
			given, err := arguments(one, args)
			if err != nil {
				return sent, err
			}
			r, err := get(ctx, &sdk.GetPromptParams{Name: one.Name, Arguments: given})
			if err != nil {
				return sent, err
			}
			sent.Text, err = text(r)
			sent.Own = "/" + name + " " + args
			return sent, err
		}
		all = append(all, c)
	}
	return all
}

// hint returns the names of a prompt's arguments. Optional arguments are in brackets.
func hint(p *sdk.Prompt) string {
	var names []string
	for _, a := range p.Arguments {
		name := clean.Line(a.Name, 60)
		if !a.Required {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// arguments returns the arguments in the text after the command: in the order of the prompt, or
// as key=value. A value with spaces is in quotes. The last argument gets the rest of the text.
func arguments(p *sdk.Prompt, line string) (map[string]string, error) {
	known := func(name string) bool {
		return slices.ContainsFunc(p.Arguments, func(a *sdk.PromptArgument) bool { return a.Name == name })
	}
	given := map[string]string{}
	for rest := strings.TrimSpace(line); rest != ""; {
		word, after := next(rest)
		key, value, named := strings.Cut(word, "=")
		if named && known(key) {
			given[key], rest = unquote(value), after
			continue
		}
		at := slices.IndexFunc(p.Arguments, func(a *sdk.PromptArgument) bool { _, has := given[a.Name]; return !has })
		if at < 0 {
			return nil, &extension.InputError{Param: "args", Text: fmt.Sprintf("%s takes %s: %s", p.Name, amount.Plural(len(p.Arguments), "argument"), hint(p))}
		}
		if at == len(p.Arguments)-1 {
			word, after = rest, ""
		}
		given[p.Arguments[at].Name], rest = unquote(word), after
	}
	var missing []string
	for _, a := range p.Arguments {
		if _, has := given[a.Name]; a.Required && !has {
			missing = append(missing, clean.Line(a.Name, 60))
		}
	}
	if len(missing) > 0 {
		return nil, &extension.InputError{Param: "args", Text: "it lacks " + strings.Join(missing, ", ") + ". Write the arguments in order or as key=value"}
	}
	return given, nil
}

// next cuts a word from the start of a text. A double-quoted text is part of a single word.
func next(text string) (word, rest string) {
	quoted := false
	for i, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && strings.ContainsRune(" \t\n\r", r):
			return text[:i], strings.TrimSpace(text[i:])
		}
	}
	return text, ""
}

func unquote(word string) string {
	if len(word) > 1 && word[0] == '"' && strings.IndexByte(word[1:], '"') == len(word)-2 {
		return word[1 : len(word)-1]
	}
	return word
}

// text returns the text of a prompt.
func text(r *sdk.GetPromptResult) (string, error) {
	var parts []string
	for _, m := range r.Messages {
		part := ""
		switch c := m.Content.(type) {
		case *sdk.TextContent:
			part = c.Text
		case *sdk.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				part = fmt.Sprintf("%s:\n%s", c.Resource.URI, c.Resource.Text)
			}
		case *sdk.ResourceLink:
			part = fmt.Sprintf("[%s](%s)", clean.Line(c.Name, 200), clean.Line(c.URI, 2000))
		}
		if part == "" {
			part = "[content that is no text is left out]"
		}
		if m.Role == "assistant" {
			part = "Example of an answer:\n" + part
		}
		parts = append(parts, part)
	}
	whole := strings.TrimSpace(clean.Text(strings.Join(parts, "\n\n"), mostText+1))
	switch {
	case len(whole) > mostText:
		return "", fmt.Errorf("the prompt has more than %s", amount.IBytes(mostText))
	case whole == "":
		return "", fmt.Errorf("the server returned an empty prompt")
	}
	return whole, nil
}
