package responses

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/schema"
)

// Encode returns the request to a target. Fields that change within a session follow the
// messages. So a request repeats the previous request up to the end of its last message.
func (a API) Encode(req *model.Request, t *api.Target) (*api.Request, error) {
	b := api.Body{Extra: t.Extra}
	b.Field("model", t.Model)
	if t.Quirks&noStore == 0 {
		b.Field("store", false)
	}
	b.Field("stream", true)
	if t.Provider == "openai" && t.Quirks&padded == 0 {
		b.Field("stream_options", map[string]bool{"include_obfuscation": false}) // the random padding of each event
	}
	if reasons(t) && t.Quirks&noEncrypted == 0 {
		b.Field("include", []string{"reasoning.encrypted_content"})
	}
	if req.SessionID != "" && !t.Cache.Off && t.Quirks&noCacheKey == 0 {
		b.Field("prompt_cache_key", req.SessionID)
	}
	if t.ServiceTier != "" {
		b.Field("service_tier", t.ServiceTier)
	}
	if req.System != "" {
		system, err := t.Encoded.System(req.System, func() ([]byte, error) { return appendText(nil, req.System), nil })
		if err != nil {
			return nil, err
		}
		b.Raw("instructions", system)
	}
	if len(req.Tools) > 0 {
		tools, err := t.Encoded.Tools(req.Tools, func() ([]byte, error) { return encodeTools(req.Tools, t.Quirks&noStrict == 0), nil })
		if err != nil {
			return nil, err
		}
		b.Raw("tools", tools)
	}
	b.ExtraFields()
	if err := addInput(&b, req, t); err != nil {
		return nil, err
	}
	addOptions(&b, req, t)
	body, err := b.Close()
	if err != nil {
		return nil, err
	}
	return &api.Request{Method: http.MethodPost, URL: t.URL("/v1", "/responses", false), Header: header(t), Body: body, Limit: sentLimit(req, t)}, nil
}

// header returns the headers of a request. Azure uses its own header for keys.
func header(t *api.Target) http.Header {
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	switch {
	case t.Key == "":
	case t.Provider == "azure":
		h.Set("api-key", t.Key)
	default:
		h.Set("Authorization", "Bearer "+t.Key)
	}
	return h
}

// addInput writes the messages.
func addInput(b *api.Body, req *model.Request, t *api.Target) error {
	images := api.Images{Forms: t.Images}
	b.List("input")
	for i := range req.Messages {
		m := &req.Messages[i]
		texts, variant := images.Of(i, m)
		items, err := t.Encoded.Message(m, variant, func() ([]byte, error) {
			return bytes.TrimSuffix(appendMessage(nil, t, m, texts), []byte{','}), nil
		})
		if err != nil {
			return err
		}
		b.Item(items)
	}
	b.EndList()
	return nil
}

// addOptions writes the fields that may change within a session.
func addOptions(b *api.Body, req *model.Request, t *api.Target) {
	options := map[string]string{}
	if effort := t.Effort(req); effort != "" && reasons(t) && t.Quirks&noEffort == 0 {
		options["effort"] = effort
	}
	if reasons(t) && t.Quirks&(noSummary|noEncrypted) == 0 {
		options["summary"] = "auto"
	}
	if len(options) > 0 {
		b.Field("reasoning", options)
	}
	if limit := sentLimit(req, t); limit > 0 {
		b.Field("max_output_tokens", limit)
	}
	if req.NoCalls && len(req.Tools) > 0 && t.Quirks&noChoice == 0 {
		b.Field("tool_choice", "none")
	}
}

// leastOutput is the lowest limit accepted by the API.
const leastOutput = 16

// reasons reports whether the model may reason. Other models reject the parameters of
// reasoning.
func reasons(t *api.Target) bool {
	if t.Efforts != nil {
		return len(t.Efforts) > 0
	}
	id := t.Model[strings.LastIndexByte(t.Model, '/')+1:]
	for _, prefix := range []string{"gpt-3", "gpt-4", "chatgpt-", "gpt-5-chat"} {
		if strings.HasPrefix(id, prefix) {
			return false
		}
	}
	return true
}

