package geminitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"maps"
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
	System   *content   `json:"systemInstruction"`
	Contents []content  `json:"contents"`
	Tools    []toolList `json:"tools"`
	Config   *config    `json:"generationConfig"`
	Tooling  *struct {
		Calling struct {
			Mode string `json:"mode"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Safety json.RawMessage `json:"safetySettings"`
	Cached string          `json:"cachedContent"`
	Tier   string          `json:"serviceTier"`
	Token  string          `json:"continuationToken"`
}

type content struct {
	Role  string `json:"role"`
	Parts []part `json:"parts"`
}

type part struct {
	Text      *string   `json:"text"`
	Thought   bool      `json:"thought"`
	Signature string    `json:"thoughtSignature"`
	Data      *blob     `json:"inlineData"`
	Call      *call     `json:"functionCall"`
	Response  *response `json:"functionResponse"`

	Executable json.RawMessage `json:"executableCode"`
}

type blob struct {
	Type string `json:"mimeType"`
	Data string `json:"data"`
	Name string `json:"displayName"`
}

type call struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args map[string]any `json:"args"`
}

type response struct {
	ID       string         `json:"id"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
	Parts    []struct {
		Data *blob `json:"inlineData"`
	} `json:"parts"`
}

type toolList struct {
	Functions []function `json:"functionDeclarations"`
}

type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	JSONSchema  json.RawMessage `json:"parametersJsonSchema"`
}

type config struct {
	MaxTokens   *int     `json:"maxOutputTokens"`
	Temperature *float64 `json:"temperature"`
	Thinking    *struct {
		Include bool   `json:"includeThoughts"`
		Budget  *int   `json:"thinkingBudget"`
		Level   string `json:"thinkingLevel"`
	} `json:"thinkingConfig"`
	MIMEType string          `json:"responseMimeType"`
	Schema   json.RawMessage `json:"responseJsonSchema"`
}

var (
	path         = regexp.MustCompile(`^(?:/v1(?:beta)?)?/models/[^/:]+:streamGenerateContent$`)
	callName     = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$`)
	functionName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}$`)
)

func (s *Server) version() float64 {
	if s.Version == 0 {
		return 3
	}
	return s.Version
}

// accept checks a request.
func (s *Server) accept(r *http.Request, body []byte) *refusal {
	key := r.Header.Get("X-Goog-Api-Key")
	switch {
	case r.Method != http.MethodPost || !path.MatchString(r.URL.Path):
		return &refusal{Code: http.StatusNotFound, Message: "models/x is not found for API version v1beta", Status: "NOT_FOUND"}
	case r.URL.Query().Has("key"):
		return invalid("This server does not accept keys in the address.")
	case r.URL.Query().Get("alt") != "sse":
		return invalid("This server only streams with alt=sse.")
	case len(s.Keys) > 0 && !slices.Contains(s.Keys, key):
		no := invalid("API key not valid. Please pass a valid API key.")
		no.Details = []any{map[string]any{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID", "domain": "googleapis.com"}}
		return no
	case s.Window > 0 && len(body)/4 > s.Window:
		return invalid("The input token count (%d) exceeds the maximum number of tokens allowed (%d).", len(body)/4, s.Window)
	}
	var req request
	var all any
	if !jsontext.Value(body).IsValid() || model.EscapesNUL(body) {
		return invalid("Invalid JSON payload received. Invalid Unicode, an unpaired surrogate, NUL, or a name that occurs twice.")
	}
	if err := json.Unmarshal(body, &all); err != nil {
		return invalid("Invalid JSON payload received. %v", err)
	}
	named, err := json.Marshal(camelCase(all))
	if err != nil {
		return invalid("%v", err)
	}
	dec := json.NewDecoder(bytes.NewReader(named))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&req); err != nil {
		return invalid("Invalid JSON payload received. %s: Cannot find field.", strings.Replace(err.Error(), "json: unknown field", "Unknown name", 1))
	}
	if no := acceptTools(req.Tools); no != nil {
		return no
	}
	if no := s.acceptConfig(&req); no != nil {
		return no
	}
	if contents, known := s.paused[standard(req.Token)]; req.Token != "" && (!known || !reflect.DeepEqual(contents, req.Contents)) {
		return invalid("The continuation token is not valid for these contents.")
	}
	s.newest = req.Contents
	return s.acceptContents(key, req.Contents)
}

// camelCase renames members such as include_thoughts, which the API also accepts. It does not
// change members with names chosen by the user.
func camelCase(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = camelCase(v[i])
		}
	case map[string]any:
		for name, inside := range maps.Clone(v) {
			words := strings.Split(name, "_")
			for i := 1; i < len(words); i++ {
				if words[i] != "" {
					words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
				}
			}
			delete(v, name)
			name = strings.Join(words, "")
			if !slices.Contains([]string{"args", "response", "parameters", "parametersJsonSchema"}, name) {
				inside = camelCase(inside)
			}
			v[name] = inside
		}
	}
	return value
}

