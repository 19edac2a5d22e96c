// Package toy is an extension with one of everything, for tests: a tool, a prompt
// section, a slash command, hooks, an event for the user, a notice, state and a configuration section.
package toy

import (
	"context"
	"fmt"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Settings are the settings of the extension.
type Settings struct {
	Greeting string `json:"greeting" doc:"The first word."`
}

// Section is its configuration section.
var Section = config.Section{Name: "toy", Doc: "A toy.", Defaults: Settings{Greeting: "Hello"}}

// New returns the extension. Log gets a line at each event.
func New(log func(string)) extension.Extension { return toy{log} }

type toy struct{ log func(string) }

func (toy) Name() string { return "toy" }

func (e toy) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{session: s, log: e.log}, nil
}

type instance struct {
	session *extension.Session
	log     func(string)

	mu     sync.Mutex
	played int
}

func (x *instance) Close(context.Context) error {
	x.log("close")
	return nil
}

func (x *instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	type input struct {
		Name string `json:"name"`
	}
	play := tools.New(tools.Tool{Name: "play", Toolset: "toy", Kind: tools.KindThink, Description: "Plays."},
		func(ctx context.Context, _ *tools.Env, _ tools.Call, in input) (tools.Result, error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.played++
			if err := x.session.State.Save(ctx, "played", x.played); err != nil {
				return tools.Result{}, err
			}
			x.session.Emit(extension.Event{Kind: "played", Title: "A game was played.", Data: map[string]int{"games": x.played}})
			return tools.OK(map[string]string{"greeting": x.greet(in.Name)}), nil
		})
	return []tools.Tool{play}, nil
}

func (x *instance) greet(name string) string {
	var s Settings
	if err := x.session.Config(&s); err != nil {
		return err.Error()
	}
	return s.Greeting + " " + name
}

func (x *instance) Sections(context.Context) []prompt.Section {
	return []prompt.Section{{Slot: prompt.Project, Text: "\n# Toy\n\nPlay often.\n"}}
}

func (x *instance) Commands() []extension.Command {
	return []extension.Command{{Name: "toy", Description: "Count the games", Order: 200, Run: func(ctx context.Context, _ string) (string, error) {
		played := 0
		_, err := x.session.State.Load(ctx, "played", &played)
		return fmt.Sprintf("Played %d times.", played), err
	}}}
}

func (x *instance) Notices(_ context.Context, when extension.When) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	if when != extension.WithRequest || x.played != 1 {
		return nil
	}
	return []string{"One game was played."}
}

func (x *instance) Hooks() extension.Hooks {
	return extension.Hooks{Events: []extension.Handlers{{
		PreToolCall: func(_ context.Context, c extension.ToolCall) (extension.Decision, error) {
			x.log("pre_tool_call " + c.Name)
			return extension.Decision{}, nil
		},
		PostToolCall: func(_ context.Context, c extension.ToolCall, _ tools.Result) (string, error) {
			x.log("post_tool_call " + c.Name)
			return "Well played.", nil
		},
		PreLLMCall: func(_ context.Context, p extension.Prompt) (extension.PromptDecision, error) {
			x.log("pre_llm_call " + p.Text)
			if p.Text == "forbidden" {
				return extension.PromptDecision{Block: "This word is not sent."}, nil
			}
			return extension.PromptDecision{Context: "The weather is fine."}, nil
		},
		TransformLLMOutput: func(_ context.Context, o extension.Output) (extension.OutputDecision, error) {
			x.log("transform_llm_output " + o.Text)
			if o.Text == "lazy" {
				return extension.OutputDecision{Continue: "Do it again."}, nil
			}
			text := o.Text + "!"
			return extension.OutputDecision{Text: &text}, nil
		},
		PreCompress: func(context.Context, extension.Compression) (string, error) {
			x.log("pre_compress")
			return "Games were played.", nil
		},
		SessionStart: func(context.Context, extension.SessionEvent) (string, error) {
			x.log("on_session_start")
			return "Be playful.", nil
		},
		SessionEnd: func(context.Context, extension.SessionEvent) error {
			x.log("on_session_end")
			return nil
		},
		SubagentStart: func(_ context.Context, s extension.SubagentEvent) (string, error) {
			x.log("subagent_start " + s.Goal)
			return "Small steps.", nil
		},
		SubagentStop: func(_ context.Context, s extension.SubagentEvent) error {
			x.log("subagent_stop " + s.Status)
			return nil
		},
	}}}
}
