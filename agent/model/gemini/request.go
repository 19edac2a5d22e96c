package gemini

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/schema"
)

// Encode returns the request to a target. Fields that change within a session follow the
// messages. So a request repeats the previous request up to the end of its last message.
func (API) Encode(req *model.Request, t *api.Target) (*api.Request, error) {
	b := api.Body{Extra: t.Extra}
	if req.System != "" && t.Quirks&noSystem == 0 {
		system, err := t.Encoded.System(req.System, func() ([]byte, error) {
			return append(appendText([]byte(`{"parts":[{"text":`), req.System), `}]}`...), nil
		})
		if err != nil {
			return nil, err
		}
		b.Raw("systemInstruction", system)
	}
	if len(req.Tools) > 0 {
		tools, err := t.Encoded.Tools(req.Tools, func() ([]byte, error) { return encodeTools(req.Tools, t.Quirks&oldSchemas != 0), nil })
		if err != nil {
			return nil, err
		}
		b.Raw("tools", tools)
	}
	b.ExtraFields()
	token := continuation(req, t)
	if token != "" { // the API knows the partial response
		without := *req
		without.Messages = req.Messages[:len(req.Messages)-1]
		req = &without
	}
	if err := addContents(&b, req, t); err != nil {
		return nil, err
	}
	if token != "" {
		b.Field("continuationToken", token)
	}
	config := map[string]any{}
	if limit := t.Limit(req); limit > 0 {
		config["maxOutputTokens"] = limit
	}
	if thoughts := thinking(req, t); thoughts != nil {
		config["thinkingConfig"] = thoughts
	}
	if len(config) > 0 {
		b.Field("generationConfig", config)
	}
	if req.NoCalls && len(req.Tools) > 0 && t.Quirks&noChoice == 0 {
		b.Field("toolConfig", map[string]any{"functionCallingConfig": map[string]any{"mode": "NONE"}})
	}
	body, err := b.Close()
	if err != nil {
		return nil, err
	}
	h := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}}
	if t.Key != "" {
		h.Set("X-Goog-Api-Key", t.Key)
	}
	path := "/models/" + url.PathEscape(strings.TrimPrefix(t.Model, "models/")) + ":streamGenerateContent?alt=sse"
	return &api.Request{Method: http.MethodPost, URL: t.URL("/v1beta", path, false), Header: h, Body: body, Limit: t.Limit(req)}, nil
}

// continuation returns the token for continuing the last message. If there is none, it returns
// "".
func continuation(req *model.Request, t *api.Target) string {
	if len(req.Messages) == 0 {
		return ""
	}
	m := &req.Messages[len(req.Messages)-1]
	if m.Role != model.Assistant || len(m.Parts) == 0 {
		return ""
	}
	this := *t
	this.NoState = false // a token is new, even if older state was refused
	return stateOf(&this, &m.Parts[len(m.Parts)-1]).Continuation
}

// encodeTools returns the list of tools. The schemas are JSON Schema: the other form of
// parameters supports few keywords, and no objects without properties. Older endpoints support
// only the other form.
func encodeTools(tools []model.Tool, old bool) []byte {
	rules, name := schema.Gemini, `,"parametersJsonSchema":`
	if old {
		rules, name = schema.OldGemini, `,"parameters":`
	}
	b := []byte(`[{"functionDeclarations":[`)
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendText(append(b, `{"name":`...), t.Name)
		b = appendText(append(b, `,"description":`...), t.Description)
		if parameters := rules.Of(t.Schema); hasParameters(parameters) {
			b = append(append(b, name...), parameters...)
		}
		b = append(b, '}')
	}
	return append(b, `]}]`...)
}

