package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Kinds of permission options.
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// UnmarshalJSON accepts only the exact name "outcome"; encoding/json ignores case. An
// approval must be written as the protocol writes it.
func (r *RequestPermissionResponse) UnmarshalJSON(data []byte) error {
	return exactly(data, map[string]any{"outcome": &r.Outcome})
}

// UnmarshalJSON accepts only the exact names, as in [RequestPermissionResponse].
func (o *PermissionOutcome) UnmarshalJSON(data []byte) error {
	return exactly(data, map[string]any{"outcome": &o.Outcome, "optionId": &o.OptionID, "_meta": &o.Meta})
}

// exactly decodes fields of an object by their exact names. If a name occurs twice, it
// returns an error.
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

type WriteTextFileResponse struct{}

// TerminalRequest names a terminal: the parameters of output, wait_for_exit, kill
// and release.
type TerminalRequest struct {
	SessionID  string `json:"sessionId"`
	TerminalID string `json:"terminalId"`
}

type WaitForTerminalExitResponse = ExitStatus
