package tools

import (
	"fmt"
	"slices"
	"sync"
)

// Set holds the tools of a session and runs their calls. It is safe for
// concurrent use.
type Set struct {
	// Defect is called after a panic in a tool, which is a programming error. The model gets an
	// error without the stack. Set it before the first call.
	Defect func(tool string, panicked any, stack []byte)

	// Events sees the calls of the set. Set it before the first call; nil: nothing does.
	Events Events

	// Toolsets are valid names in the configuration, even without a tool in the set. Set it before
	// the first call.
	Toolsets []string

	// Missing may add a called tool that is not in the set. Set it before the first call; nil: no
	// tool is added. Derived sets do not inherit it.
	Missing func(name string)

	// Secrets are redacted in all results. Set it before the first call; nil: there are none.
	Secrets *Secrets

	// Forget is called when the model does not get the whole text of a result. Set it before the
	// first call, or leave it nil. Derived sets do not inherit it.
	Forget func()

	admits []func(Tool) bool // the filters that chose the tools

	mu    sync.Mutex     // never held while a tool runs
	tools []Tool         // in the order they were added
	index map[string]int // of tools, by name
}

// NewSet returns a set of tools.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{}
	for _, t := range tools {
		if err := s.Add(t); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Add puts t into the set. A second tool with the same name is an error unless it sets Override;
// then it replaces the first.
func (s *Set) Add(t Tool) error {
	if err := checkTool(t); err != nil {
		return err
	}
	if t.accepts == nil {
		t.accepts = &accepted{text: t.Schema}
		if !t.SchemaChecked {
			schema, err := jsonSchema(t.Schema)
			if err != nil {
				return fmt.Errorf("the tool %s: %w", t.Name, err)
			}
			t.accepts.known = schema
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i, there := s.index[t.Name]
	switch {
	case !there:
		s.append(t)
	case t.Override:
		s.tools[i] = t
	default:
		return fmt.Errorf("a tool named %s is already there (from toolset %q); a tool that should take its place has to say so", t.Name, s.tools[i].Toolset)
	}
	return nil
}

// append appends a tool. The caller holds mu.
func (s *Set) append(t Tool) {
	if s.index == nil {
		s.index = map[string]int{}
	}
	s.index[t.Name] = len(s.tools)
	s.tools = append(s.tools, t)
}

// Admits reports whether [Set.Select] and [Set.Where], which made the set, take a tool.
func (s *Set) Admits(t Tool) bool {
	return !slices.ContainsFunc(s.admits, func(takes func(Tool) bool) bool { return !takes(t) })
}

// Defer defers tools by their names.
func (s *Set) Defer(names map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.tools {
		s.tools[i].Deferred = s.tools[i].Deferred || names[s.tools[i].Name]
	}
}

// Get returns the tool named name.
func (s *Set) Get(name string) (Tool, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, ok := s.index[name]
	if !ok {
		return Tool{}, false
	}
	return s.tools[i], true
}

// List returns the tools in the order they were added.
func (s *Set) List() []Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tools)
}

// empty returns a set with the events, the secrets and the choices of s, and no tools.
func (s *Set) empty() *Set {
	return &Set{Defect: s.Defect, Events: s.Events, Toolsets: s.Toolsets, Secrets: s.Secrets, admits: slices.Clip(s.admits)}
}

// isToolName reports whether every model endpoint accepts name as a function name.
func isToolName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return name != "" && len(name) <= 64
}

func checkTool(t Tool) error {
	switch {
	case !isToolName(t.Name):
		return fmt.Errorf("%q cannot be a tool's name: use up to 64 letters, digits, _ and -", t.Name)
	case t.Run == nil:
		return fmt.Errorf("the tool %s has nothing to run", t.Name)
	case len(t.Schema) == 0:
		return fmt.Errorf("the tool %s has no schema", t.Name)
	}
	return nil
}
