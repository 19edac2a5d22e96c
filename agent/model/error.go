package model

import (
	"fmt"
	"strings"
	"time"
)

// Error says what failed and where, and describes the next step.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.what())
	if e.Message != "" {
		b.WriteString(": " + strings.TrimRight(e.Message, ". \n"))
	}
	b.WriteString(".")
	if advice := e.advice(); advice != "" {
		b.WriteString(" " + advice)
	}
	return b.String()
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.Err }

// what describes the failure and its endpoint: "https://…/v1 refused the key for gpt-5
// (401)".
func (e *Error) what() string {
	where := e.Endpoint
	if where == "" {
		where = "the model endpoint"
	}
	model := ""
	if e.Model != "" {
		model = " for " + e.Model
	}
	status := ""
	if e.Status != 0 {
		status = fmt.Sprintf(" (%d)", e.Status)
	}
	switch e.Kind {
	case ErrNoKey:
		if e.Endpoint == "" && e.Message != "" { // the missing part may not be a key
			return "no model can be asked"
		}
		return "no API key is configured for " + where
	case ErrAuth:
		return where + " refused the key" + model + status
	case ErrCredit:
		return where + " says that the account is out of credit" + status
	case ErrBusy:
		return where + " is busy" + status
	case ErrDown:
		return where + " cannot be reached"
	case ErrServer:
		return where + " failed" + model + status
	case ErrRequest:
		if e.Status == 404 {
			return "Check model.default, model.base_url, and the provider's api."
		}
		return where + " refused the request" + model + status
	case ErrStalled:
		return where + " stopped answering" + model
	case ErrCut:
		return "the answer of " + where + " was cut off before its end"
	case ErrEndless:
		return "the answer of " + where + " did not end"
	case ErrGarbage:
		return "the answer of " + where + " was not understood" + status
	case ErrOverflow:
		return "the conversation is longer than " + where + " takes" + model + status
	case ErrModel:
		return where + " does not have the model " + e.Model + status
	case ErrPolicy:
		return where + " does not allow the request" + model + status
	case ErrState:
		return where + " refused its earlier reasoning" + model + status
	default:
		return where + " failed" + model + status
	}
}

// advice returns the next step for the user.
func (e *Error) advice() string {
	switch e.Kind {
	case ErrNoKey:
		if e.Message != "" { // the message already says how to set a key
			return ""
		}
		return "Set model.api_key in config.yaml or the provider's environment variable (OPENAI_API_KEY, OPENROUTER_API_KEY), " +
			"choose a local provider (ollama, lmstudio), or set model.provider to embedded to try it without a model."
	case ErrAuth:
		return "Check model.api_key in config.yaml, or the provider's environment variable."
	case ErrCredit:
		return "Top up the account, or configure another key or a model.fallback."
	case ErrBusy:
		if e.RetryAfter > 0 {
			return "Try again in " + Wait(e.RetryAfter) + ", or configure a model.fallback."
		}
		return "Try again in a while, or configure a model.fallback."
	case ErrDown:
		return "Check that it runs, and model.base_url."
	case ErrServer, ErrStalled, ErrCut:
		return "Try again, or configure a model.fallback."
	case ErrModel:
		return "Check model.default and model.base_url."
	case ErrPolicy:
		return "Change the prompt, or choose another model."
	case ErrState:
		return "Start a new session, or choose another model."
	case ErrRequest:
		if e.Status == 404 {
			return "Check model.default, model.base_url, and the provider's api."
		}
		return "Check model.default, or try another model."
	case ErrGarbage:
		return "Check that model.base_url is an OpenAI-compatible endpoint (most end in /v1)."
	case ErrEndless:
		return "Send the prompt again, or choose another model."
	case ErrOverflow:
		return "Start a new session, or choose a model with a larger window."
	default:
		return ""
	}
}

// Wait returns a duration as text: "2 s", "5 min", "2 h 10 min".
func Wait(d time.Duration) string {
	s := int((d + time.Second - 1) / time.Second)
	switch {
	case s < 120:
		return fmt.Sprintf("%d s", max(s, 1))
	case s < 2*3600:
		return fmt.Sprintf("%d min", (s+59)/60)
	default:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	}
}
