package responsestest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// request holds the parameters read by the server.
type request struct {
	Model     string            `json:"model"`
	Store     *bool             `json:"store"`
	Stream    bool              `json:"stream"`
	Options   *streamOptions    `json:"stream_options"`
	Include   []string          `json:"include"`
	Input     json.RawMessage   `json:"input"`
	Tools     []tool            `json:"tools"`
	System    string            `json:"instructions"`
	Choice    json.RawMessage   `json:"tool_choice"`
	Reasoning *reasoning        `json:"reasoning"`
	MaxOutput *int              `json:"max_output_tokens"`
	CacheKey  string            `json:"prompt_cache_key"`
	Items     []json.RawMessage `json:"-"`
}

// prompt returns the model's input: tools, instructions, and input.
func (r *request) prompt() string {
	var b strings.Builder
	for _, t := range r.Tools {
		fmt.Fprintf(&b, "%s %s\n", t.Name, t.Parameters)
	}
	b.WriteString(r.System)
	for _, item := range r.Items {
		b.Write(item)
	}
	return b.String()
}

type streamOptions struct {
	Obfuscation *bool `json:"include_obfuscation"`
}

type reasoning struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type tool struct {
	Type       string          `json:"type"`
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
	Strict     *bool           `json:"strict"`
}

// parameters are the API's parameter names.
var parameters = []string{
	"model", "store", "stream", "stream_options", "include", "input", "instructions", "tools", "tool_choice", "reasoning",
	"max_output_tokens", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "service_tier", "parallel_tool_calls",
	"text", "temperature", "top_p", "top_logprobs", "truncation", "metadata", "user", "safety_identifier", "background",
	"previous_response_id", "conversation", "prompt", "max_tool_calls", "context_management",
}

