package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Call runs one call through events and tool. The result reports every problem as {"error": "…"}:
// an unknown tool, invalid arguments, an error, a panic. Call returns an error only if ctx ended
// the call; then the result is partial. The result is always a single JSON object within the tool's
// cap.
func (s *Set) Call(ctx context.Context, env *Env, c Call) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			if s.Defect != nil {
				s.Defect(c.Name, p, debug.Stack())
			}
			result, err = Fail("%s failed by a mistake in hermes-ls: %s. Try another way, and tell the user.", c.Name, OneLine(fmt.Sprint(p), 500)), nil
		}
	}()
	if env == nil {
		env = &Env{}
	}
	c, failure := s.Resolve(c, env.Dispatch.Offered)
	if failure != "" {
		return Fail("%s", failure), nil
	}
	if c.Note != "" {
		defer func() { result.JSON = WithNote(result.JSON, c.Note) }()
	}
	t, _ := s.Get(c.Name)
	if err := ctx.Err(); err != nil {
		return Interrupted(ctx, t.Name), err
	}
	if env, err = planned(env, t); err != nil {
		return Fail("%v", err), nil
	}
	before := s.before(ctx, env, t, c)
	defer before.end()
	if before.Answer != nil {
		return s.capped(env, t, s.cleaned(t, *before.Answer)), ctx.Err()
	}
	c = before.Call
	args, err := s.arguments(env, t, c.Args)
	if err != nil {
		return Fail("%v", err), nil
	}
	if err := s.Secrets.rejectPlaceholder(t, args); err != nil {
		return Fail("%v", err), nil
	}
	c.Args = args
	if env, err = before.ask(ctx, env, t, c); err != nil {
		return Fail("%v", err), nil
	}
	result, err = before.run(ctx, s.watched(t, env), t, c)
	return s.capped(env, t, s.after(ctx, env, t, c, s.cleaned(t, result))), err
}

// run runs t and reports it as running. If t does not call [Env.Running] itself, the whole run
// counts as running.
func (b Admission) run(ctx context.Context, env *Env, t Tool, c Call) (Result, error) {
	env = b.watching(env)
	if !t.TellsRunning {
		defer env.Running(ctx)()
	}
	return run(ctx, env, t, c)
}

// run makes a result of whatever t answers; the error is ctx's or nil.
func run(ctx context.Context, env *Env, t Tool, c Call) (Result, error) {
	result, err := t.Run(ctx, env, c)
	result = result.forModel(env.Reader.Script)
	switch {
	case err == nil:
		return asObject(t.Name, result), nil
	case ctx.Err() == nil:
		return Fail("%v", err), nil
	case errors.Is(err, ErrNotRun):
		return Fail("%v", err), ctx.Err()
	case len(result.JSON) > 0:
		return asObject(t.Name, result), ctx.Err()
	default:
		return Interrupted(ctx, t.Name), ctx.Err()
	}
}

func Interrupted(ctx context.Context, tool string) Result {
	return Fail("interrupted: %s has no result: %s", tool, StoppedText(ctx))
}

// asObject returns a tool's result as a single JSON object.
func asObject(tool string, r Result) Result {
	text := bytes.TrimSpace(r.JSON)
	switch {
	case len(text) == 0:
		bad := Fail("%s gave no result", tool)
		bad.Shown = r.Shown
		return bad
	case &text[0] != r.marshalled && !json.Valid(text):
		bad := Fail("%s gave a result that is not JSON: %s", tool, OneLine(string(text), 500))
		bad.Shown = r.Shown
		return bad
	case text[0] != '{':
		r.JSON = slices.Concat([]byte(`{"result":`), text, []byte(`}`))
	}
	return r
}