func acceptTools(lists []toolList) *refusal {
	seen := map[string]bool{}
	for _, list := range lists {
		if len(list.Functions) == 0 {
			return invalid("* GenerateContentRequest.tools[0].function_declarations: must not be empty")
		}
		for i, f := range list.Functions {
			at := func(format string, args ...any) *refusal {
				return invalid("* GenerateContentRequest.tools[0].function_declarations[%d]"+format, append([]any{i}, args...)...)
			}
			switch {
			case !functionName.MatchString(f.Name):
				return at(".name: Invalid function name %q.", f.Name)
			case seen[f.Name]:
				return invalid("Duplicate function declaration found: %s", f.Name)
			case f.Parameters != nil && f.JSONSchema != nil:
				return at(": parameters and parameters_json_schema are exclusive")
			}
			seen[f.Name] = true
			if problem := schemaProblem(f.Parameters, "parameters"); problem != "" {
				return at(".%s", problem)
			}
			var schema struct {
				Type       string                     `json:"type"`
				Properties map[string]json.RawMessage `json:"properties"`
			}
			if f.JSONSchema != nil && (json.Unmarshal(f.JSONSchema, &schema) != nil || schema.Type != "object" || len(schema.Properties) == 0) {
				return at(".parameters_json_schema.properties: should be non-empty for OBJECT type")
			}
		}
	}
	return nil
}

// keywords are the schema keywords in parameters.
const keywords = "type format title description nullable enum maxItems minItems properties required minProperties maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum"

