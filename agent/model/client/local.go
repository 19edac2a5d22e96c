package client

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// local reports whether the endpoint is on this machine or its network. Such servers choose the
// window of a model.
func (e *endpoint) local() bool {
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return false
	}
	host := strings.ToLower(u.Hostname())
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	for _, end := range []string{".local", ".lan", ".internal", ".localhost", ".home.arpa"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return host == "localhost" || host != "" && u.Port() != "" && !strings.Contains(host, ".") // a container's name
}

// runsModels reports whether the endpoint may be a server that chooses the window of a model.
func (e *endpoint) runsModels() bool {
	switch e.Provider {
	case "ollama", "lmstudio":
		return true
	case "", "openai", "openrouter", "anthropic", "gemini":
		return false
	}
	return e.API.Name() != api.Gemini && e.local()
}

// askLocal asks a model server of any kind.
func (e *endpoint) askLocal(ctx context.Context) (metadata, error) {
	l, err := e.listing(ctx)
	m := l.metadata()
	port := ""
	if u, err := url.Parse(e.BaseURL); err == nil {
		port = u.Port()
	}
	type asked func(context.Context) (metadata, error)
	order := []asked{e.askProps, e.askOllama, e.askLMStudio}
	switch {
	case e.Provider == "ollama", l.Owner == "library":
		order = []asked{e.askOllama}
	case e.Provider == "lmstudio", l.Owner == "organization_owner":
		order = []asked{e.askLMStudio}
	case l.Owner == "llamacpp", l.Meta.Trained > 0:
		order = []asked{e.askProps}
	case m.served > 0: // vLLM and others
		return m, nil
	case port == "11434":
		order = []asked{e.askOllama}
	case port == "1234":
		order = []asked{e.askLMStudio}
	}
	for _, ask := range order {
		told, failed := ask(ctx)
		if failed != nil {
			continue
		}
		err = nil
		m.sees = cmp.Or(told.sees, m.sees)
		m.window = cmp.Or(told.window, m.window)
		if told.source != fromNothing {
			m.source, m.served = told.source, cmp.Or(told.served, m.served)
			m.planned, m.noTools, m.opens = told.planned, told.noTools, told.opens
			return m, nil
		}
	}
	return m, err
}

// askProps returns the window of a slot of a llama.cpp server; the slots share the size set
// with -c. It also returns properties of the server's chat template.
func (e *endpoint) askProps(ctx context.Context) (metadata, error) {
	var props struct {
		Settings struct {
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Context    int `json:"n_ctx"`
		Modalities struct {
			Vision *bool `json:"vision"`
		} `json:"modalities"`
		Template string `json:"chat_template"`
		ToolUse  string `json:"chat_template_tool_use"` // instead of Template, if the request contains tools
		Caps     struct {
			Tools *bool `json:"supports_tools"`
			Calls *bool `json:"supports_tool_calls"`
		} `json:"chat_template_caps"`
	}
	if err := e.fetch(ctx, http.MethodGet, e.root()+"/props", nil, &props); err != nil {
		return metadata{}, err
	}
	m := metadata{served: cmp.Or(props.Settings.Context, props.Context), sees: sightFrom(props.Modalities.Vision)}
	m.opens = opensThought(cmp.Or(props.ToolUse, props.Template))
	m.noTools = props.ToolUse == "" && (isFalse(props.Caps.Tools) || props.Caps.Tools == nil && isFalse(props.Caps.Calls))
	if m.served > 0 {
		m.source = fromProps
	}
	return m, nil
}

// askOllama returns the window of the loaded model. If the model is not loaded, it returns the
// model's num_ctx. If this is not set either, the window is unknown before the first request;
// until then, Ollama's default applies.
func (e *endpoint) askOllama(ctx context.Context) (metadata, error) {
	var known struct {
		Capabilities []string       `json:"capabilities"`
		Parameters   string         `json:"parameters"` // lines with a name and a value
		Info         map[string]any `json:"model_info"`
	}
	running, err := e.runningOllama(ctx)
	if err != nil && e.Provider != "ollama" {
		return metadata{}, err // another server
	}
	if shown := e.fetch(ctx, http.MethodPost, e.root()+"/api/show", map[string]string{"model": e.Model}, &known); shown != nil && err != nil {
		return metadata{}, shown
	}
	m := metadata{sees: sightIn(known.Capabilities, "vision"), source: fromOllama, served: running, window: localDefault}
	for line := range strings.Lines(known.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" && m.served == 0 {
			m.served, _ = strconv.Atoi(f[1])
			m.planned = true
		}
	}
	for key, value := range known.Info {
		if n, ok := value.(float64); ok && n > 0 && strings.HasSuffix(key, ".context_length") && m.served > 0 {
			m.served = min(m.served, int(n))
		}
	}
	return m, nil
}

// runningOllama returns the window of the loaded model. If it is not loaded, runningOllama returns 0.
func (e *endpoint) runningOllama(ctx context.Context) (int, error) {
	var running struct {
		Models []struct {
			Name    string `json:"name"`
			Model   string `json:"model"`
			Context int    `json:"context_length"`
		} `json:"models"`
	}
	if err := e.fetch(ctx, http.MethodGet, e.root()+"/api/ps", nil, &running); err != nil {
		return 0, err
	}
	id := strings.TrimSuffix(e.Model, ":latest")
	for _, r := range running.Models {
		if strings.TrimSuffix(r.Name, ":latest") == id || strings.TrimSuffix(r.Model, ":latest") == id {
			return r.Context, nil
		}
	}
	return 0, nil
}

// askLMStudio returns the window of the loaded model. If the model is not loaded, it returns LM
// Studio's default, with which the model would be loaded.
func (e *endpoint) askLMStudio(ctx context.Context) (metadata, error) {
	type entry struct {
		ID     string `json:"id"`
		Type   string `json:"type"`
		Loaded int    `json:"loaded_context_length"`
		Most   int    `json:"max_context_length"`
	}
	var known entry
	var list struct{ Data []entry }
	failed := e.fetch(ctx, http.MethodGet, e.root()+"/api/v0/models", nil, &list)
	for _, l := range list.Data {
		if l.ID == e.Model || len(list.Data) == 1 {
			known = l
		}
	}
	if known.Loaded+known.Most == 0 && (failed == nil || e.Provider == "lmstudio") {
		failed = e.fetch(ctx, http.MethodGet, e.root()+"/api/v0/models/"+url.PathEscape(e.Model), nil, &known)
	}
	if failed != nil {
		return metadata{}, failed
	}
	m := metadata{window: min(known.Most, localDefault), served: known.Loaded}
	if known.Loaded+known.Most > 0 {
		m.source = fromLMStudio
	}
	switch known.Type {
	case "vlm":
		m.sees = seeing
	case "llm":
		m.sees = blind
	}
	return m, nil
}

func isFalse(b *bool) bool { return b != nil && !*b }

// opensThought reports whether a chat template ends the prompt with the start of a thought, so
// the response contains only its end.
func opensThought(template string) bool {
	_, template, found := cutLast(template, "add_generation_prompt")
	for _, tag := range []string{"<think>", "<thinking>", "[THINK]", "<seed:think>"} {
		for rest := template; found && rest != ""; {
			_, rest, _ = strings.Cut(rest, tag)
			next := strings.NewReplacer(`\n`, "", "\n", "", " ", "").Replace(rest[:min(len(rest), 24)])
			if end := tag[:1] + "/" + tag[1:]; rest != "" && !strings.HasPrefix(next, end) { // otherwise an empty thought
				return true
			}
		}
	}
	return false
}

// cutLast is strings.Cut at the last place of sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