// arguments repairs the model's arguments and checks them against t's schema.
func (s *Set) arguments(env *Env, t Tool, args json.RawMessage) (json.RawMessage, error) {
	object, err := RepairArgs(string(args))
	var cut *cutError
	if errors.As(err, &cut) {
		return nil, fmt.Errorf("%s: %w. Nothing was done. Send the whole call again; if it was too long, make several shorter calls", t.Name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Nothing was done. Send one JSON object, such as %s", t.Name, err, exampleOf(t.accepts.schema(), string(args)))
	}
	fitted, err := fit(t.accepts.schema(), object)
	if err != nil {
		return nil, fmt.Errorf("%s: %w. Nothing was done.%s %s", t.Name, err, s.suggestTool(env, t, object), parameterList(t))
	}
	return fitted, nil
}

// suggestTool names another tool that fits the arguments: it knows them all, no required parameter
// is missing, and t does not know one of these.
func (s *Set) suggestTool(env *Env, t Tool, args json.RawMessage) string {
	var given, own struct{ Properties map[string]json.RawMessage }
	if json.Unmarshal(args, &given.Properties) != nil || json.Unmarshal(t.Schema, &own) != nil {
		return ""
	}
	lacks := func(name string) bool { return given.Properties[name] == nil }
	if !slices.ContainsFunc(t.accepts.schema().Required, lacks) {
		return "" // the tool is right, and a parameter too many
	}
	for _, other := range s.List() {
		if other.Name == t.Name || !env.Dispatch.Offers(other.Name) {
			continue
		}
		foreign := ""
		for _, name := range other.accepts.schema().Required {
			if given.Properties[name] == nil {
				foreign = ""
				break
			}
			if own.Properties[name] == nil {
				foreign = name
			}
		}
		for name := range given.Properties {
			if other.accepts.schema().Properties[name] == nil {
				foreign = "" // it is no call of this tool either
			}
		}
		if foreign != "" {
			return fmt.Sprintf(" %q belongs to %s: call that tool instead.", foreign, other.Name)
		}
	}
	return ""
}

// parameterList lists the parameters of t.
func parameterList(t Tool) string {
	offered, err := jsonSchema(t.Schema)
	if err != nil || len(offered.Properties) == 0 {
		return t.Name + " takes no parameters"
	}
	var names []string
	for _, name := range parameters(t.accepts.schema()) {
		if offered.Properties[name] == nil {
			continue
		}
		shape := ""
		if items := offered.Properties[name].Items; items != nil && len(items.Properties) > 0 {
			shape = "[{" + strings.Join(parameters(items), ", ") + "}]"
		}
		switch required := slices.Contains(offered.Required, name); {
		case required && shape != "":
			name += " (required, " + shape + ")"
		case required:
			name += " (required)"
		case shape != "":
			name += " (" + shape + ")"
		}
		names = append(names, name)
	}
	return fmt.Sprintf("%s takes %s", t.Name, strings.Join(names, ", "))
}

// exampleOf shows an object with the required parameters of a schema. If a single parameter is
// required and text is a short line without JSON, text is its value.
func exampleOf(schema *jsonschema.Schema, text string) string {
	text = strings.TrimSpace(text)
	var quoted string
	if json.Unmarshal([]byte(text), &quoted) == nil {
		text = quoted
	}
	if len(schema.Required) == 1 && text != "" && len(text) < 100 && !strings.ContainsAny(text, "{}[]<>\n") && schema.Properties[schema.Required[0]].Type == "string" {
		return fmt.Sprintf("{%q: %q}", schema.Required[0], text)
	}
	return example(schema)
}

// example shows an object with the required parameters of a schema.
func example(schema *jsonschema.Schema) string {
	names := schema.Required
	if len(names) == 0 {
		names = parameters(schema)[:min(1, len(schema.Properties))]
	}
	var parts []string
	for _, name := range names {
		value := `"…"`
		switch p := schema.Properties[name]; {
		case p == nil:
		case allows(p, "array"):
			value = "[…]"
		case allows(p, "object"):
			value = "{…}"
		case allows(p, "boolean"):
			value = "true"
		case allows(p, "number"), allows(p, "integer"):
			value = "1"
		}
		parts = append(parts, fmt.Sprintf("%q: %s", name, value))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func jsonSchema(text json.RawMessage) (*jsonschema.Schema, error) {
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("reading the schema: %w", err)
	}
	return &schema, nil
}

// planned returns the Env of a call in the session's mode. If the tool does not run in plan
// mode, planned returns an error. For commands, see [Bounds.For].
func planned(env *Env, t Tool) (*Env, error) {
	if !env.Planning && (env.Gate == nil || !env.Gate.Planning()) {
		return env, nil
	}
	if !t.Plans && (!t.ReadOnly || t.Network) {
		does := "can change something"
		if t.ReadOnly {
			does = "uses the network"
		}
		return nil, fmt.Errorf("not run: the session is in plan mode, and %s %s. Nothing was changed. Only read until the user has approved your plan", t.Name, does)
	}
	own := *env
	own.Planning = true
	return &own, nil
}

// Rejected returns the error for an action blocked in plan mode.
func Rejected(what string) error {
	return fmt.Errorf("not run: the session is in plan mode, and this %s. Nothing was changed. Only read until the user has approved your plan", what)
}
