// Package acp defines the names, types and errors of the Agent Client Protocol, version 1. It knows
// no agent and no wire.
//
// types_gen.go is generated from the official JSON Schema (testdata/schema.json), and the tests
// validate frames against it. A union is a struct with the fields of all variants. If the schema
// requires a slice and it is nil, it marshals as [].
package acp

//go:generate go run ./generate

import (
	"encoding/json"
	"fmt"
)

// Version is the protocol version of this package.
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

// Error is a JSON-RPC error. Its message is for the user.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *Error) Error() string { return e.Message }

// Errorf returns an error with a code.
func Errorf(code int, format string, a ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, a...)}
}

// Meta holds members outside of the protocol.
type Meta map[string]any

// List is a slice that marshals as [] when nil.
type List[T any] []T

func (l List[T]) MarshalJSON() ([]byte, error) {
	if l == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]T(l))
}

// Supported is a capability written as {}.
type Supported struct{}

type (
	AuthenticateResponse struct{}
	LogoutRequest        struct{}
	LogoutResponse       struct{}
)
