package model

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Error describes the failure, its place, and the next step.
func (e *Error) Error() string {
	if e.Shown > 0 {
		return e.cutOff()
	}
	if len(e.Others) > 0 {
		return e.all()
	}
	var b strings.Builder
	b.WriteString(e.reason(e.where()) + ".")
	if advice := e.advice(); advice != "" {
		b.WriteString(" " + advice)
	}
	return b.String()
}

// Unwrap returns the cause, if any.
func (e *Error) Unwrap() error { return e.Err }

// cutOff describes a failure after text was shown.
func (e *Error) cutOff() string {
	why := strings.TrimRight(e.Message, ". \n")
	if why == "" || e.Kind != ErrStalled && e.Kind != ErrCut {
		why = strings.TrimSuffix(e.what(e.address())+": "+why, ": ")
	}
	return fmt.Sprintf("%s: the reply was cut off after %d characters (%s). The text is kept; send the prompt again to go on.", e.Model, e.Shown, why)
}

// all names each model with its reason, and the next step for the first model.
func (e *Error) all() string {
	reasons := make([]string, 0, 1+len(e.Others))
	for _, f := range append([]*Error{e}, e.Others...) {
		reasons = append(reasons, f.id()+": "+f.reason(f.address()))
	}
	return "all models failed. " + strings.Join(reasons, "; ") + "." + strings.TrimRight(" "+e.advice(), " ")
}

// id returns PROVIDER/MODEL.
func (e *Error) id() string {
	if e.Provider == "" {
		return e.Model
	}
	return e.Provider + "/" + e.Model
}

// reason describes the failure with the endpoint's message. where names the endpoint.
func (e *Error) reason(where string) string {
	message := strings.TrimRight(e.Message, ". \n")
	switch what := e.what(where); {
	case what == "":
		return message
	case message == "":
		return what
	default:
		return what + ": " + message
	}
}

// what describes the failure and its endpoint: "openai at https://…/v1 refused the key for
// gpt-5 (401)". If the message already says so, it returns "".
func (e *Error) what(where string) string {
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
			return ""
		}
		if e.Provider != "" {
			return fmt.Sprintf("no key for %s at %s: set providers.%[1]s.api_key or key_env", e.Provider, host(e.Endpoint))
		}
		return "no API key is configured for " + where
	case ErrAuth:
		if e.Keyless {
			return where + " requires a key" + model + status + ", and none is configured"
		}
		return where + " refused the key" + model + status
	case ErrCredit:
		return where + " says that the account is out of credit" + status
	case ErrBusy:
		if e.EveryKey {
			return fmt.Sprintf("every key of %s is rate limited%s; the first is free in %s", e.Provider, status, count(e.FirstFree))
		}
		return where + " is busy" + status
	case ErrDown:
		if e.Proxy != "" {
			return where + " cannot be reached through the proxy " + e.Proxy
		}
		return where + " cannot be reached"
	case ErrServer:
		if e.Proxy != "" {
			return "the proxy " + e.Proxy + ", or " + where + " behind it, failed" + model + status
		}
		return where + " failed" + model + status
	case ErrTools:
		return where + " cannot call tools" + model + status
	case ErrRequest:
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

// address returns the endpoint's address.
func (e *Error) address() string { return cmp.Or(e.Endpoint, "the model endpoint") }

// where names the endpoint: "openai at https://api.openai.com/v1".
func (e *Error) where() string {
	switch {
	case e.Endpoint == "":
		return e.address()
	case e.Provider == "" || e.Provider == "custom":
		return "the endpoint " + e.Endpoint
	}
	return e.Provider + " at " + e.Endpoint
}

