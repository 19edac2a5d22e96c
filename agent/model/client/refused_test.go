package client_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

// needed are the required fields of a request, and fields that come only from the user's
// settings.
var needed = []string{"model", "messages", "input", "contents", "tools", "stream", "service_tier", "instructions", "systemInstruction", "generationConfig", "max_tokens of messages", "system"}

// TestRefusedFields refuses each optional field of a request.
func TestRefusedFields(t *testing.T) {
	t.Parallel()
	for name, r := range replies {
		for _, wording := range []string{
			`{"error":{"message":"Unknown parameter: '%s'.","type":"invalid_request_error","param":%[1]q,"code":"unknown_parameter"}}`,
			`{"error":{"message":"%s: Extra inputs are not permitted","type":"invalid_request_error"}}`,
			`{"detail":[{"type":"extra_forbidden","loc":["body",%q],"msg":"Extra inputs are not permitted"}]}`,
			`{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"%s\": Cannot find field.","status":"INVALID_ARGUMENT"}}`,
			`{"error":{"message":"Unrecognized request argument supplied: %s"}}`,
			`{"error":{"message":"This model does not support %s"}}`,
		} {
			fields := encoded(t, r.api, target(name))
			for field := range fields {
				if slices.Contains(needed, field) || slices.Contains(needed, field+" of "+name) {
					continue
				}
				left := target(name)
				body := fmt.Appendf(nil, wording, field)
				for n := 0; ; n++ {
					now := encoded(t, r.api, left)
					if _, has := now[field]; !has {
						break
					}
					if n > 3 || !r.api.Adapt(full(), left, r.api.Classify(http.StatusBadRequest, nil, body)) {
						t.Errorf("%s: %s is sent again after %s", name, field, body)
						break
					}
				}
			}
		}
	}
}

// TestRefusedForms checks fields with several forms: the endpoint gets the form that it wants.
func TestRefusedForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		api, message string
		lacks, has   string
	}{
		{"messages", `{"error":{"type":"invalid_request_error","message":"system: Input should be a valid string"}}`, `"system":[`, `"system":"be good"`},
		{"messages", `{"error":"json: cannot unmarshal array into Go struct field MessagesRequest.system of type string"}`, `"system":[`, `"system":"be good"`},
		{"gemini", `{"error":{"code":400,"message":"Invalid JSON payload received. Unknown name \"parametersJsonSchema\" at 'tools[0].function_declarations[0]': Cannot find field.","status":"INVALID_ARGUMENT"}}`, `parametersJsonSchema`, `"parameters":{"properties":{"path":{"type":"string"}},"type":"object"}`},
		{"gemini", `{"error":{"code":400,"message":"Developer instruction is not enabled for models/gemma-3-27b-it","status":"INVALID_ARGUMENT"}}`, `systemInstruction`, `"contents":[{"role":"user","parts":[{"text":"be good"}]}`},
		{"responses", `{"error":{"message":"Unknown parameter: 'tools[0].strict'.","param":"tools[0].strict"}}`, `strict`, `"name":"read_file"`},
		{"messages", `{"error":{"message":"tools.0.input_schema.additionalProperties: Extra inputs are not permitted"}}`, ``, `"input_schema"`},
	} {
		a, left := replies[tc.api].api, target(tc.api)
		changed := a.Adapt(full(), left, a.Classify(http.StatusBadRequest, nil, []byte(tc.message)))
		out, err := a.Encode(full(), left)
		if err != nil {
			t.Fatal(err)
		}
		body := string(out.Body.Bytes())
		if tc.lacks != "" && (!changed || strings.Contains(body, tc.lacks)) || !strings.Contains(body, tc.has) {
			t.Errorf("%s after %s:\n%s", tc.api, tc.message, body)
		}
	}
}

func target(name string) *api.Target {
	return &api.Target{Provider: "openai", BaseURL: "http://refuses.test", Model: map[string]string{"gemini": "gemini-3-pro", "messages": "claude-opus-4-6"}[name], Encoded: new(api.Cached), Efforts: []string{"low", "high"}}
}

func full() *model.Request {
	return &model.Request{
		System: "be good", Messages: []model.Message{model.NewMessage(model.User, "hi")}, SessionID: "s", Effort: "high", NoCalls: true,
		Tools: []model.Tool{{Name: "read_file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":false}`)}},
	}
}

// encoded returns the fields of a request.
func encoded(t *testing.T, a api.API, to *api.Target) map[string]json.RawMessage {
	t.Helper()
	fields := map[string]json.RawMessage{}
	out, err := a.Encode(full(), to)
	if err != nil || json.Unmarshal(out.Body.Bytes(), &fields) != nil {
		t.Fatalf("%v, %v", err, maps.Clone(fields))
	}
	return fields
}