var (
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	callID   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// accept checks a request.
func (s *Server) accept(r *http.Request, key string, body []byte) (*request, *refusal) {
	switch {
	case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/responses"):
		no := invalid("", "Invalid URL (%s %s)", r.Method, r.URL.Path)
		no.status = http.StatusNotFound
		return nil, no
	case len(s.Keys) > 0 && !slices.Contains(s.Keys, key):
		no := invalid("", "Incorrect API key provided: %.3s***.", key).coded("invalid_api_key")
		no.status = http.StatusUnauthorized
		return nil, no
	}
	var names map[string]json.RawMessage
	if !jsontext.Value(body).IsValid() || model.EscapesNUL(body) {
		return nil, invalid("", "We could not parse the JSON body of your request. (invalid Unicode, an unpaired surrogate, NUL, or a name that occurs twice)")
	}
	if err := json.Unmarshal(body, &names); err != nil {
		return nil, invalid("", "We could not parse the JSON body of your request: %v", err)
	}
	for name := range names {
		if !slices.Contains(parameters, name) {
			return nil, invalid(name, "Unknown parameter: '%s'.", name).coded("unknown_parameter")
		}
	}
	req := new(request)
	if err := json.Unmarshal(body, req); err != nil {
		return nil, invalid("", "Invalid type: %v", err).coded("invalid_type")
	}
	if s.Window > 0 && len(body)/4 > s.Window {
		return nil, invalid("input", "Your input exceeds the context window of this model. Please adjust your input and try again.").coded("context_length_exceeded")
	}
	if no := s.acceptOptions(req); no != nil {
		return nil, no
	}
	if no := acceptTools(req.Tools); no != nil {
		return nil, no
	}
	return req, s.acceptInput(req, key)
}

// acceptOptions checks the parameters other than tools and input.
func (s *Server) acceptOptions(req *request) *refusal {
	switch {
	case req.Model == "":
		return invalid("model", "Missing required parameter: 'model'.").coded("missing_required_parameter")
	case req.Store == nil || *req.Store:
		return invalid("store", "This server stores no responses: 'store' has to be false.")
	case !req.Stream:
		return invalid("stream", "This server only streams.")
	case req.MaxOutput != nil && *req.MaxOutput < 16:
		return invalid("max_output_tokens", "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *req.MaxOutput).coded("integer_below_min_value")
	case len(req.CacheKey) > 64:
		return invalid("prompt_cache_key", "Invalid 'prompt_cache_key': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", len(req.CacheKey)).coded("string_above_max_length")
	case len(req.Choice) > 0 && len(req.Tools) == 0:
		return invalid("tool_choice", "'tool_choice' is only allowed when 'tools' are specified.")
	case req.Options != nil && !req.Stream:
		return invalid("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
	}
	for _, name := range req.Include {
		if name != "reasoning.encrypted_content" {
			return invalid("include", "Invalid value: '%s'.", name).coded("invalid_value")
		}
		if len(s.Levels) == 0 {
			return invalid("include", "Encrypted content is not supported with this model.")
		}
	}
	if req.Reasoning == nil {
		return nil
	}
	switch effort, summary := req.Reasoning.Effort, req.Reasoning.Summary; {
	case len(s.Levels) == 0 && effort != nil:
		return invalid("reasoning.effort", "Unsupported parameter: 'reasoning.effort' is not supported with this model.").coded("unsupported_parameter")
	case len(s.Levels) == 0 && summary != nil:
		return invalid("reasoning.summary", "Unsupported parameter: 'reasoning.summary' is not supported with this model.").coded("unsupported_parameter")
	case effort != nil && !slices.Contains(s.Levels, *effort):
		return invalid("reasoning.effort", "Unsupported value: '%s' is not supported with the '%s' model. Supported values are: '%s'.", *effort, req.Model, strings.Join(s.Levels, "', '")).coded("unsupported_value")
	case summary != nil && !slices.Contains([]string{"auto", "concise", "detailed"}, *summary):
		return invalid("reasoning.summary", "Invalid value: '%s'.", *summary).coded("invalid_value")
	case summary != nil && s.Unverified:
		return invalid("reasoning.summary", "Your organization must be verified to generate reasoning summaries.").coded("unsupported_value")
	}
	return nil
}

func acceptTools(tools []tool) *refusal {
	seen := map[string]bool{}
	for i, t := range tools {
		var schema struct {
			Type       string          `json:"type"`
			Properties json.RawMessage `json:"properties"`
			AnyOf      json.RawMessage `json:"anyOf"`
			OneOf      json.RawMessage `json:"oneOf"`
			AllOf      json.RawMessage `json:"allOf"`
		}
		switch {
		case t.Type != "function":
			return invalid("tools", "Invalid value: '%s'. Supported values are: 'function'.", t.Type).coded("invalid_value")
		case !toolName.MatchString(t.Name):
			return invalid("tools", "Invalid 'tools[%d].name': string does not match pattern.", i).coded("invalid_value")
		case seen[t.Name]:
			return invalid("tools", "Duplicate function name: '%s'.", t.Name)
		case t.Strict == nil:
			return invalid("tools", "Missing required parameter: 'tools[%d].strict'.", i).coded("missing_required_parameter")
		case *t.Strict:
			return invalid("tools", "Invalid schema for function '%s': 'additionalProperties' is required to be supplied and to be false.", t.Name).coded("invalid_function_parameters")
		case json.Unmarshal(t.Parameters, &schema) != nil || schema.Type != "object":
			return invalid("tools", "Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'.", t.Name).coded("invalid_function_parameters")
		case schema.AnyOf != nil || schema.OneOf != nil || schema.AllOf != nil:
			return invalid("tools", "Invalid schema for function '%s': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.", t.Name).coded("invalid_function_parameters")
		case len(schema.Properties) == 0:
			return invalid("tools", "Invalid schema for function '%s': In context=(), object schema missing properties.", t.Name).coded("invalid_function_parameters")
		}
		seen[t.Name] = true
	}
	return nil
}

// inputItem holds the members of all input items.
type inputItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments *string         `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted *string         `json:"encrypted_content"`
	Summary   *[]any          `json:"summary"`
}

// input holds the facts about earlier items.
type input struct {
	key       string
	reasoning []inputItem     // without a following item yet
	ids       map[string]bool // of items
	calls     map[string]bool
	answered  map[string]bool
}

// acceptInput checks the items of the input and their order.
func (s *Server) acceptInput(req *request, key string) *refusal {
	var text string
	if json.Unmarshal(req.Input, &text) == nil {
		return nil
	}
	if err := json.Unmarshal(req.Input, &req.Items); err != nil || len(req.Items) == 0 {
		return invalid("input", "Invalid type for 'input': expected a string or a list of items.").coded("invalid_type")
	}
	in := &input{key: key, ids: map[string]bool{}, calls: map[string]bool{}, answered: map[string]bool{}}
	for i, raw := range req.Items {
		var item inputItem
		if err := json.Unmarshal(raw, &item); err != nil {
			return invalid("input", "Invalid 'input[%d]': %v", i, err).coded("invalid_type")
		}
		if item.Type == "" {
			item.Type = "message"
		}
		if no := s.acceptItem(in, i, raw, item); no != nil {
			return no
		}
	}
	if len(in.reasoning) > 0 {
		return unfollowed(in.reasoning[0])
	}
	for id := range in.calls {
		if !in.answered[id] {
			return invalid("input", "No tool output found for function call %s.", id)
		}
	}
	return nil
}

func unfollowed(item inputItem) *refusal {
	return invalid("input", "Item '%s' of type 'reasoning' was provided without its required following item.", item.ID)
}

func (s *Server) acceptItem(in *input, i int, raw []byte, item inputItem) *refusal {
	follows := strings.HasSuffix(item.Type, "_call") || item.Type == "message" && item.Role == "assistant"
	if len(in.reasoning) > 0 && !follows && item.Type != "reasoning" {
		return unfollowed(in.reasoning[0])
	}
	if follows {
		if no := s.acceptID(in, i, item); no != nil {
			return no
		}
		in.ids[item.ID] = item.ID != ""
		in.reasoning = nil
	}
	switch item.Type {
	case "message":
		return acceptMessage(i, item)
	case "reasoning":
		in.reasoning = append(in.reasoning, item)
		return s.acceptReasoning(in, i, raw, item)
	case "function_call":
		if item.CallID == "" || item.Name == "" || item.Arguments == nil {
			return invalid("input", "Missing required parameter: 'input[%d].call_id', 'name' or 'arguments'.", i).coded("missing_required_parameter")
		}
		if in.calls[item.CallID] {
			return invalid("input", "Duplicate function call with call_id %s.", item.CallID)
		}
		if no := acceptCall(i, item); no != nil {
			return no
		}
		in.calls[item.CallID] = true
		return nil
	case "function_call_output":
		if !in.calls[item.CallID] || in.answered[item.CallID] {
			return invalid("input", "No tool call found for function call output with call_id %s.", item.CallID)
		}
		in.answered[item.CallID] = true
		return acceptContent(i, item.Output, "input_text", "input_image", "input_file")
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call", "mcp_list_tools", "compaction":
		return nil // run by the server
	case "custom_tool_call":
		return invalid("input", "No tool output found for custom tool call %s.", item.CallID)
	default:
		return invalid("input", "Invalid value: '%s'. Supported values are: 'function_call', 'function_call_output', 'message', 'reasoning'.", item.Type).coded("invalid_value")
	}
}

// acceptCall checks the id, the name and the arguments of a call.
func acceptCall(i int, item inputItem) *refusal {
	param := func(name string) string { return fmt.Sprintf("input[%d].%s", i, name) }
	switch {
	case len(item.CallID) > 64:
		return invalid(param("call_id"), "Invalid 'input[%d].call_id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", i, len(item.CallID)).coded("string_above_max_length")
	case !callID.MatchString(item.CallID):
		return invalid(param("call_id"), "Invalid 'input[%d].call_id': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i).coded("invalid_value")
	case !toolName.MatchString(item.Name):
		return invalid(param("name"), "Invalid 'input[%d].name': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.", i).coded("invalid_value")
	case !jsontext.Value(*item.Arguments).IsValid() || !strings.HasPrefix(strings.TrimSpace(*item.Arguments), "{"):
		return invalid(param("arguments"), "Invalid 'input[%d].arguments': the arguments must be a valid JSON object.", i).coded("invalid_value")
	}
	return nil
}

// acceptID returns a refusal unless the id of an item was sent by this server and the item
// follows its reasoning.
func (s *Server) acceptID(in *input, i int, item inputItem) *refusal {
	prefix := map[string]string{"message": "msg", "function_call": "fc", "web_search_call": "ws"}[item.Type]
	switch before, known := s.sent[item.ID]; {
	case item.ID == "":
		return nil
	case len(item.ID) > 64:
		return invalid("input", "Invalid 'input[%d].id': string too long. Expected a string with maximum length 64, but got a string with length %d instead.", i, len(item.ID)).coded("string_above_max_length")
	case in.ids[item.ID]:
		return invalid("input", "Duplicate item found with id %s. Remove duplicate items from your input and try again.", item.ID)
	case !strings.HasPrefix(item.ID, prefix):
		return invalid("input", "Invalid 'input[%d].id': '%s'. Expected an ID that begins with '%s'.", i, item.ID, prefix).coded("invalid_value")
	case known && before.after != "" && !slices.ContainsFunc(in.reasoning, func(r inputItem) bool { return r.ID == before.after }):
		return invalid("input", "Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", item.ID, item.Type, before.after)
	}
	return nil
}

// acceptReasoning returns a refusal unless a reasoning item is unchanged and was sent to the
// same account.
func (s *Server) acceptReasoning(in *input, i int, raw []byte, item inputItem) *refusal {
	sent, known := s.sent[item.ID]
	switch {
	case item.Summary == nil:
		return invalid("input", "Missing required parameter: 'input[%d].summary'.", i).coded("missing_required_parameter")
	case item.ID == "" && bytes.Contains(raw, []byte(`"id":`)):
		return invalid("input", "Invalid 'input[%d].id': ''. Expected an ID that begins with 'rs'.", i).coded("invalid_value")
	case item.Status != "":
		return invalid("input", "Unknown parameter: 'input[%d].status'.", i).coded("unknown_parameter")
	case item.Encrypted == nil:
		no := invalid("input", "Item with id '%s' not found. Items are not persisted when `store` is set to false. Try again with `store` set to true, or remove this item from your input.", item.ID)
		no.status = http.StatusNotFound
		return no
	case !known || sent.key != in.key || !sameJSON(raw, sent.raw):
		return invalid("", "The encrypted content for item %s could not be verified. Reason: Encrypted content could not be decrypted or parsed.", item.ID).coded("invalid_encrypted_content")
	}
	return nil
}

// sameJSON reports whether two JSON texts are equal values.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func acceptMessage(i int, item inputItem) *refusal {
	switch item.Role {
	case "user", "developer", "system":
		return acceptContent(i, item.Content, "input_text", "input_image", "input_file")
	case "assistant":
		if item.ID != "" && item.Status == "" {
			return invalid("input", "Missing required parameter: 'input[%d].status'.", i).coded("missing_required_parameter")
		}
		return acceptContent(i, item.Content, "output_text", "refusal")
	default:
		return invalid("input", "Invalid value: '%s'. Supported values are: 'assistant', 'system', 'developer', and 'user'.", item.Role).coded("invalid_value")
	}
}

// acceptContent checks a string or a list of parts.
func acceptContent(i int, raw json.RawMessage, types ...string) *refusal {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return nil
	}
	var parts []struct {
		Type     string  `json:"type"`
		Text     *string `json:"text"`
		ImageURL string  `json:"image_url"`
		FileData string  `json:"file_data"`
		Filename string  `json:"filename"`
	}
	if json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return invalid("input", "Invalid type for 'input[%d].content': expected a string or a list of parts.", i).coded("invalid_type")
	}
	for n, p := range parts {
		switch {
		case !slices.Contains(types, p.Type):
			return invalid("input", "Invalid value: '%s'. Supported values are: '%s'.", p.Type, strings.Join(types, "', '")).coded("invalid_value")
		case strings.HasSuffix(p.Type, "_text") && p.Text == nil:
			return invalid("input", "Missing required parameter: 'input[%d].content[%d].text'.", i, n).coded("missing_required_parameter")
		case p.Type == "input_image" && !isData(p.ImageURL, "image/"):
			return invalid("input", "Invalid 'input[%d].content[%d].image_url'. Expected a valid URL, but got a value with an invalid format.", i, n).coded("invalid_value")
		case p.Type == "input_file" && (p.Filename == "" || !isData(p.FileData, "application/pdf")):
			return invalid("input", "Invalid 'input[%d].content[%d].file_data'.", i, n).coded("invalid_value")
		}
	}
	return nil
}

// isData reports whether a URL holds data of a type in base64.
func isData(url, kind string) bool {
	rest, ok := strings.CutPrefix(url, "data:"+kind)
	_, data, cut := strings.Cut(rest, ";base64,")
	_, err := base64.StdEncoding.DecodeString(data)
	return ok && cut && data != "" && err == nil
}