// encodeTools returns the list of tools. Many schemas exceed the subset for strict schemas.
func encodeTools(tools []model.Tool, strict bool) []byte {
	b := []byte{'['}
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"type":"function","name":`...), t.Name)
		b = appendText(append(b, `,"description":`...), t.Description)
		b = append(append(b, `,"parameters":`...), schema.Responses.Of(t.Schema)...)
		if strict {
			b = append(b, `,"strict":false`...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendMessage appends the input items of a message, each followed by a comma. texts holds the
// replacements of its images; "" means the image is sent.
func appendMessage(b []byte, t *api.Target, m *model.Message, texts []string) []byte {
	switch m.Role {
	case model.Assistant:
		return appendResponse(b, t, m)
	case model.ToolRole:
		return appendResults(b, m, texts)
	default:
		b, _ = appendContent(append(b, `{"role":"user","content":`...), m.Parts, texts)
		return append(b, '}', ',')
	}
}

// appendResponse appends the items of an assistant message in their order. The API accepts a
// reasoning item only before another item, so it is omitted at the end.
func appendResponse(b []byte, t *api.Target, m *model.Message) []byte {
	var reasoning []byte // items waiting for the next item
	for i := range m.Parts {
		p := &m.Parts[i]
		switch item := t.State(p); {
		case p.Type == model.ReasoningType && item != nil:
			reasoning = append(append(reasoning, item...), ',')
			if typeOf(item) == "reasoning" {
				continue
			}
			b = append(b, reasoning...) // an item of an unknown type
		case p.Type == model.TextType && p.Text != "":
			b = appendAnswer(append(b, reasoning...), t, p)
		case p.Type == model.CallType:
			b = appendCall(append(b, reasoning...), t, p)
		default:
			continue
		}
		reasoning = nil
	}
	return b
}

// Locate implements [api.Locator].
func (API) Locate(req *model.Request, t *api.Target, failed *model.Error) int {
	at := api.Places(failed.Message, "input")
	if len(at) == 0 {
		return -1
	}
	items := 0
	images := api.Images{Forms: t.Images}
	for i := range req.Messages {
		texts, _ := images.Of(i, &req.Messages[i])
		var list []json.RawMessage
		encoded := bytes.TrimSuffix(appendMessage([]byte{'['}, t, &req.Messages[i], texts), []byte{','})
		_ = json.Unmarshal(append(encoded, ']'), &list) // it is valid
		if items += len(list); at[0] < items {
			return i
		}
	}
	return -1
}

func typeOf(item []byte) string {
	var of struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(item, &of) // an invalid item is of no type
	return of.Type
}

// appendAnswer appends a text of the model. A text with an id requires a status.
func appendAnswer(b []byte, t *api.Target, p *model.Part) []byte {
	state := inside(t, p)
	b = append(append(b, `{"type":"message","role":"assistant",`...), state...)
	if bytes.Contains(state, []byte(`"id":`)) {
		b = append(b, `"status":"completed",`...)
	}
	b = appendText(append(b, `"content":[{"type":"output_text","text":`...), p.Text)
	return append(b, `,"annotations":[]}]},`...)
}

func appendCall(b []byte, t *api.Target, p *model.Part) []byte {
	b = append(append(b, `{"type":"function_call",`...), inside(t, p)...)
	b = appendText(append(b, `"call_id":`...), model.SoundID(p.Call.ID))
	b = appendText(append(b, `,"name":`...), p.Call.Name)
	b = appendText(append(b, `,"arguments":`...), sentArgs(p.Call.Args))
	return append(b, '}', ',')
}

// sentArgs returns the arguments of a call for the next request. It wraps invalid JSON in an
// object, because some servers parse the arguments.
func sentArgs(args string) string {
	switch {
	case json.Valid([]byte(args)):
		return args
	case strings.TrimSpace(args) == "":
		return "{}"
	default:
		return `{"invalid_json":` + string(appendText(nil, args)) + `}`
	}
}

// appendResults appends the results of a tool message. Images and files after a result go
// inside it.
func appendResults(b []byte, m *model.Message, texts []string) []byte {
	for i := 0; i < len(m.Parts); {
		end := i + 1
		for end < len(m.Parts) && m.Parts[end].Type != model.ResultType {
			end++
		}
		if p := &m.Parts[i]; p.Type == model.ResultType {
			b = appendText(append(b, `{"type":"function_call_output","call_id":`...), model.SoundID(p.Call.ID))
			b, texts = appendContent(append(b, `,"output":`...), m.Parts[i:end], texts)
			b = append(b, '}', ',')
		}
		i = end
	}
	return b
}

// appendContent appends texts, images and files: a string for a single text, else a list. It
// returns the texts of later images.
func appendContent(b []byte, parts []model.Part, texts []string) ([]byte, []string) {
	if len(parts) == 1 && (parts[0].Type == model.TextType || parts[0].Type == model.ResultType) {
		return appendText(b, parts[0].Text), texts
	}
	start := len(b)
	b = append(b, '[')
	for i := range parts {
		p := &parts[i]
		switch p.Type {
		case model.TextType, model.ResultType:
			if p.Text != "" {
				b = appendInput(b, p.Text)
			}
		case model.ImageType:
			text := ""
			text, texts = texts[0], texts[1:]
			if text != "" {
				b = appendInput(b, text)
				continue
			}
			b = append(appendText(append(b, `{"type":"input_image","detail":"auto","image_url":`...), dataURL(p.Image)), '}', ',')
		case model.FileType:
			b = appendText(append(b, `{"type":"input_file","filename":`...), p.Image.Name)
			b = append(appendText(append(b, `,"file_data":`...), dataURL(p.Image)), '}', ',')
		}
	}
	if b[len(b)-1] == '[' {
		return append(b[:start], `""`...), texts
	}
	b[len(b)-1] = ']'
	return b, texts
}

func appendInput(b []byte, text string) []byte {
	return append(appendText(append(b, `{"type":"input_text","text":`...), text), '}', ',')
}

func dataURL(i model.Image) string { return "data:" + i.MIMEType + ";base64," + i.Data }

// sentLimit returns the response limit in a request. 0 means none.
func sentLimit(req *model.Request, t *api.Target) int {
	limit := t.Limit(req)
	if limit <= 0 || t.Quirks&noLimit != 0 {
		return 0
	}
	return max(limit, leastOutput)
}
