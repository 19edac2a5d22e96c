package acp

// Our own methods for subagents, which the protocol lacks.
const (
	MethodSubagentList    = "_hermes/subagent/list"    // SubagentRequest → SubagentList
	MethodSubagentMessage = "_hermes/subagent/message" // SubagentRequest → SubagentStatus
	MethodSubagentStop    = "_hermes/subagent/stop"    // SubagentRequest → SubagentStatus
	MethodSubagentsReady  = "_hermes/subagent/ready"   // notification of the agent: SubagentsReady
)

type (
	// SubagentRequest names a session and one of its subagents, by the subagent's own session; the
	// list needs no subagent. Message is the text for the subagent.
	SubagentRequest struct {
		SessionID  string `json:"sessionId"`
		SubagentID string `json:"subagentId,omitempty"`
		Message    string `json:"message,omitempty"`
	}

	// SubagentList is every subagent of a session, the oldest first.
	SubagentList struct {
		Subagents List[Subagent] `json:"subagents"`
	}

	// SubagentsReady reports waiting results of background subagents, in a session without a
	// running turn. If Start is true, the client starts a turn: session/prompt with no content and
	// _meta.hermes.continue. Otherwise, the next prompt delivers the results.
	SubagentsReady struct {
		SessionID string         `json:"sessionId"`
		Subagents List[Subagent] `json:"subagents"`
		Start     bool           `json:"start,omitempty"`
	}

	// Subagent is an element of a list.
	Subagent struct {
		SubagentID string  `json:"subagentId"`
		ParentID   string  `json:"parentId,omitempty"` // of a subagent of a subagent
		Goal       string  `json:"goal"`
		Status     string  `json:"status"` // running, completed, failed, interrupted, timeout
		Doing      string  `json:"doing,omitempty"`
		Calls      int     `json:"calls"`
		Tokens     int     `json:"tokens"`
		Seconds    float64 `json:"seconds"`
		Background bool    `json:"background,omitempty"`
	}

	// SubagentStatus answers a message and a stop.
	SubagentStatus struct {
		SubagentID string `json:"subagentId"`
		Status     string `json:"status,omitempty"`
		Stopped    *bool  `json:"stopped,omitempty"` // false: it had ended already
	}
)
