package acp

import (
	"encoding/json"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
)

// Opens tells whether a method gives a client a session, and so something for
// [Agent.Answered] to say.
func Opens(name string) bool {
	switch name {
	case acp.MethodSessionNew, acp.MethodSessionLoad, acp.MethodSessionResume, acp.MethodSessionFork:
		return true
	}
	return false
}

// Answered is told when the answer to a request is on its way. What a client can only
// understand once it knows the session follows from here, and what can wait begins.
func (a *Agent) Answered(name string, params json.RawMessage, result any) {
	if !Opens(name) {
		return
	}
	var p struct {
		SessionID string `json:"sessionId"`
	}
	if made, ok := result.(*acp.NewSessionResponse); ok {
		p.SessionID = made.SessionID
	} else if decode(params, &p) != nil {
		return
	}
	if x := a.svc.Opened(p.SessionID); x != nil {
		a.Client.update(p.SessionID, commands(x))
		x.Warm()
	}
}

// commands are the slash commands, whole.
func commands(x *server.Session) *acp.CommandsUpdate {
	u := &acp.CommandsUpdate{SessionUpdate: acp.UpdateCommands}
	for _, c := range x.Commands() {
		told := acp.AvailableCommand{Name: c.Name, Description: c.Description}
		if c.Hint != "" {
			told.Input = &acp.AvailableCommandInput{Hint: c.Hint}
		}
		u.AvailableCommands = append(u.AvailableCommands, told)
	}
	return u
}
