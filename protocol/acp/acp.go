// Package acp is the vocabulary of the Agent Client Protocol, version 1: method
// names, parameters, results, errors. It knows no agent and no wire.
//
// Types are written after the official JSON Schema (testdata/schema.json), and
// the tests validate them against it. Slices that the schema requires marshal as
// [] when nil. What other implementations add in _meta is kept where we read it
// and ignored elsewhere.
package acp

import (
	"encoding/json"
	"fmt"
)

// Version is the protocol version that this package describes.
const Version = 1

// Methods of the agent, called by the client.
const (
	MethodInitialize      = "initialize"                // InitializeRequest → InitializeResponse
	MethodAuthenticate    = "authenticate"              // AuthenticateRequest → AuthenticateResponse
	MethodLogout          = "logout"                    // LogoutRequest → LogoutResponse
	MethodSessionNew      = "session/new"               // NewSessionRequest → NewSessionResponse
	MethodSessionLoad     = "session/load"              // LoadSessionRequest → LoadSessionResponse
	MethodSessionResume   = "session/resume"            // ResumeSessionRequest → ResumeSessionResponse
	MethodSessionList     = "session/list"              // ListSessionsRequest → ListSessionsResponse
	MethodSessionClose    = "session/close"             // CloseSessionRequest → CloseSessionResponse
	MethodSessionDelete   = "session/delete"            // DeleteSessionRequest → DeleteSessionResponse
	MethodSessionPrompt   = "session/prompt"            // PromptRequest → PromptResponse
	MethodSessionCancel   = "session/cancel"            // notification: CancelNotification
	MethodSessionSetMode  = "session/set_mode"          // SetSessionModeRequest → SetSessionModeResponse
	MethodSessionSetValue = "session/set_config_option" // SetSessionConfigOptionRequest → SetSessionConfigOptionResponse
)

// Methods of the client, called by the agent.
const (
	MethodSessionUpdate     = "session/update"             // notification: SessionNotification
	MethodRequestPermission = "session/request_permission" // RequestPermissionRequest → RequestPermissionResponse
	MethodReadTextFile      = "fs/read_text_file"          // ReadTextFileRequest → ReadTextFileResponse
	MethodWriteTextFile     = "fs/write_text_file"         // WriteTextFileRequest → WriteTextFileResponse
	MethodTerminalCreate    = "terminal/create"            // CreateTerminalRequest → CreateTerminalResponse
	MethodTerminalOutput    = "terminal/output"            // TerminalRequest → TerminalOutputResponse
	MethodTerminalWait      = "terminal/wait_for_exit"     // TerminalRequest → WaitForTerminalExitResponse
	MethodTerminalKill      = "terminal/kill"
	MethodTerminalRelease   = "terminal/release"
	MethodElicit            = "elicitation/create"   // ElicitRequest → ElicitResponse
	MethodElicitComplete    = "elicitation/complete" // notification
)

// MethodCancelRequest is a notification of either side.
const MethodCancelRequest = "$/cancel_request"

// Error codes of JSON-RPC and of the protocol.
const (
	CodeParse           = -32700
	CodeInvalidRequest  = -32600
	CodeMethodNotFound  = -32601
	CodeInvalidParams   = -32602
	CodeInternal        = -32603
	CodeCancelled       = -32800
	CodeAuthRequired    = -32000
	CodeUnknownResource = -32002
)

// Error is a JSON-RPC error. Its message is for people.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Errorf makes an error of a code.
func Errorf(code int, format string, a ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, a...)}
}

// Meta is the place for what the protocol has no word for.
type Meta map[string]any

// List is a slice that marshals as [] when nil.
type List[T any] []T

func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Implementation names a program.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// Supported stands for a capability that is written {}.
type Supported struct{}

// InitializeRequest opens a connection.
type InitializeRequest struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
	ClientInfo         *Implementation    `json:"clientInfo,omitempty"`
}

// ClientCapabilities is what the client lends.
type ClientCapabilities struct {
	FS          FileSystemCapabilities     `json:"fs"`
	Terminal    bool                       `json:"terminal"`
	Session     *ClientSessionCapabilities `json:"session,omitempty"`
	Auth        *ClientAuthCapabilities    `json:"auth,omitempty"`
	Elicitation *ElicitationCapabilities   `json:"elicitation,omitempty"`
	Meta        Meta                       `json:"_meta,omitempty"` // hermes: {diagnostics: true}: it answers MethodDiagnostics
}

// ClientAuthCapabilities says whether the client can run the agent in a terminal for
// its user to log in.
type ClientAuthCapabilities struct {
	Terminal bool `json:"terminal"`
}

type FileSystemCapabilities struct {
	ReadTextFile  bool `json:"readTextFile"`
	WriteTextFile bool `json:"writeTextFile"`
}

type ClientSessionCapabilities struct {
	Compaction    *Supported                      `json:"compaction,omitempty"`
	ConfigOptions *SessionConfigOptionsCapability `json:"configOptions,omitempty"`
	Notices       *Supported                      `json:"notices,omitempty"`
}

type SessionConfigOptionsCapability struct {
	Boolean *Supported `json:"boolean,omitempty"`
}

type ElicitationCapabilities struct {
	Form *Supported `json:"form,omitempty"`
	URL  *Supported `json:"url,omitempty"`
}

// InitializeResponse says what the agent can do.
type InitializeResponse struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AuthMethods       List[AuthMethod]  `json:"authMethods"`
	AgentInfo         *Implementation   `json:"agentInfo,omitempty"`
}

type AgentCapabilities struct {
	LoadSession         bool                `json:"loadSession"`
	PromptCapabilities  PromptCapabilities  `json:"promptCapabilities"`
	MCPCapabilities     MCPCapabilities     `json:"mcpCapabilities"`
	SessionCapabilities SessionCapabilities `json:"sessionCapabilities"`
	Auth                *AuthCapabilities   `json:"auth,omitempty"`
	Meta                Meta                `json:"_meta,omitempty"`
}

type PromptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

type MCPCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

type SessionCapabilities struct {
	List                  *Supported `json:"list,omitempty"`
	Delete                *Supported `json:"delete,omitempty"`
	AdditionalDirectories *Supported `json:"additionalDirectories,omitempty"`
	Resume                *Supported `json:"resume,omitempty"`
	Close                 *Supported `json:"close,omitempty"`
}

type AuthCapabilities struct {
	Logout *Supported `json:"logout,omitempty"`
}

// AuthMethod is a way to log in. Type is "agent" when empty, else "terminal".
type AuthMethod struct {
	ID          string            `json:"id"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Type        string            `json:"type,omitempty"`
	Args        []string          `json:"args,omitempty"`
	Env         map[string]string `json:"env,omitempty"`
	Meta        Meta              `json:"_meta,omitempty"`
}

type AuthenticateRequest struct {
	MethodID string `json:"methodId"`
}

type (
	AuthenticateResponse struct{}
	LogoutRequest        struct{}
	LogoutResponse       struct{}
)

// CancelRequestNotification asks to stop a request; ID is a number or a string.
type CancelRequestNotification struct {
	RequestID json.RawMessage `json:"requestId"`
}
