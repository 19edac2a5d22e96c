package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/tools"
)

// LongestError limits the message of an error in bytes. Messages name values of the client, such as ids.
const LongestError = 4000

// Error returns an error of the service with its code, message and data. See [ErrorText].
func Error(err error) *acp.Error {
	e := *coded(err)
	e.Message = ErrorText(e.Message)
	return &e
}

// ErrorText returns the message of an error for a client: not too long, and without controls, which names
// in it can have.
func ErrorText(message string) string {
	return shorten.Start(tools.WithoutControls(message), LongestError)
}

func coded(err error) *acp.Error {
	var ours *acp.Error
	var input *server.InputError
	var failed *model.Error
	switch {
	case errors.As(err, &ours):
		return ours
	case errors.As(err, &input):
		return &acp.Error{Code: acp.CodeInvalidParams, Message: input.Error(), Data: map[string]string{"param": input.Param}}
	case errors.As(err, &failed):
		message := failed.Error()
		if size := new(agent.SizeError); errors.As(err, &size) {
			message = size.Text
		}
		return &acp.Error{Code: acp.CodeInternal, Message: message, Data: modelData(failed)}
	case errors.Is(err, server.ErrNoSession), errors.Is(err, store.ErrNotFound):
		return acp.Errorf(acp.CodeUnknownResource, "%v", err)
	case errors.Is(err, server.ErrClosed), errors.Is(err, server.ErrRunning), errors.Is(err, store.ErrClaimed), errors.Is(err, store.ErrConflict):
		return acp.Errorf(acp.CodeInvalidRequest, "%v", err)
	case errors.Is(err, store.ErrCursor):
		return acp.Errorf(acp.CodeInvalidParams, "cursor: %v", store.ErrCursor)
	case errors.Is(err, context.Canceled):
		return acp.Errorf(acp.CodeCancelled, "cancelled")
	}
	return acp.Errorf(acp.CodeInternal, "%v", err)
}

// modelData returns details of a failure, so a client can offer a next step, such as a field for a
// key, or a retry.
func modelData(e *model.Error) map[string]any {
	data := map[string]any{"kind": string(e.Kind)}
	var setup *config.SetupError
	if errors.As(e.Err, &setup) {
		data["provider"], data["reason"], data["key"] = setup.Provider, setup.Problem, setup.Key
		return data
	}
	if e.Provider != "" {
		data["provider"] = e.Provider
	}
	if e.Message != "" {
		data["reason"] = e.Message
	}
	if e.Endpoint != "" {
		data["endpoint"] = e.Endpoint
	}
	if e.Model != "" {
		data["model"] = e.Model
	}
	if e.Status != 0 {
		data["status"] = e.Status
	}
	if e.RetryAfter > 0 {
		data["retryAfterSeconds"] = e.RetryAfter.Seconds()
	}
	return data
}

// decode reads parameters. The error names the invalid field.
func decode(params json.RawMessage, into any) error {
	if params = bytes.TrimSpace(params); len(params) == 0 || string(params) == "null" {
		params = json.RawMessage("{}")
	}
	err := json.Unmarshal(params, into)
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		if err != nil {
			return acp.Errorf(acp.CodeInvalidParams, "the parameters cannot be read: %v", err)
		}
		return nil
	}
	if wrong.Field == "" {
		return acp.Errorf(acp.CodeInvalidParams, "the parameters must be an object, not %s", article(wrong.Value))
	}
	return &acp.Error{
		Code:    acp.CodeInvalidParams,
		Message: fmt.Sprintf("%s must be %s, not %s", wrong.Field, jsonKind(wrong.Type), article(wrong.Value)),
		Data:    map[string]string{"param": wrong.Field},
	}
}

func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	}
	return "an object"
}

// article returns "a number" for "number 4.5", and "an array" for "array".
func article(value string) string {
	value, _, _ = strings.Cut(value, " ")
	switch value {
	case "array", "object":
		return "an " + value
	case "bool":
		return "a boolean"
	}
	return "a " + value
}
