package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// RequestPermissionRequest asks the user before a call runs.
type RequestPermissionRequest struct {
	SessionID string                 `json:"sessionId"`
	ToolCall  ToolCall               `json:"toolCall"` // without SessionUpdate
	Options   List[PermissionOption] `json:"options"`
}

// PermissionOption is one possible answer.
type PermissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// Kinds of permission options.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

type RequestPermissionResponse struct {
	Outcome PermissionOutcome `json:"outcome"`
}

// UnmarshalJSON takes only the exact name "outcome", which encoding/json would also
// find in other letters: what approves must be written as the protocol writes it.
func (r *RequestPermissionResponse) UnmarshalJSON(data []byte) error {
	return exactly(data, map[string]any{"outcome": &r.Outcome})
}

// PermissionOutcome is "selected" with an option, or "cancelled".
type PermissionOutcome struct {
	Outcome  string `json:"outcome"`
	OptionID string `json:"optionId,omitempty"`
}

// UnmarshalJSON takes only the exact names, as that of [RequestPermissionResponse].
func (o *PermissionOutcome) UnmarshalJSON(data []byte) error {
	return exactly(data, map[string]any{"outcome": &o.Outcome, "optionId": &o.OptionID})
}

// exactly decodes the fields of an object whose names are written exactly so, and once.
func exactly(data []byte, into map[string]any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return errors.Join(err, errors.New("the answer is not an object"))
	}
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return err
		}
		var raw json.RawMessage
		if err := decoder.Decode(&raw); err != nil {
			return err
		}
		field, _ := name.(string)
		if seen[field] {
			return fmt.Errorf("the answer has %q twice", field)
		}
		seen[field] = true
		if value, ok := into[field]; ok {
			if err := json.Unmarshal(raw, value); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	OutcomeSelected  = "selected"
	OutcomeCancelled = "cancelled"
)

// ReadTextFileRequest reads through the editor, unsaved text included. Line counts
// from 1; zero Line and Limit read the whole file.
type ReadTextFileRequest struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"`
	Limit     int    `json:"limit,omitempty"`
}

type ReadTextFileResponse struct {
	Content string `json:"content"`
}

type WriteTextFileRequest struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
}

type WriteTextFileResponse struct{}

// CreateTerminalRequest starts a command in a terminal that the editor shows.
type CreateTerminalRequest struct {
	SessionID       string        `json:"sessionId"`
	Command         string        `json:"command"`
	Args            []string      `json:"args,omitempty"`
	Env             []EnvVariable `json:"env,omitempty"`
	Cwd             string        `json:"cwd,omitempty"`
	OutputByteLimit int           `json:"outputByteLimit,omitempty"`
}

type CreateTerminalResponse struct {
	TerminalID string `json:"terminalId"`
}

// TerminalRequest names a terminal: the parameters of output, wait_for_exit, kill
// and release.
type TerminalRequest struct {
	SessionID  string `json:"sessionId"`
	TerminalID string `json:"terminalId"`
}

type TerminalOutputResponse struct {
	Output     string      `json:"output"`
	Truncated  bool        `json:"truncated"`
	ExitStatus *ExitStatus `json:"exitStatus,omitempty"`
}

// ExitStatus is how a command ended: a code, or the signal that ended it.
type ExitStatus struct {
	ExitCode *int    `json:"exitCode,omitempty"`
	Signal   *string `json:"signal,omitempty"`
}

type WaitForTerminalExitResponse = ExitStatus

// ElicitRequest asks the user for something. Mode "form" has a RequestedSchema,
// mode "url" a URL and an ElicitationID. It belongs to a session.
type ElicitRequest struct {
	SessionID       string          `json:"sessionId"`
	ToolCallID      string          `json:"toolCallId,omitempty"`
	Message         string          `json:"message"`
	Mode            string          `json:"mode"`
	RequestedSchema json.RawMessage `json:"requestedSchema,omitempty"`
	ElicitationID   string          `json:"elicitationId,omitempty"`
	URL             string          `json:"url,omitempty"`
}

// ElicitResponse is "accept" with content, "decline", or "cancel".
type ElicitResponse struct {
	Action  string                     `json:"action"`
	Content map[string]json.RawMessage `json:"content,omitempty"`
}