// hasParameters reports whether a schema defines properties. A tool without parameters is sent
// without a schema.
func hasParameters(schema json.RawMessage) bool {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Ref        string                     `json:"$ref"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return false
	}
	return len(s.Properties) > 0 || s.Ref != "" || len(s.Additional) > 0 && string(s.Additional) != "false"
}

// piece is a message's part of a content. Adjacent pieces of a kind form a content: the API
// requires alternating roles, with the results of parallel calls together.
type piece struct {
	kind    pieceKind
	message int
	images  bool // only a result's images, for models without images in results
}

type pieceKind string

const (
	userPiece    pieceKind = "user"
	modelPiece   pieceKind = "model"
	resultsPiece pieceKind = "results" // of the role user
)

// pieces returns the pieces of a request in their order.
func pieces(req *model.Request, t *api.Target) []piece {
	all := make([]piece, 0, len(req.Messages))
	for i := range req.Messages {
		m := &req.Messages[i]
		switch {
		case m.Role == model.ToolRole:
			all = append(all, piece{kind: resultsPiece, message: i})
			if i+1 == len(req.Messages) || req.Messages[i+1].Role != model.ToolRole {
				all = appendImages(all, req, t, i)
			}
		case m.Role == model.Assistant && isSent(t, m):
			all = append(all, piece{kind: modelPiece, message: i})
		case m.Role != model.Assistant && isSent(t, m):
			all = append(all, piece{kind: userPiece, message: i})
		}
	}
	return all
}

// appendImages appends the images of the results up to message last, if the model does not
// accept them in the results.
func appendImages(all []piece, req *model.Request, t *api.Target, last int) []piece {
	if version(t.Model) >= current {
		return all
	}
	first := last
	for first > 0 && req.Messages[first-1].Role == model.ToolRole {
		first--
	}
	for i := first; i <= last; i++ {
		if m := &req.Messages[i]; (m.Has(model.ImageType) && t.Images[i] != model.AsText && t.Images[i] != model.AsDescribed) || m.Has(model.FileType) {
			all = append(all, piece{kind: userPiece, message: i, images: true})
		}
	}
	return all
}

// isSent reports whether any part of a message is sent.
func isSent(t *api.Target, m *model.Message) bool {
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Type {
		case model.TextType:
			if p.Text != "" || stateOf(t, p).Signature != "" {
				return true
			}
		case model.ReasoningType:
			if s := stateOf(t, p); s.Signature != "" || s.Part != nil {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// Forms of an encoded piece, for [api.Cached]: whether it opens or closes its content.
const (
	opens = 1 << iota
	closes
	ofImages
	forms
)

// addContents writes the messages.
func addContents(b *api.Body, req *model.Request, t *api.Target) error {
	all := pieces(req, t)
	images := api.Images{Forms: t.Images}
	texts, variants := make([][]string, len(req.Messages)), make([]int, len(req.Messages))
	for i := range req.Messages {
		texts[i], variants[i] = images.Of(i, &req.Messages[i])
	}
	b.List("contents")
	if req.System != "" && t.Quirks&noSystem != 0 {
		b.Item(append(appendText([]byte(`{"role":"user","parts":[{"text":`), req.System), `}]}`...))
	}
	for n, p := range all {
		m := &req.Messages[p.message]
		form := 0
		if n == 0 || all[n-1].kind != p.kind {
			form |= opens
		}
		if n+1 == len(all) || all[n+1].kind != p.kind {
			form |= closes
		}
		if p.images {
			form |= ofImages
		}
		content, err := t.Encoded.Message(m, variants[p.message]*forms+form, func() ([]byte, error) {
			e := encoder{target: t, texts: texts[p.message]}
			if p.kind == resultsPiece {
				e.ids = idsBefore(req, t, p.message)
			}
			return e.content(p, m, form), nil
		})
		if err != nil {
			return err
		}
		b.Item(content)
	}
	b.EndList()
	return nil
}

// Locate implements [api.Locator].
func (API) Locate(req *model.Request, t *api.Target, failed *model.Error) int {
	at := api.Places(failed.Message, "contents")
	if len(at) == 0 {
		return -1
	}
	all := pieces(req, t)
	content, place, part := -1, -1, 0
	if req.System != "" && t.Quirks&noSystem != 0 {
		content++
	}
	for n, p := range all {
		if n == 0 || all[n-1].kind != p.kind {
			content, part = content+1, 0
		}
		if content != at[0] {
			continue
		}
		place = p.message
		e := encoder{target: t, texts: make([]string, len(req.Messages[place].Parts))}
		var parts struct{ Parts []json.RawMessage }
		_ = json.Unmarshal(e.content(p, &req.Messages[place], opens|closes), &parts) // it is valid
		if part += len(parts.Parts); len(at) < 2 || at[1] < part {
			break
		}
	}
	return place
}

// idsBefore returns the API's ids of the calls whose results end at a message.
func idsBefore(req *model.Request, t *api.Target, last int) map[string]bool {
	ids := map[string]bool{}
	for i := last; i >= 0; i-- {
		m := &req.Messages[i]
		if m.Role == model.ToolRole {
			continue
		}
		for n := range m.Parts {
			if p := &m.Parts[n]; p.Type == model.CallType && hasID(t, p) {
				ids[p.Call.ID] = true
			}
		}
		break
	}
	return ids
}

// hasID reports whether the API chose the id of a call. The id stays even if other state is
// omitted.
func hasID(t *api.Target, p *model.Part) bool {
	this := *t
	this.NoState = false
	return stateOf(&this, p).ID != ""
}

// encoder encodes the parts of a message.
type encoder struct {
	target *api.Target
	texts  []string        // replacements of the images; "" means the image is sent
	ids    map[string]bool // of calls, chosen by the API
}

// content returns the parts of a piece, with the start and the end of its content.
func (e *encoder) content(p piece, m *model.Message, form int) []byte {
	var b []byte
	if form&opens != 0 {
		role := "user"
		if p.kind == modelPiece {
			role = "model"
		}
		b = append(b, `{"role":"`+role+`","parts":[`...)
	}
	switch {
	case p.images:
		b = e.appendImages(b, m, form&opens != 0)
	case p.kind == modelPiece:
		b = e.appendResponse(b, m)
	case p.kind == resultsPiece:
		b = e.appendResults(b, m)
	default:
		b = e.appendPrompt(b, m)
	}
	b = bytes.TrimSuffix(b, []byte{','})
	if form&closes != 0 {
		b = append(b, `]}`...)
	}
	return b
}

// appendPrompt appends the parts of a user message, each followed by a comma.
func (e *encoder) appendPrompt(b []byte, m *model.Message) []byte {
	texts := e.texts
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case model.TextType:
			if p.Text != "" {
				b = appendPart(b, p.Text)
			}
		case model.ImageType:
			text := ""
			if text, texts = texts[0], texts[1:]; text != "" {
				b = appendPart(b, text)
			} else {
				b = append(appendData(b, p.Image), ',')
			}
		case model.FileType:
			b = append(appendData(b, p.Image), ',')
		}
	}
	return b
}

// imagesText precedes the images of results in a user message.
const imagesText = "(The images of the tool results, in the order of the calls.)"

// appendImages appends the images and files of a tool message.
func (e *encoder) appendImages(b []byte, m *model.Message, first bool) []byte {
	if first {
		b = appendPart(b, imagesText)
	}
	texts := e.texts
	for i := range m.Parts {
		switch p := &m.Parts[i]; p.Type {
		case model.ImageType:
			text := ""
			if text, texts = texts[0], texts[1:]; text == "" {
				b = append(appendData(b, p.Image), ',')
			}
		case model.FileType:
			b = append(appendData(b, p.Image), ',')
		}
	}
	return b
}

// anySignature replaces the signature of another model's call.
const anySignature = "skip_thought_signature_validator"

// appendResponse appends the parts of an assistant message.
func (e *encoder) appendResponse(b []byte, m *model.Message) []byte {
	called := false
	for i := range m.Parts {
		p := &m.Parts[i]
		s := stateOf(e.target, p)
		switch {
		case s.Part != nil:
			b = append(append(b, s.Part...), ',')
		case p.Type == model.CallType:
			if !called && s.Signature == "" && version(e.target.Model) >= current {
				s.Signature = anySignature
			}
			called = true
			b = appendCall(b, p, s, hasID(e.target, p))
		case p.Type == model.TextType && (p.Text != "" || s.Signature != ""):
			b = appendSignature(appendText(append(b, `{"text":`...), p.Text), s)
		case p.Type == model.ReasoningType && s.Signature != "":
			b = appendSignature(append(appendText(append(b, `{"text":`...), p.Text), `,"thought":true`...), s)
		}
	}
	return b
}

func appendCall(b []byte, p *model.Part, s state, id bool) []byte {
	b = appendNamed(append(b, `{"functionCall":{`...), &p.Call, id)
	b = append(append(b, `,"args":`...), sentArgs(p.Call.Args)...)
	return appendSignature(append(b, '}'), s)
}

// appendNamed appends the name of a call, or of a result's call. It begins with the id if the
// API chose it.
func appendNamed(b []byte, c *model.Call, id bool) []byte {
	if id {
		b = append(appendText(append(b, `"id":`...), model.SoundID(c.ID)), ',')
	}
	return appendText(append(b, `"name":`...), sentName(c.Name))
}

// sentName returns the name of a call. It must begin with a letter or "_".
func sentName(name string) string {
	if name == "" || name[0] < 'A' && name[0] != '_' {
		return model.SoundName(name)
	}
	return name
}

// appendSignature ends a part.
func appendSignature(b []byte, s state) []byte {
	if s.Signature != "" {
		b = appendText(append(b, `,"thoughtSignature":`...), s.Signature)
	}
	return append(b, '}', ',')
}

// sentArgs returns the arguments of a call as an object. It wraps other arguments in an object.
func sentArgs(args string) string {
	trimmed := strings.TrimSpace(args)
	switch {
	case trimmed == "":
		return "{}"
	case trimmed[0] == '{' && json.Valid([]byte(trimmed)):
		return trimmed
	default:
		return `{"invalid_json":` + string(appendText(nil, args)) + `}`
	}
}

// appendResults appends the results of a tool message. Images and files after a result go
// inside it if the model accepts them there.
func (e *encoder) appendResults(b []byte, m *model.Message) []byte {
	texts := e.texts
	for i := 0; i < len(m.Parts); {
		end := i + 1
		for end < len(m.Parts) && m.Parts[end].Type != model.ResultType {
			end++
		}
		if p := &m.Parts[i]; p.Type == model.ResultType {
			b = appendNamed(append(b, `{"functionResponse":{`...), &p.Call, e.ids[p.Call.ID])
			var output string
			var data []byte
			output, data, texts = e.output(m.Parts[i:end], texts)
			b = append(appendText(append(b, `,"response":{"output":`...), output), '}')
			if len(data) > 0 {
				b = append(append(append(b, `,"parts":[`...), data...), ']')
			}
			b = append(b, `}},`...)
		}
		i = end
	}
	return b
}

// output returns the text of a result, including the texts of its images, and its encoded
// images and files. It also returns the texts of later images.
func (e *encoder) output(parts []model.Part, texts []string) (text string, data []byte, rest []string) {
	inside := version(e.target.Model) >= current
	all := []string{parts[0].Text}
	for i := range parts {
		p := &parts[i]
		if p.Type != model.ImageType && p.Type != model.FileType {
			continue
		}
		replaced := ""
		if p.Type == model.ImageType {
			replaced, texts = texts[0], texts[1:]
		}
		switch {
		case replaced != "":
			all = append(all, replaced)
		case inside:
			data = append(appendData(data, p.Image), ',')
		}
	}
	return strings.Join(all, "\n\n"), bytes.TrimSuffix(data, []byte{','}), texts
}

func appendPart(b []byte, text string) []byte {
	return append(appendText(append(b, `{"text":`...), text), '}', ',')
}

func appendData(b []byte, i model.Image) []byte {
	b = appendText(append(b, `{"inlineData":{"mimeType":`...), i.MIMEType)
	b = appendText(append(b, `,"data":`...), i.Data)
	return append(b, `}}`...)
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	b, _ = jsontext.AppendQuote(b, s) // the error is about invalid UTF-8, which is replaced
	return b
}

// state is the opaque data of a part.
type state struct {
	ID        string          `json:"id,omitempty"` // of a call, chosen by the API
	Signature string          `json:"signature,omitempty"`
	Part      json.RawMessage `json:"part,omitempty"` // a part of an unknown type
	// Continuation is the token for continuing a paused response. It is used only at the end of
	// a request.
	Continuation string `json:"continuation,omitempty"`
}

// stateOf returns the state of a part for the target. If there is none, it is zero.
func stateOf(t *api.Target, p *model.Part) (s state) {
	if data := t.State(p); data != nil && json.Unmarshal(data, &s) != nil {
		return state{}
	}
	return s
}
