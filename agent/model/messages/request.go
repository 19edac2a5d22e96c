package messages

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
	"github.com/hermes-ls/hermes-ls/agent/model/schema"
)

const (
	version         = "2023-06-01"
	interleavedBeta = "interleaved-thinking-2025-05-14"
	defaultLimit    = 32000    // of a response in tokens, for models supporting it
	maxImage        = 10 << 20 // bytes of base64 of an image
	shortMark       = `,"cache_control":{"type":"ephemeral"}}`
	longMark        = `,"cache_control":{"type":"ephemeral","ttl":"1h"}}`
	emptyObject     = `{}`
)

// Encode returns the request to a target. See [api.API].
func (API) Encode(req *model.Request, t *api.Target) (*api.Request, error) {
	body, err := encode(req, t)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}, "Anthropic-Version": {version}}
	if t.Key != "" {
		header.Set("X-Api-Key", t.Key)
	}
	if thinkingOf(req, t).interleaved {
		header.Set("Anthropic-Beta", interleavedBeta)
	}
	return &api.Request{Method: http.MethodPost, URL: t.URL("/v1", "/messages", true), Header: header, Body: body, Limit: limit(req, t)}, nil
}

// limit returns max_tokens, a required field.
func limit(req *model.Request, t *api.Target) int {
	most := defaultLimit
	switch kind, version := familyOf(t.Model); {
	case kind == plain && version < 35, t.Quirks&tinyLimit != 0:
		most = 4096
	case kind == plain, t.Quirks&smallLimit != 0:
		most = 8192
	}
	if wanted := t.Limit(req); wanted > 0 {
		if t.Quirks&(smallLimit|tinyLimit) == 0 {
			return wanted
		}
		return min(wanted, most)
	}
	return most
}

type thinkingField struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens,omitempty"`
	Display string `json:"display,omitempty"`
}

type outputConfig struct {
	Effort string `json:"effort"`
}

// encode returns the body of a request. The messages and the fields changing with them come
// last, so a request extends the previous request.
func encode(req *model.Request, t *api.Target) (api.Pieces, error) {
	how := thinkingOf(req, t)
	b := api.Body{Extra: t.Extra}
	b.Field("model", t.Model)
	b.Field("max_tokens", limit(req, t))
	b.Field("stream", true)
	if how.form != "" {
		field := thinkingField{Type: how.form, Budget: how.budget}
		if how.display {
			field.Display = "summarized"
		}
		b.Field("thinking", field)
	}
	if how.effort != "" {
		b.Field("output_config", outputConfig{how.effort})
	}
	if t.ServiceTier != "" {
		b.Field("service_tier", t.ServiceTier)
	}
	b.ExtraFields()
	if len(req.Tools) > 0 {
		tools, err := t.Encoded.Tools(req.Tools, func() ([]byte, error) { return encodeTools(req.Tools, eager(t)) })
		if err != nil {
			return nil, err
		}
		b.Raw("tools", tools)
	}
	start, err := b.Close()
	if err != nil {
		return nil, err
	}
	w := writer{pieces: start[:len(start)-1], buf: bytes.TrimSuffix(start[len(start)-1], []byte("}"))}
	w.marks(t)
	w.system(req.System, t)
	w.messages(req, t)
	if req.NoCalls && len(req.Tools) > 0 && t.Quirks&noChoice == 0 {
		w.text(`,"tool_choice":{"type":"none"}`)
	}
	w.text("}")
	w.flush()
	return w.pieces, nil
}

// eager reports whether to ask the model to stream arguments while it writes them.
func eager(t *api.Target) bool {
	kind, version := familyOf(t.Model)
	return kind != foreign && (version == 0 || version >= 40) && t.Quirks&noEager == 0
}

