package extension

// Event is a message from an extension to the user, and to a plugin that knows its kind. The model
// does not get it.
type Event struct {
	// Kind is the extension's name for it, such as "frame", or one of the kinds below.
	Kind string
	// Title is a sentence that can stand alone. Text has details, maybe many lines; empty: none.
	Title, Text string
	// Data is for the editor's plugin, as JSON. It gets it with the extension's name and Kind. An
	// editor without a plugin shows Title and Text.
	Data any
}

// Kinds of events that every host knows.
const (
	// EventNotice is shown at once, or with the first turn if there was none yet.
	EventNotice = ""
	// EventNow is shown at once in any case.
	EventNow = "now"
	// EventQuestion is shown at once as a question, to be answered with a slash command.
	EventQuestion = "question"
)

// emitNotices is Emit for a derived session. It asks no questions: they are notices.
func (s *Session) emitNotices(e Event) {
	if e.Kind == EventQuestion || e.Kind == EventNow {
		e.Kind = EventNotice
	}
	s.Emit(e)
}

// Notify emits a notice.
func (s *Session) Notify(title string) { s.Emit(Event{Title: title}) }

// Show shows a text at once.
func (s *Session) Show(title string) { s.Emit(Event{Kind: EventNow, Title: title}) }

// Question shows a question at once, to be answered with a slash command.
func (s *Session) Question(title string) { s.Emit(Event{Kind: EventQuestion, Title: title}) }
