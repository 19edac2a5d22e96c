package acp_test

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// types are the definitions of the official schema and their Go types.
var types = map[string]any{
	"InitializeRequest": acp.InitializeRequest{}, "InitializeResponse": acp.InitializeResponse{},
	"ClientCapabilities": acp.ClientCapabilities{}, "FileSystemCapabilities": acp.FileSystemCapabilities{},
	"ClientSessionCapabilities": acp.ClientSessionCapabilities{}, "ElicitationCapabilities": acp.ElicitationCapabilities{},
	"AgentCapabilities": acp.AgentCapabilities{}, "PromptCapabilities": acp.PromptCapabilities{}, "McpCapabilities": acp.MCPCapabilities{},
	"SessionCapabilities": acp.SessionCapabilities{}, "AgentAuthCapabilities": acp.AuthCapabilities{}, "Implementation": acp.Implementation{},
	"AuthMethodTerminal": acp.AuthMethod{}, "AuthenticateRequest": acp.AuthenticateRequest{}, "CancelRequestNotification": acp.CancelRequestNotification{},
	"NewSessionRequest": acp.NewSessionRequest{}, "NewSessionResponse": acp.NewSessionResponse{},
	"LoadSessionRequest": acp.LoadSessionRequest{}, "LoadSessionResponse": acp.LoadSessionResponse{},
	"ResumeSessionRequest": acp.ResumeSessionRequest{}, "ResumeSessionResponse": acp.ResumeSessionResponse{},
	"ListSessionsRequest": acp.ListSessionsRequest{}, "ListSessionsResponse": acp.ListSessionsResponse{}, "SessionInfo": acp.SessionInfo{},
	"CloseSessionRequest": acp.CloseSessionRequest{}, "DeleteSessionRequest": acp.DeleteSessionRequest{}, "CancelNotification": acp.CancelNotification{},
	"PromptRequest": acp.PromptRequest{}, "PromptResponse": acp.PromptResponse{},
	"SessionModeState": acp.SessionModeState{}, "SessionMode": acp.SessionMode{}, "SetSessionModeRequest": acp.SetSessionModeRequest{},
	"SessionConfigOption": acp.SessionConfigOption{}, "SessionConfigSelectOption": acp.SessionConfigSelectOption{},
	"SetSessionConfigOptionRequest": acp.SetSessionConfigOptionRequest{}, "SetSessionConfigOptionResponse": acp.SetSessionConfigOptionResponse{},
	"SessionNotification": acp.SessionNotification{}, "ContentChunk": acp.ContentChunk{}, "ToolCall": acp.ToolCall{}, "ToolCallUpdate": acp.ToolCall{},
	"Plan": acp.Plan{}, "PlanEntry": acp.PlanEntry{}, "AvailableCommandsUpdate": acp.CommandsUpdate{}, "AvailableCommand": acp.AvailableCommand{},
	"CurrentModeUpdate": acp.ModeUpdate{}, "ConfigOptionUpdate": acp.OptionsUpdate{}, "SessionInfoUpdate": acp.InfoUpdate{},
	"UsageUpdate": acp.UsageUpdate{}, "Cost": acp.Cost{}, "Notice": acp.Notice{}, "ToolCallContent": acp.ToolCallContent{}, "ToolCallLocation": acp.ToolCallLocation{},
	"ContentBlock": acp.ContentBlock{}, "EmbeddedResourceResource": acp.ResourceContents{}, "Annotations": acp.Annotations{},
	"RequestPermissionRequest": acp.RequestPermissionRequest{}, "PermissionOption": acp.PermissionOption{},
	"RequestPermissionResponse": acp.RequestPermissionResponse{}, "RequestPermissionOutcome": acp.PermissionOutcome{},
	"ReadTextFileRequest": acp.ReadTextFileRequest{}, "ReadTextFileResponse": acp.ReadTextFileResponse{}, "WriteTextFileRequest": acp.WriteTextFileRequest{},
	"CreateTerminalRequest": acp.CreateTerminalRequest{}, "CreateTerminalResponse": acp.CreateTerminalResponse{}, "EnvVariable": acp.EnvVariable{},
	"TerminalOutputRequest": acp.TerminalRequest{}, "TerminalOutputResponse": acp.TerminalOutputResponse{}, "TerminalExitStatus": acp.ExitStatus{},
	"CreateElicitationRequest": acp.ElicitRequest{}, "CreateElicitationResponse": acp.ElicitResponse{},
	"Error": acp.Error{},
}

