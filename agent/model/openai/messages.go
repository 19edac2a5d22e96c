package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/api"
)

type message struct {
	Role             string `json:"role"`
	Content          any    `json:"content"` // string, []part, or null beside calls
	ReasoningContent string `json:"reasoning_content,omitempty"`
	ToolCalls        []call `json:"tool_calls,omitempty"`
	ToolCallID       string `json:"tool_call_id,omitempty"`

	ReasoningDetails json.RawMessage `json:"reasoning_details,omitempty"`
}

type part struct {
	Type     string    `json:"type"`
	Text     string    `json:"text,omitempty"`
	ImageURL *imageURL `json:"image_url,omitempty"`

	CacheControl *cacheControl `json:"cache_control,omitempty"`
}

type imageURL struct {
	URL string `json:"url"`
}

type call struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function calledWithin `json:"function"`
}

type calledWithin struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// item is a message of the request before it is encoded.
type item struct {
	role    string
	system  bool // the system prompt
	from    *model.Message
	results []model.Message // tool results whose images are in this item, as a user message
	texts   []string        // in place of images, see [api.Images.Of]
	variant int
	joined  []item // user messages joined to this item
}

// list holds the items of a request.
type list struct {
	target   *api.Target
	system   string
	thoughts bool // the reasoning of calls is sent
	parts    bool // texts are written as parts with possible cache marks
	items    []item
}

// encodeMessages writes the messages of a request. It omits assistant messages without text and
// tool calls.
func encodeMessages(b *api.Body, req *model.Request, t *api.Target) error {
	l := list{target: t, system: req.System, thoughts: wantsThoughts(t) && !t.TextTools, parts: marksCache(t)}
	if t.TextTools && len(req.Tools) > 0 {
		text, err := toolsText(req, t)
		if err != nil {
			return err
		}
		l.system = strings.TrimSpace(l.system + text)
	}
	l.items = make([]item, 0, len(req.Messages)+1)
	l.collect(req)
	marks := l.marks()
	b.List("messages")
	for i := range l.items {
		piece, err := l.piece(i, marks[i])
		if err != nil {
			return err
		}
		b.Item(piece)
	}
	b.EndList()
	return nil
}

// collect makes the items of a request.
func (l *list) collect(req *model.Request) {
	images := api.Images{Forms: l.target.Images}
	if l.system != "" {
		role := "system"
		if l.target.Quirks&noSystem != 0 {
			role = string(model.User)
		}
		l.add(item{role: role, system: true})
	}
	first := 0 // of the tool results before this item
	var results item
	for i := range req.Messages {
		m := &req.Messages[i]
		if m.Role == model.Assistant && !m.Has(model.CallType) && m.Text() == "" {
			continue
		}
		texts, variant := images.Of(i, m)
		if m.Role != model.ToolRole {
			l.add(item{role: string(m.Role), from: m, texts: texts, variant: variant})
			continue
		}
		if i == 0 || req.Messages[i-1].Role != model.ToolRole {
			first, results = i, item{role: string(model.User)}
		}
		role := m.Role
		if l.target.TextTools {
			role = model.User
		}
		l.add(item{role: string(role), from: m})
		results.texts, results.variant = append(results.texts, texts...), results.variant+variant
		if last := i+1 == len(req.Messages) || req.Messages[i+1].Role != model.ToolRole; last && len(results.texts) > 0 {
			results.from, results.results, results.variant = m, req.Messages[first:i+1], -1-results.variant
			l.add(results)
		}
	}
}

// add appends an item. If the endpoint requires alternating roles, add joins a user message to
// a preceding user message or tool result. A result is a JSON object, so the text after it
// cannot come from the tool. If the system prompt is written as a user message, add also joins
// the first user message to it.
func (l *list) add(it item) {
	if n := len(l.items); n > 0 && it.role == string(model.User) && (l.target.Quirks&alternate != 0 || l.target.TextTools || l.items[n-1].system && l.items[n-1].role == it.role) {
		if before := &l.items[n-1]; before.role == it.role || before.role == string(model.ToolRole) {
			before.joined = append(before.joined, it)
			return
		}
	}
	l.items = append(l.items, it)
}

// piece returns an encoded item. It does not cache an item with a mark, because the next
// request sends it without the mark.
func (l *list) piece(i int, mark *cacheControl) ([]byte, error) {
	it := &l.items[i]
	encode := func() ([]byte, error) {
		m := l.message(it)
		for j := range it.joined {
			m.Content = joinContent(m.Content, l.message(&it.joined[j]).Content)
		}
		if l.parts {
			asParts(&m)
			setMark(&m, mark)
		}
		return api.Marshal(m)
	}
	switch {
	case mark != nil, len(it.joined) > 0:
		return encode()
	case it.system:
		return l.target.Encoded.System(l.system, encode)
	}
	return l.target.Encoded.Message(it.from, it.variant, encode)
}

