package hooks

import "context"

// listed is a hook in the result of hermes.extensions.
type listed struct {
	Event   string `json:"event"`
	Matcher string `json:"matcher"`
	Command string `json:"command"`
	Error   string `json:"error,omitempty"`
}

// entries lists the hooks. A hook that cannot start or never runs is listed with an error.
func (x *instance) entries(context.Context) (map[string]any, error) {
	all := []listed{}
	for _, h := range x.hooks {
		l := listed{Event: h.Event, Matcher: h.Matcher, Command: h.Command, Error: h.unfit}
		if err := x.check(h); err != nil {
			l.Error = err.Error()
		}
		all = append(all, l)
	}
	return map[string]any{"hooks": all}, nil
}