// advice returns the next step for the user.
func (e *Error) advice() string {
	switch e.Kind {
	case ErrNoKey:
		if e.Message != "" { // the message already explains how to set a key
			return ""
		}
		return "Set model.api_key in config.yaml or the provider's environment variable (OPENAI_API_KEY, OPENROUTER_API_KEY), " +
			"choose a local provider (ollama, lmstudio), or set model.provider to embedded to try it without a model."
	case ErrAuth:
		if e.Keyless {
			return "Set " + e.keySetting() + "."
		}
		return "Check " + cmp.Or(e.KeyIn, "model.api_key in config.yaml, or the provider's environment variable") + ". The key is tried again with your next prompt."
	case ErrCredit:
		return "Top up the account, or configure another key or a model.fallback."
	case ErrBusy:
		if e.EveryKey {
			return "Try again then, or configure a model.fallback."
		}
		if e.RetryAfter > 0 {
			return "Try again in " + Wait(e.RetryAfter) + ", or configure a model.fallback."
		}
		return "Try again in a while, or configure a model.fallback."
	case ErrDown, ErrServer, ErrStalled, ErrCut:
		switch {
		case e.Proxy != "":
			return "Check the proxy: " + e.proxyIn() + " in config.yaml, else HTTPS_PROXY, HTTP_PROXY or ALL_PROXY. Hosts in NO_PROXY are reached without it."
		case e.Kind == ErrDown:
			return "Check that it runs, and " + e.addressIn() + "."
		}
		return "Try again, or configure a model.fallback."
	case ErrModel:
		return "Check model.default and " + e.addressIn() + "."
	case ErrTools:
		return "Choose a model that can call tools (model.default), or start the server with its tool parser if the message says so."
	case ErrPolicy:
		return "Change the prompt, or choose another model."
	case ErrState:
		return "Start a new session, or choose another model."
	case ErrRequest:
		switch {
		case strings.HasPrefix(e.Message, WebPage):
			return "The page is not of the API: a firewall, a proxy or a login page has answered. Check " + e.addressIn() + " and the network."
		case Elsewhere(e.Message):
			return "Choose a provider that serves your country, or configure a model.fallback."
		}
		if e.Status == 404 && strings.Contains(strings.ToLower(e.Message), "endpoints") {
			return "Choose another model (model.default), or change the setting of your account that the message is about."
		}
		if e.Status == 404 || e.Status == 405 {
			name := e.Provider
			if name == "" {
				name = "NAME"
			}
			return "Check " + e.addressIn() + " and providers." + name + ".api: the address may have another API."
		}
		return "Check model.default, or try another model."
	case ErrGarbage:
		return "Check that " + e.addressIn() + " is an address of the right API (those of OpenAI-compatible endpoints often end in /v1)."
	case ErrEndless:
		return "Send the prompt again, or choose another model."
	case ErrOverflow:
		return "Start a new session, or choose a model with a larger window."
	default:
		return ""
	}
}

// WebPage starts an error message made from a web page.
const WebPage = "a web page"

// Elsewhere reports whether a message means that the endpoint does not serve the user's
// country.
func Elsewhere(message string) bool {
	text := strings.ToLower(message)
	for _, words := range []string{"country, region", "unsupported_country", "country is not supported", "region is not supported", "location is not supported", "not available in your country", "not available in your region"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// keySetting names the settings for the key.
func (e *Error) keySetting() string {
	if e.Provider == "" || e.Provider == "custom" {
		return "model.api_key in config.yaml"
	}
	return "providers." + e.Provider + ".api_key or key_env in config.yaml"
}

// proxyIn names the setting for the proxy.
func (e *Error) proxyIn() string {
	return "providers." + cmp.Or(e.Provider, "NAME") + ".proxy"
}

// addressIn names the setting for the address.
func (e *Error) addressIn() string { return cmp.Or(e.AddressIn, "model.base_url") }

// host returns the host of an address.
func host(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}

// count returns a duration in whole words: "38 seconds".
func count(d time.Duration) string {
	n, unit := max(int((d+time.Second-1)/time.Second), 1), "second"
	if n >= 120 {
		n, unit = (n+59)/60, "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", n, unit)
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
