package tools

import "fmt"

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

// Rejected is the error of an action that a tool does not do in plan mode.
func Rejected(what string) error {
	return fmt.Errorf("not run: the session is in plan mode, and this %s. Nothing was changed. Only read until the user has approved your plan", what)
}
