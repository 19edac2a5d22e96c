// Package extension is the seam between hermes-ls and its features: tools, texts of the system
// prompt, slash commands, notices, and event handlers.
//
// An [Extension] belongs to the process. It is opened once for each session, with a [Session] that
// holds all its rights, and returns an [Instance]. An instance implements any of the following
// interfaces. Each has a single method.
//
//	Tools     tools for the model
//	Sections  texts of the system prompt
//	Commands  slash commands
//	Notices   text for the model's next request
//	Hooked    functions called by the session, see Hooks
//	Derive    the instance for a subagent, a script or a replay
//
// A [Set] holds the instances of one session. It finds out once which interfaces they implement,
// and calls them in the order of the list in package server/app. There is no other list: a new
// feature is a folder and a line there.
//
// Features use each other through the services of this package, such as [PageReader]. The owner
// declares the service, and [Set] finds it.
//
// A subagent, a script or a replay gets nothing of an instance without Derive. Events are the
// exception: they see the calls of subagents and scripts too, so they cannot avoid a feature's
// checks.
//
// Everything here is safe for concurrent use. An instance must be, too: tools of the same response
// may run side by side, and commands run beside a turn.
//
// This extension counts the words of a text. Its section of the system prompt describes the tool:
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
