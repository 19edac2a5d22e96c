package acp

// ResumeSessionResponse contains the modes and options of the session.
type ResumeSessionResponse = LoadSessionResponse

// SessionRequest names a session: the parameters of close and delete.
type SessionRequest struct {
	SessionID string `json:"sessionId"`
}

type (
	CloseSessionRequest   = SessionRequest
	DeleteSessionRequest  = SessionRequest
	CancelNotification    = SessionRequest
	CloseSessionResponse  struct{}
	DeleteSessionResponse struct{}
)

// StopReason is the reason why a turn ended.
type StopReason string

const (
	StopEndTurn         StopReason = "end_turn"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxTurnRequests StopReason = "max_turn_requests"
	StopRefusal         StopReason = "refusal"
	StopCancelled       StopReason = "cancelled"
)

type SetSessionModeResponse struct{}

// Categories of configuration options.
const (
	CategoryMode         = "mode"
	CategoryModel        = "model"
	CategoryThoughtLevel = "thought_level"
)
