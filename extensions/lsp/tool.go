package lsp

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed tool.md
var words string

type action string

// The actions of the tool.
const (
	definition     action = "definition"
	references     action = "references"
	implementation action = "implementation"
	typeDefinition action = "type"
	hover          action = "hover"
	symbols        action = "symbols"
	find           action = "find"
	diagnostics    action = "diagnostics"
	rename         action = "rename"
	fixes          action = "fixes"
	fix            action = "fix"
)

func (action) Enum() []string {
	return []string{
		string(definition), string(references), string(implementation), string(typeDefinition), string(hover),
		string(symbols), string(find), string(diagnostics), string(rename), string(fixes), string(fix),
	}
}

type input struct {
	Action  action `json:"action"`
	Path    string `json:"path,omitempty"`
	Line    int    `json:"line,omitempty"`
	Symbol  string `json:"symbol,omitempty"`
	Query   string `json:"query,omitempty"`
	NewName string `json:"new_name,omitempty"`
	Title   string `json:"title,omitempty"`
	Limit   int    `json:"limit,omitempty"`
}

const (
	usualLimit = 50
	mostLimit  = 500
)

func (in input) limit() int {
	if in.Limit <= 0 {
		return usualLimit
	}
	return min(in.Limit, mostLimit)
}

// tool returns the tool lsp.
func (x *Instance) tool() tools.Tool {
	return tools.New(tools.Tool{
		Name: "lsp", Toolset: Toolset, Kind: tools.KindSearch, Replay: tools.NotReplayed, Plans: true, Parallel: true, Tracked: true, Foreign: true,
		Description: strings.TrimSpace(words),
		Advice:      "Use lsp to find or rename uses of a symbol: a search hits comments, equal names.",
		Title:       tools.Titled(title),
		AsksLater: func(c tools.Call) bool {
			var in input
			return json.Unmarshal(c.Args, &in) == nil && (in.Action == rename || in.Action == fix)
		},
	}, x.run)
}

// title is the line shown for a call in the editor.
func title(in input) string {
	at := in.Path
	if in.Line > 0 {
		at = fmt.Sprintf("%s:%d", in.Path, in.Line)
	}
	switch in.Action {
	case definition:
		return fmt.Sprintf("Definition of %s · %s", in.Symbol, at)
	case references:
		return fmt.Sprintf("References to %s · %s", in.Symbol, at)
	case implementation:
		return fmt.Sprintf("Implementations of %s · %s", in.Symbol, at)
	case typeDefinition:
		return fmt.Sprintf("Type of %s · %s", in.Symbol, at)
	case hover:
		return fmt.Sprintf("Description of %s · %s", in.Symbol, at)
	case symbols:
		return "Symbols of " + in.Path
	case find:
		return "Find symbol " + in.Query
	case diagnostics:
		if in.Path == "" {
			return "Problems in the workspace"
		}
		return "Problems in " + in.Path
	case rename:
		return fmt.Sprintf("Rename %s to %s", in.Symbol, in.NewName)
	case fixes:
		return "Fixes for " + at
	case fix:
		return "Fix " + in.Title
	}
	return ""
}

// run runs a call.
func (x *Instance) run(ctx context.Context, env *tools.Env, call tools.Call, in input) (tools.Result, error) {
	if x.session == nil {
		return tools.Fail("there is no session"), nil
	}
	if (in.Action == rename || in.Action == fix) && env.Planning {
		return tools.Fail("%s changes files, and the session is in plan mode. Nothing was changed. Describe the change in the plan.", in.Action), nil
	}
	q := &question{x: x, settings: x.settings(), input: in}
	result, err := q.answer(ctx, env, call)
	if err != nil && ctx.Err() == nil {
		return tools.Fail("%s", q.explain(err)), nil
	}
	return result, err
}

// errInput is a mistake in the arguments of a call.
type errInput string

func (e errInput) Error() string { return string(e) }

func needs(text string) error { return errInput(text) }

func (q *question) answer(ctx context.Context, env *tools.Env, call tools.Call) (tools.Result, error) {
	switch q.input.Action {
	case definition, references, implementation, typeDefinition:
		return q.locations(ctx)
	case hover:
		return q.hover(ctx)
	case symbols:
		return q.symbols(ctx)
	case find:
		return q.find(ctx)
	case diagnostics:
		return q.diagnostics(ctx)
	case rename:
		return q.rename(ctx, env, call)
	case fixes:
		return q.fixes(ctx)
	case fix:
		return q.fix(ctx, env, call)
	}
	return tools.Result{}, errors.New("unknown action")
}