type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"input_schema"`
	Eager       bool            `json:"eager_input_streaming,omitempty"`
}

func encodeTools(offered []model.Tool, eager bool) ([]byte, error) {
	tools := make([]tool, len(offered))
	for i, t := range offered {
		tools[i] = tool{t.Name, t.Description, schema.Messages.Of(t.Schema), eager}
	}
	encoded, err := api.Marshal(tools)
	if err != nil {
		return nil, fmt.Errorf("encoding the tools: %w", err)
	}
	return encoded, nil
}

// writer writes the parts of a request with cache marks. Long pieces are not copied.
type writer struct {
	pieces api.Pieces
	buf    []byte
	mark   string // for the next markable block; empty: none
	after  string // for later blocks
}

// marks chooses the marks of the blocks.
func (w *writer) marks(t *api.Target) {
	if t.Cache.Off || t.Quirks&noMarks != 0 {
		return
	}
	w.mark, w.after = shortMark, shortMark
	if t.Cache.Long && t.Quirks&noLongMarks == 0 {
		w.mark = longMark
	}
}

func (w *writer) text(s string) { w.buf = append(w.buf, s...) }

// blocks writes encoded blocks. It copies only short blocks.
func (w *writer) blocks(data []byte) {
	if len(data) < 512 {
		w.buf = append(w.buf, data...)
		return
	}
	w.flush()
	w.pieces = append(w.pieces, data)
}

// marked writes encoded blocks and marks the last.
func (w *writer) marked(data []byte) {
	if w.mark == "" {
		w.blocks(data)
		return
	}
	w.blocks(data[:len(data)-1]) // without the closing brace of the last block
	w.text(w.mark)
	w.mark = w.after
}

func (w *writer) flush() {
	if len(w.buf) > 0 {
		w.pieces = append(w.pieces, w.buf)
		w.buf = nil
	}
}

func (w *writer) system(text string, t *api.Target) {
	if isBlank(text) {
		return
	}
	if t.Quirks&textSystem != 0 {
		w.text(`,"system":`)
		w.blocks(appendQuoted(nil, text))
		return
	}
	w.text(`,"system":[`)
	w.marked(appendText(nil, text))
	w.text("]")
}

// item is an encoded message. Adjacent items with the same role become a single message of the
// API.
type item struct {
	assistant bool
	result    bool // precedes the prompts of its message
	blocks    []byte
}

// messages writes the messages of a request. Two of them may be marked: the user's last
// message, and the message before the last response, which was last in the previous request.
func (w *writer) messages(req *model.Request, t *api.Target) {
	items := itemsOf(req, t)
	last := before(items, len(items), false)
	previous := before(items, before(items, last, true)+1, false)
	w.text(`,"messages":[`)
	for start, end := 0, 0; start < len(items); start = end {
		assistant := items[start].assistant
		for end < len(items) && items[end].assistant == assistant {
			end++
		}
		if start > 0 {
			w.text(",")
		}
		if assistant {
			w.text(`{"role":"assistant","content":[`)
		} else {
			w.text(`{"role":"user","content":[`)
			resultsFirst(items[start:end])
		}
		for i := start; i < end; i++ {
			if i > start {
				w.text(",")
			}
			if i == last || i == previous {
				w.marked(items[i].blocks)
			} else {
				w.blocks(items[i].blocks)
			}
		}
		w.text("]}")
	}
	w.text("]")
}

// before returns the index of the last item with a role before end, or -1.
func before(items []item, end int, assistant bool) int {
	for end--; end >= 0 && items[end].assistant != assistant; end-- {
	}
	return end
}

// resultsFirst moves the results of a message before its prompts.
func resultsFirst(items []item) {
	slices.SortStableFunc(items, func(a, b item) int {
		switch {
		case a.result == b.result:
			return 0
		case a.result:
			return -1
		default:
			return 1
		}
	})
}

// itemsOf returns the encoded messages of a request, without empty messages.
func itemsOf(req *model.Request, t *api.Target) []item {
	items := make([]item, 0, len(req.Messages))
	images := api.Images{Forms: t.Images}
	for i := range req.Messages {
		m := &req.Messages[i]
		texts, form := images.Of(i, m)
		made := item{assistant: m.Role == model.Assistant, result: m.Role == model.ToolRole}
		switch {
		case made.assistant && i+1 == len(req.Messages):
			made.blocks = assistantBlocks(m, t, true)
		case made.assistant:
			made.blocks, _ = t.Encoded.Message(m, 0, func() ([]byte, error) { return assistantBlocks(m, t, false), nil })
		default:
			made.blocks, _ = t.Encoded.Message(m, form, func() ([]byte, error) { return userBlocks(m, texts), nil })
		}
		if len(made.blocks) > 0 {
			items = append(items, made)
		}
	}
	return items
}

// assistantBlocks returns the blocks of a response, separated by commas. It omits reasoning
// without state, and thinking at the end, which the API rejects. If the message is the last of
// the request, its text must not end with spaces.
func assistantBlocks(m *model.Message, t *api.Target, last bool) []byte {
	parts := m.Parts
	for len(parts) > 0 {
		p := &parts[len(parts)-1]
		state := t.State(p)
		ends := p.Type == model.CallType || p.Type == model.TextType && !isBlank(p.Text) ||
			p.Type == model.ReasoningType && len(state) > 0 && !isThinking(state)
		if ends {
			break
		}
		parts = parts[:len(parts)-1]
	}
	var dst []byte
	for i := range parts {
		p := &parts[i]
		state := t.State(p)
		if p.Type == model.ReasoningType && !last && !isAnswered(parts, i, t) {
			continue
		}
		text := p.Text
		if last && i+1 == len(parts) {
			text = strings.TrimRight(text, " \t\r\n")
		}
		switch {
		case len(state) > 0 && (p.Type != model.CallType || isOf(state, &p.Call)):
			dst = append(comma(dst), state...)
		case p.Type == model.TextType && !isBlank(text):
			dst = appendText(comma(dst), text)
		case p.Type == model.CallType:
			dst = appendCall(comma(dst), p.Call)
		}
	}
	return dst
}

// isAnswered reports whether a block of one of the server's own tools has its counterpart in the
// message: a call its result, and a result its call. The API refuses one without the other, which
// a paused or cut response can leave. For other blocks, isAnswered returns true.
func isAnswered(parts []model.Part, at int, t *api.Target) bool {
	type block struct {
		Type, ID string
		ResultOf string `json:"tool_use_id"`
	}
	read := func(p *model.Part) (b block) {
		if state := t.State(p); p.Type == model.ReasoningType && state != nil {
			_ = json.Unmarshal(state, &b) // an invalid block is of no type
		}
		return b
	}
	b := read(&parts[at])
	switch {
	case b.Type == "server_tool_use":
		return slices.ContainsFunc(parts[at+1:], func(p model.Part) bool { return read(&p).ResultOf == b.ID })
	case b.ResultOf != "":
		return slices.ContainsFunc(parts[:at], func(p model.Part) bool { o := read(&p); return o.Type == "server_tool_use" && o.ID == b.ResultOf })
	}
	return true
}

// Locate implements [api.Locator].
func (API) Locate(req *model.Request, t *api.Target, failed *model.Error) int {
	at := api.Places(failed.Message, "messages")
	if len(at) == 0 {
		return -1
	}
	message, place, block := -1, -1, 0 // of the API
	var before *item
	for i := range req.Messages {
		part := *req
		part.Messages = req.Messages[i : i+1]
		this := *t
		this.Images = map[int]model.PictureForm{0: t.Images[i]}
		for _, it := range itemsOf(&part, &this) {
			if before == nil || before.assistant != it.assistant {
				message, block = message+1, 0
			}
			before = &it
			var blocks []json.RawMessage
			_ = json.Unmarshal(append(append([]byte("["), it.blocks...), ']'), &blocks) // they are valid
			block += len(blocks)
			if message == at[0] {
				if place = i; len(at) < 2 || at[1] < block {
					return place
				}
			}
		}
	}
	return place
}

// isThinking reports whether a block contains thinking.
func isThinking(block []byte) bool {
	var b struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(block, &b) == nil && (b.Type == "thinking" || b.Type == "redacted_thinking")
}

// userBlocks returns the blocks of a prompt or of tool results, separated by commas. texts
// holds the replacement text for each image, or "".
func userBlocks(m *model.Message, texts []string) []byte {
	var dst []byte
	for i := 0; i < len(m.Parts); i++ {
		p := &m.Parts[i]
		switch p.Type {
		case model.TextType:
			if !isBlank(p.Text) {
				dst = appendText(comma(dst), p.Text)
			}
		case model.ImageType:
			dst = appendImage(comma(dst), p.Image, texts[0])
			texts = texts[1:]
		case model.FileType:
			dst = appendFile(comma(dst), p.Image)
		case model.ResultType:
			dst = append(comma(dst), `{"type":"tool_result","tool_use_id":`...)
			dst = appendQuoted(dst, model.SoundID(p.Call.ID))
			var content []byte
			if !isBlank(p.Text) {
				content = appendText(nil, p.Text)
			}
			for ; i+1 < len(m.Parts); i++ { // its images and files
				next := &m.Parts[i+1]
				if next.Type == model.ImageType {
					content = appendImage(comma(content), next.Image, texts[0])
					texts = texts[1:]
				} else if next.Type == model.FileType {
					content = appendFile(comma(content), next.Image)
				} else {
					break
				}
			}
			if len(content) > 0 {
				dst = append(append(append(dst, `,"content":[`...), content...), ']')
			}
			dst = append(dst, '}')
		}
	}
	return dst
}

// comma appends a comma, unless dst is empty.
func comma(dst []byte) []byte {
	if len(dst) > 0 {
		return append(dst, ',')
	}
	return dst
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

func appendText(dst []byte, text string) []byte {
	return append(appendQuoted(append(dst, `{"type":"text","text":`...), text), '}')
}

func appendCall(dst []byte, c model.Call) []byte {
	dst = appendQuoted(append(dst, `{"type":"tool_use","id":`...), model.SoundID(c.ID))
	dst = appendQuoted(append(dst, `,"name":`...), c.Name)
	return append(append(append(dst, `,"input":`...), input(c.Args)...), '}')
}

// input returns the arguments of a call as an object. It wraps any other arguments.
func input(args string) string {
	args = strings.TrimSpace(args)
	switch {
	case args == "":
		return emptyObject
	case isObject(args):
		return args
	default:
		return string(append(appendQuoted([]byte(`{"invalid_json":`), args), '}'))
	}
}

func isObject(text string) bool { return strings.HasPrefix(text, "{") && json.Valid([]byte(text)) }

// isOf reports whether a block of state belongs to a call. The history may have given the call
// a new id since, or a name accepted by the API.
func isOf(state []byte, c *model.Call) bool {
	var b struct{ Type, ID, Name string }
	return json.Unmarshal(state, &b) == nil && (b.Type != "tool_use" || b.ID == model.SoundID(c.ID) && isName(b.Name))
}

func isName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(model.SoundName(name), "_") == strings.Trim(name, "_")
}

// appendImage appends an image, or its replacement text.
func appendImage(dst []byte, i model.Image, text string) []byte {
	switch i.MIMEType {
	case "image/jpeg", "image/png", "image/gif", "image/webp":
		if text == "" && len(i.Data) > maxImage {
			text = fmt.Sprintf("[picture %s: too large for this model]", i.Name)
		}
	default:
		if text == "" {
			text = fmt.Sprintf("[picture %s: this model does not read %s]", i.Name, i.MIMEType)
		}
	}
	if text != "" {
		return appendText(dst, text)
	}
	return append(appendSource(append(dst, `{"type":"image","source":`...), "base64", i.MIMEType, i.Data), '}')
}

// appendFile appends a document. The API reads PDF and plain text.
func appendFile(dst []byte, f model.Image) []byte {
	kind, _, _ := strings.Cut(f.MIMEType, ";")
	start := `{"type":"document","source":`
	switch {
	case kind == "application/pdf":
		dst = appendSource(append(dst, start...), "base64", kind, f.Data)
	case strings.HasPrefix(kind, "text/"):
		text, err := base64.StdEncoding.DecodeString(f.Data)
		if err != nil || isBlank(string(text)) {
			return appendText(dst, fmt.Sprintf("[file %s: empty]", f.Name))
		}
		dst = appendSource(append(dst, start...), "text", "text/plain", string(text))
	default:
		return appendText(dst, fmt.Sprintf("[file %s: this model does not read %s]", f.Name, f.MIMEType))
	}
	if f.Name != "" {
		dst = appendQuoted(append(dst, `,"title":`...), f.Name)
	}
	return append(dst, '}')
}

func appendSource(dst []byte, kind, mediaType, data string) []byte {
	dst = appendQuoted(append(dst, `{"type":`...), kind)
	dst = appendQuoted(append(dst, `,"media_type":`...), mediaType)
	return append(appendQuoted(append(dst, `,"data":`...), data), '}')
}