// schemaProblem returns the API's reason for rejecting a schema in parameters, or "".
func schemaProblem(raw json.RawMessage, at string) string {
	if raw == nil {
		return ""
	}
	if name := unknown(raw, keywords); name != "" {
		return at + `: Invalid JSON payload received. Unknown name "` + name + `": Cannot find field.`
	}
	var s struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Items      json.RawMessage            `json:"items"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return at + ": " + err.Error()
	}
	switch kind := strings.ToLower(s.Type); {
	case kind == "object" && len(s.Properties) == 0:
		return at + ".properties: should be non-empty for OBJECT type"
	case kind == "array" && s.Items == nil:
		return at + ".items: missing field."
	}
	for name, sub := range s.Properties {
		if problem := schemaProblem(sub, at+".properties["+name+"]"); problem != "" {
			return problem
		}
	}
	for _, sub := range append(s.AnyOf, s.Items) {
		if problem := schemaProblem(sub, at+".items"); problem != "" {
			return problem
		}
	}
	return ""
}

func (s *Server) acceptConfig(req *request) *refusal {
	if t := req.Tooling; t != nil && (!slices.Contains([]string{"AUTO", "ANY", "NONE", "VALIDATED"}, t.Calling.Mode) || len(req.Tools) == 0) {
		return invalid("Invalid value at 'tool_config.function_calling_config.mode'")
	}
	if req.Config == nil {
		return nil
	}
	if n := req.Config.MaxTokens; n != nil && *n < 1 {
		return invalid("max_output_tokens must be positive")
	}
	think := req.Config.Thinking
	if think == nil {
		return nil
	}
	switch {
	case len(s.Levels) == 0:
		return invalid("Thinking is not enabled for this model.")
	case think.Budget != nil && think.Level != "":
		return invalid("You can only set only one of thinking budget and thinking level.")
	case think.Level != "" && s.version() < 3:
		return invalid("Thinking level is not supported for this model.")
	case think.Level != "" && !slices.Contains(s.Levels, strings.ToLower(think.Level)):
		return invalid("Thinking level %s is not supported for this model.", strings.ToUpper(think.Level))
	case think.Budget != nil && (*think.Budget < -1 || *think.Budget > 24576):
		return invalid("The thinking budget %d is invalid. Please choose a value between 0 and 24576.", *think.Budget)
	}
	return nil
}

// acceptContents checks the roles, the parts and their order.
func (s *Server) acceptContents(key string, contents []content) *refusal {
	if len(contents) == 0 {
		return invalid("* GenerateContentRequest.contents: contents is not specified")
	}
	contents = merged(contents)
	turn := 0 // the newest content with a prompt
	for i, c := range contents {
		if c.Role == "user" && !slices.ContainsFunc(c.Parts, func(p part) bool { return p.Response != nil }) {
			turn = i
		}
	}
	before := content{Role: "model"}
	for i, c := range contents {
		if no := s.acceptContent(key, i, c); no != nil {
			return no
		}
		if no := follow(before, c, i == 0); no != nil {
			return no
		}
		if no := s.acceptSignature(i, c, i > turn); no != nil {
			return no
		}
		before = c
	}
	if before.Role != "user" {
		return invalid("Please ensure that the last content has the role user.")
	}
	return nil
}

// merged returns the contents, with adjacent contents of the same role merged. The official SDK
// keeps each event of a response as a content.
func merged(contents []content) (all []content) {
	for _, c := range contents {
		if n := len(all); n > 0 && all[n-1].Role == c.Role && len(responsesOf(all[n-1])) == len(responsesOf(c)) {
			all[n-1].Parts = append(slices.Clip(all[n-1].Parts), c.Parts...)
			continue
		}
		all = append(all, c)
	}
	return all
}

func (s *Server) acceptContent(key string, i int, c content) *refusal {
	if c.Role != "user" && c.Role != "model" {
		return invalid("Please use a valid role: user, model.")
	}
	if len(c.Parts) == 0 {
		return invalid("* GenerateContentRequest.contents[%d].parts: contents.parts must not be empty.", i)
	}
	for n, p := range c.Parts {
		if no := s.acceptPart(key, c.Role, i, n, p); no != nil {
			return no
		}
	}
	return nil
}

func (s *Server) acceptPart(key, role string, i, n int, p part) *refusal {
	set, ours := 0, ""
	for _, is := range []bool{p.Text != nil, p.Data != nil, p.Call != nil, p.Response != nil, p.Executable != nil} {
		if is {
			set++
		}
	}
	switch {
	case set != 1:
		return invalid("* GenerateContentRequest.contents[%d].parts[%d].data: required oneof field 'data' must have one initialized field", i, n)
	case p.Text != nil && *p.Text == "" && role == "user":
		return invalid("Unable to submit request because it must have a text parameter.")
	case p.Data != nil && !p.Data.valid():
		return invalid("Unable to process input image.")
	case (p.Call != nil || p.Signature != "") && role != "model", p.Response != nil && role != "user":
		return invalid("Please ensure that contents[%d].parts[%d] has the role of its author.", i, n)
	case p.Call != nil && p.Call.Name == "", p.Response != nil && (p.Response.Name == "" || p.Response.Response == nil):
		return invalid("* GenerateContentRequest.contents[%d].parts[%d].function_response.name: Name cannot be empty.", i, n)
	}
	for name, is := range map[string]bool{"function_call": p.Call != nil && !callName.MatchString(p.Call.Name), "function_response": p.Response != nil && !callName.MatchString(p.Response.Name)} {
		if is {
			return invalid("The GenerateContentRequest proto is invalid:\n  * contents[%d].parts[%d].%s.name: [FIELD_INVALID] Invalid function name. Must start with a letter or an underscore. Must be a-z, A-Z, 0-9, or contain underscores (_), dots (.), colons (:), or dashes (-), with a maximum length of 64.", i, n, name)
		}
	}
	if p.Response != nil {
		for _, inside := range p.Response.Parts {
			if s.version() < 3 || inside.Data == nil || !inside.Data.valid() {
				return invalid("Multimodal function responses are not supported for this model.")
			}
		}
	}
	switch {
	case p.Signature == "" || p.Signature == "skip_thought_signature_validator":
		return nil
	case p.Call != nil:
		ours = "call " + p.Call.Name
	case p.Text != nil:
		ours = "text " + *p.Text
	}
	if s.signatures[standard(p.Signature)] != (signed{key, ours}) {
		return invalid("Corrupted thought signature.")
	}
	return nil
}

// standard returns base64 in the standard alphabet. The API also accepts the URL alphabet.
func standard(data string) string { return strings.NewReplacer("-", "+", "_", "/").Replace(data) }

func (b *blob) valid() bool {
	data, err := base64.StdEncoding.DecodeString(standard(b.Data))
	return err == nil && len(data) > 0 && (strings.HasPrefix(b.Type, "image/") || b.Type == "application/pdf")
}

// follow returns a refusal if a content may not follow the previous content.
func follow(before, c content, first bool) *refusal {
	calls, responses := callsOf(before), responsesOf(c)
	switch {
	case first && c.Role != "user":
		return invalid("Please ensure that the first content has the role user.")
	case len(callsOf(c)) > 0 && before.Role != "user":
		return invalid("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
	case len(responses) > 0 && len(calls) == 0:
		return invalid("Please ensure that function response turn comes immediately after a function call turn.")
	case len(responses) != len(calls) && before.Role == "model":
		return invalid("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
	}
	for i, r := range responses {
		if r.Name != calls[i].Name || r.ID != calls[i].ID {
			return invalid("Please ensure that function response %q matches its function call %q.", r.Name+" "+r.ID, calls[i].Name+" "+calls[i].ID)
		}
	}
	return nil
}

func callsOf(c content) (calls []*call) {
	for _, p := range c.Parts {
		if p.Call != nil {
			calls = append(calls, p.Call)
		}
	}
	return calls
}

func responsesOf(c content) (responses []*response) {
	for _, p := range c.Parts {
		if p.Response != nil {
			responses = append(responses, p.Response)
		}
	}
	return responses
}

// acceptSignature returns a refusal if the first call of a content lacks a signature. The API
// requires it in the current turn.
func (s *Server) acceptSignature(i int, c content, now bool) *refusal {
	if !now || s.version() < 3 {
		return nil
	}
	for _, p := range c.Parts {
		if p.Call == nil {
			continue
		}
		if p.Signature == "" {
			return invalid("Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:%s`, position %d.", p.Call.Name, i)
		}
		break
	}
	return nil
}