// discriminators belong to the union around a definition, not to it.
var discriminators = []string{"type", "sessionUpdate", "mode", "outcome", "action"}

// TestTypesFollowTheSchema compares every field with the official definition: no unknown field, and
// no required field missing.
func TestTypesFollowTheSchema(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Defs map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	for name, value := range types {
		def := file.Defs[name]
		if def == nil {
			t.Errorf("the schema has no %s", name)
			continue
		}
		known := map[string]bool{}
		properties(file.Defs, def, known)
		fields := map[string]bool{}
		for i := range reflect.TypeOf(value).NumField() {
			tag, _, _ := strings.Cut(reflect.TypeOf(value).Field(i).Tag.Get("json"), ",")
			fields[tag] = true
			if !known[tag] && !slices.Contains(discriminators, tag) {
				t.Errorf("%s has no %q; it has %v", name, tag, known)
			}
		}
		required, _ := def["required"].([]any)
		for _, r := range required {
			if !fields[r.(string)] {
				t.Errorf("%s requires %q", name, r)
			}
		}
	}
}

// properties collects the names of a definition's fields, including its parts'.
func properties(defs map[string]map[string]any, def map[string]any, into map[string]bool) {
	for name := range asMap(def["properties"]) {
		into[name] = true
	}
	if ref, ok := def["$ref"].(string); ok {
		properties(defs, defs[strings.TrimPrefix(ref, "#/$defs/")], into)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := def[key].([]any)
		for _, part := range parts {
			properties(defs, asMap(part), into)
		}
	}
}

func asMap(v any) map[string]any { m, _ := v.(map[string]any); return m }

// TestMethodsAreKnown compares our names of methods with the schema's.
func TestMethodsAreKnown(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []string{
		acp.MethodInitialize, acp.MethodAuthenticate, acp.MethodLogout, acp.MethodSessionNew, acp.MethodSessionLoad, acp.MethodSessionResume,
		acp.MethodSessionList, acp.MethodSessionClose, acp.MethodSessionDelete, acp.MethodSessionPrompt, acp.MethodSessionCancel,
		acp.MethodSessionSetMode, acp.MethodSessionSetValue, acp.MethodSessionUpdate, acp.MethodRequestPermission, acp.MethodReadTextFile,
		acp.MethodWriteTextFile, acp.MethodTerminalCreate, acp.MethodTerminalOutput, acp.MethodTerminalWait, acp.MethodTerminalKill,
		acp.MethodTerminalRelease, acp.MethodElicit, acp.MethodElicitComplete, acp.MethodCancelRequest,
	} {
		if !strings.Contains(string(data), `"x-method": "`+m+`"`) && !strings.Contains(string(data), `"x-method":"`+m+`"`) {
			t.Errorf("the schema has no method %s", m)
		}
	}
}

func TestRequiredFieldsAreWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		value any
		want  string
	}{
		{acp.Text(""), `{"type":"text","text":""}`},
		{acp.ContentBlock{Type: "image", Data: "AA==", MIMEType: "image/png"}, `{"type":"image","data":"AA==","mimeType":"image/png"}`},
		{acp.Plan{SessionUpdate: "plan"}, `{"sessionUpdate":"plan","entries":[]}`},
		{acp.ListSessionsResponse{}, `{"sessions":[]}`},
		{acp.NewSessionRequest{Cwd: "/"}, `{"cwd":"/","mcpServers":[]}`},
		{acp.DiffContent("/a", nil, ""), `{"type":"diff","path":"/a","newText":""}`},
	} {
		if got, err := json.Marshal(c.value); err != nil || string(got) != c.want {
			t.Errorf("%T: %s, %v; want %s", c.value, got, err, c.want)
		}
	}
}