// message returns the message of an item.
func (l *list) message(it *item) message {
	m := it.from
	switch {
	case it.system:
		return message{Role: it.role, Content: l.system}
	case it.results != nil:
		return message{Role: it.role, Content: imagesOfResults(it)}
	}
	text := m.Text()
	out := message{Role: it.role, Content: text}
	switch {
	case l.target.TextTools && m.Role == model.ToolRole:
		out.Content = resultText(text)
		return out
	case l.target.TextTools && m.Role == model.Assistant:
		out.Content = callsText(text, m.Calls())
		return out
	}
	switch m.Role {
	case model.ToolRole:
		out.ToolCallID = sentID(m.CallID(), l.target)
	case model.Assistant:
		out.ToolCalls = encodeCalls(m.Calls(), l.target)
		if len(out.ToolCalls) > 0 {
			out.Content = besideCalls(text, l.target)
		}
		out.ReasoningDetails = detailsOf(m, l.target)
		if l.thoughts && len(out.ToolCalls) > 0 {
			out.ReasoningContent = m.Reasoning()
		}
	default:
		if len(it.texts) > 0 {
			out.Content = content(text, imageParts(m.Images(), it.texts))
		}
	}
	return out
}

// besideCalls returns the content of a message with calls. Some servers refuse null there,
// others an empty string, and some any text.
func besideCalls(text string, t *api.Target) any {
	has := func(q api.Quirks) bool { return t.Quirks&q != 0 }
	switch {
	case text != "" && !has(onlyCalls):
		return text
	case has(emptyContent) || nineIDs(t):
		return ""
	default:
		return nil
	}
}

// sentID returns the id of a call for the endpoint. Mistral requires nine characters.
func sentID(id string, t *api.Target) string {
	switch {
	case nineIDs(t):
		return model.ShortID(id)
	case t.Provider != "openai" && t.Quirks&shortIDs == 0 && model.SameForm(id, t.Model):
		return id
	default:
		return model.SoundID(id)
	}
}

func nineIDs(t *api.Target) bool {
	return t.Quirks&nineID != 0 || strings.HasSuffix(t.Host, "api.mistral.ai")
}

// Locate implements [api.Locator].
func (API) Locate(req *model.Request, t *api.Target, failed *model.Error) int {
	at := api.Places(failed.Message, "messages")
	if len(at) == 0 {
		at = api.Places(failed.Message, "message ")
	}
	l := list{target: t, system: req.System}
	l.collect(req)
	if len(at) == 0 || at[0] >= len(l.items) {
		return -1
	}
	return slices.IndexFunc(req.Messages, func(m model.Message) bool {
		from := l.items[at[0]].from
		return from != nil && len(m.Parts) > 0 && len(from.Parts) > 0 && &m.Parts[0] == &from.Parts[0]
	})
}

// wantsThoughts reports whether the model gets the reasoning of its tool calls in the next
// request. Otherwise such a model rejects the request or reasons worse.
func wantsThoughts(t *api.Target) bool {
	id := strings.ToLower(t.Model)
	return slices.ContainsFunc(thinkingModels[:], func(name string) bool { return strings.Contains(id, name) }) ||
		slices.ContainsFunc(thinkingHosts[:], func(name string) bool { return strings.Contains(t.Host, name) })
}

// thinkingModels and thinkingHosts are parts of ids and of hosts.
var (
	thinkingModels = [...]string{"deepseek", "kimi", "qwen", "qwq", "glm-"}
	thinkingHosts  = [...]string{"deepseek.com", "moonshot.", "z.ai", "bigmodel.cn", "dashscope"}
)

// imageParts returns the parts for images, each in its form.
func imageParts(images []model.Image, texts []string) []part {
	parts := make([]part, len(images))
	for n, image := range images {
		if texts[n] != "" {
			parts[n] = part{Type: "text", Text: texts[n]}
		} else {
			parts[n] = part{Type: "image_url", ImageURL: &imageURL{"data:" + image.MIMEType + ";base64," + image.Data}}
		}
	}
	return parts
}

const picturesText = "(What the tools have read, as pictures, in the order of the calls.)"

// imagesOfResults returns the content of a user message with the images of tool results.
// The API does not allow images in a tool result.
func imagesOfResults(it *item) any {
	var images []model.Image
	for i := range it.results {
		images = append(images, it.results[i].Images()...)
	}
	text := ""
	if slices.Contains(it.texts, "") {
		text = picturesText
	}
	return content(text, imageParts(images, it.texts))
}

// content returns text followed by parts. If all parts are text, it returns a string, because
// some endpoints do not accept a list.
func content(text string, parts []part) any {
	all := parts
	if text != "" {
		all = append([]part{{Type: "text", Text: text}}, parts...)
	}
	texts := make([]string, 0, len(all))
	for _, p := range all {
		if p.ImageURL != nil {
			return all
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}

// joinContent returns the joined contents of two messages.
func joinContent(a, b any) any {
	first, isText := a.(string)
	second, areTexts := b.(string)
	if isText && areTexts {
		return first + "\n\n" + second
	}
	return slices.Concat(asContent(a), asContent(b))
}

// asContent returns the content of a message as parts.
func asContent(content any) []part {
	if text, ok := content.(string); ok {
		return []part{{Type: "text", Text: text}}
	}
	return content.([]part)
}

func encodeCalls(calls []model.Call, t *api.Target) []call {
	var out []call
	for _, c := range calls {
		out = append(out, call{sentID(c.ID, t), "function", calledWithin{c.Name, sentArgs(c.Args)}})
	}
	return out
}

// sentArgs returns the arguments of a tool call for the next request. Many servers reject
// invalid JSON, so sentArgs wraps invalid arguments in an object.
func sentArgs(args string) string {
	if json.Valid([]byte(args)) {
		return args
	}
	if strings.TrimSpace(args) == "" {
		return "{}"
	}
	text, err := json.Marshal(map[string]string{"invalid_json": args})
	if err != nil { // a string can always be encoded
		panic(err)
	}
	return string(text)
}
