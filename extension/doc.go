// Package extension is the seam between hermes-ls and its features: tools, texts of
// the system prompt, slash commands, notices, and code that looks at events.
//
// An [Extension] belongs to the process. It is opened once for each session, with a
// [Session] that holds all its rights, and returns an [Instance]. An instance
// implements those of the following interfaces that it needs. Each has one method.
//
//	Tools     tools that the model may call
//	Arranger  which tools requests contain
//	Late      tools that come later
//	Sections  texts of the system prompt
//	Commands  slash commands
//	Events    functions that are called before and after calls, prompts, and so on
//	Notices   text that the model gets with its next request
//	Waiting   the user is told of notices that wait; with StartsTurn they start a turn
//	Cancels   work in the background that the user can cancel
//	Environment  text about editor and workspace, with each prompt
//	Attach    a host has opened the session, and perhaps gives something
//	Forget    the model no longer has the text of earlier results
//	Secrets   texts that no output may show
//	Derive    the instance that a subagent, a script or a replay gets
//
// A [Set] holds the instances of one session. It finds out once which interfaces they
// implement, and calls them in the order of the list in package server/app. That list
// is the only one: a new feature is one folder and one line there.
//
// Features that use each other do so by the services of this package, such as
// [PageReader]. The owner declares that it has the service, and [Set] finds it.
//
// A subagent, a script or a replay gets nothing of an instance that does not
// implement Derive. Events are the exception: they see the calls of subagents and
// scripts too, so a feature that checks calls cannot be avoided.
//
// Everything here is safe for concurrent use. An instance must be, too: tools of one
// reply may run side by side, and commands run beside a turn.
//
// This extension counts the words of a text and tells the model about it in the
// system prompt:
//
//	type words struct{}
//
//	func (words) Name() string { return "words" }
//
//	func (words) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
//		return counter{s}, nil
//	}
//
//	type counter struct{ session *extension.Session }
//
//	func (c counter) Close(context.Context) error { return nil }
//
//	func (c counter) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
//		type input struct {
//			Text string `json:"text"`
//		}
//		count := tools.New(tools.Tool{
//			Name: "count_words", Toolset: "words", Kind: tools.KindRead, ReadOnly: true,
//			Description: "Counts the words of a text.",
//		}, func(_ context.Context, _ *tools.Env, _ tools.Call, in input) (tools.Result, error) {
//			return tools.OK(map[string]int{"words": len(strings.Fields(in.Text))}), nil
//		})
//		return []tools.Tool{count}, nil
//	}
//
//	func (c counter) Sections(context.Context) []prompt.Section {
//		return []prompt.Section{{Slot: prompt.Project, Text: "Use count_words for lengths of texts."}}
//	}
package extension
