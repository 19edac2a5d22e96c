package tools

import (
	"context"
	"fmt"
)

// Before makes a hook that sees a call before its tool: it may change the call,
// or answer it, and then the tool does not run. A hook that panics answers with
// an error: what should have been looked at does not slip through.
func Before(look func(ctx context.Context, env *Env, call Call) (Call, *Result)) Hook {
	return func(t Tool) Tool {
		run := t.Run
		t.Run = func(ctx context.Context, env *Env, call Call) (Result, error) {
			var answer *Result
			if stopped := guard(t.Name, func() { call, answer = look(ctx, env, call) }); stopped != nil {
				return *stopped, nil
			}
			if answer != nil {
				return *answer, nil
			}
			return run(ctx, env, call)
		}
		return t
	}
}

// After makes a hook that sees, and may change, what a call gave. A hook that
// panics withholds the result.
func After(look func(ctx context.Context, env *Env, call Call, result Result) Result) Hook {
	return func(t Tool) Tool {
		run := t.Run
		t.Run = func(ctx context.Context, env *Env, call Call) (Result, error) {
			result, err := run(ctx, env, call)
			if err != nil && ctx.Err() == nil {
				result, err = Fail("%v", err), nil
			}
			if stopped := guard(t.Name, func() { result = look(ctx, env, call, result) }); stopped != nil {
				return *stopped, err
			}
			return result, err
		}
		return t
	}
}

// hooked wraps t so that the first hook is the outermost. A hook that panics
// while wrapping, or hands back no tool, leaves a tool that refuses.
func hooked(t Tool, hooks []Hook) Tool {
	for i := len(hooks) - 1; i >= 0; i-- {
		inner := t
		stopped := guard(t.Name, func() {
			t = hooks[i](inner)
			if t.Run == nil || t.Name != inner.Name {
				panic(fmt.Sprintf("it made another tool of %s", inner.Name))
			}
		})
		if stopped != nil {
			t = inner
			t.Run = func(context.Context, *Env, Call) (Result, error) { return *stopped, nil }
		}
	}
	return t
}

// guard runs a hook's code; a panic becomes the refusal that the model reads.
func guard(tool string, code func()) (stopped *Result) {
	defer func() {
		if p := recover(); p != nil {
			r := Fail("%s was stopped: a hook that looks at its calls has failed (%v). Tell the user; do not try to get around it.", tool, p)
			stopped = &r
		}
	}()
	code()
	return nil
}
