package client

import (
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// noTools describes the effect of a chat template that leaves out tools, and a remedy. If the
// template supports tools, or nothing is known, it returns "".
func (e *endpoint) noTools() string {
	const better = "start llama-server with --jinja and a --chat-template-file that has tools, or choose a model that was trained to call tools."
	switch {
	case !e.metadata().noTools:
		return ""
	case e.API.Name() != api.Chat:
		return "The chat template of " + e.Model + " leaves tools out, so the model can neither read nor change anything. Set the api to chat, where tools are sent as text. Better: " + better
	case e.TextCalls == textCallsNever:
		return "The chat template of " + e.Model + " leaves tools out, so the model can neither read nor change anything. Set model.text_calls: auto, and they are sent as text. Better: " + better
	}
	return "The chat template of " + e.Model + " leaves tools out, so they are sent as text. If the model does not call them: " + better
}

// toolsNotice returns the text of noTools for the first request with tools of a session.
func (m *Model) toolsNotice(req *model.Request, e *endpoint) string {
	if len(req.Tools) == 0 || req.SessionID == "" {
		return ""
	}
	text := e.noTools()
	if text == "" {
		return ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.noTools[req.SessionID] == e.url+" "+e.Model {
		return ""
	}
	m.noTools[req.SessionID] = e.url + " " + e.Model
	return text
}

// Tells implements [model.Served].
func (m *Model) Tells() string {
	if len(m.endpoints) == 0 {
		return ""
	}
	return m.endpoints[0].noTools()
}
