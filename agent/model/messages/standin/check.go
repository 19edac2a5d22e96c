package standin

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Request is a request to the server.
type Request struct {
	Header   http.Header
	Body     []byte
	Rejected string // the returned error; empty: accepted
	Cached   int    // tokens read from the cache

	Model      string            `json:"model"`
	MaxTokens  int               `json:"max_tokens"`
	Stream     bool              `json:"stream"`
	System     json.RawMessage   `json:"system"`
	Tools      []json.RawMessage `json:"tools"`
	Messages   []Message         `json:"messages"`
	Thinking   *thinking         `json:"thinking"`
	ToolChoice *choice           `json:"tool_choice"`
	Output     struct {
		Effort string `json:"effort"`
	} `json:"output_config"`

	end    prefix // after all blocks
	spans  []span // the prefix after each block
	marked []int  // the blocks with cache marks, by index in spans
	size   int    // bytes of all blocks
}

// Message is a message of a request. Its content is a list of blocks, or a text.
type Message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`

	blocks []json.RawMessage
}

type thinking struct {
	Type    string `json:"type"`
	Budget  int    `json:"budget_tokens"`
	Display string `json:"display"`
}

type choice struct {
	Type string `json:"type"`
}

// block holds the fields of all types of blocks.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ResultOf  string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	Source    *source         `json:"source"`
	Mark      *struct {
		Type string `json:"type"`
		TTL  string `json:"ttl"`
	} `json:"cache_control"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type"`
	Data      string `json:"data"`
}

// prefix is the hash of everything before a place in a request.
type prefix hash

func (p prefix) next(role string, block []byte) prefix {
	return sha256.Sum256(append(append(p[:], role...), block...))
}

// span is the prefix of a request up to a block, by its bytes without marks.
type span struct {
	bytes prefix
	size  int
}

// fields are the valid fields of a request.
var fields = []string{"model", "max_tokens", "stream", "system", "tools", "messages", "thinking", "tool_choice", "output_config",
	"service_tier", "metadata", "stop_sequences", "temperature", "top_k", "top_p", "cache_control"}

// versions are the values of anthropic-version. The official SDK sends the newer version.
var versions = []string{"2023-06-01", "2026-10-21"}

var (
	idPattern   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	callName    = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) // some proxies use the older limit
	keyPattern  = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
	markPattern = regexp.MustCompile(`,?"cache_control": ?\{[^}]*\}`)
)

// omitted reports whether the text of thinking is omitted.
func (r *Request) omitted() bool {
	if r.Thinking != nil && r.Thinking.Display != "" {
		return r.Thinking.Display == "omitted"
	}
	return newest(r.Model)
}

// adaptive reports whether a model supports adaptive thinking. newest reports whether it
// supports only adaptive thinking, hides it, and binds it to the conversation.
func adaptive(model string) bool { return newest(model) || strings.Contains(model, "-4-6") }
func newest(model string) bool {
	return strings.Contains(model, "-5") && !strings.Contains(model, "-4-5") || strings.Contains(model, "-4-7") || strings.Contains(model, "-4-8")
}

// check returns the error for a request not accepted by the API.
func (s *Server) check(r *http.Request, req *Request) *rejection {
	key := cmp.Or(r.Header.Get("X-Api-Key"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	switch {
	case !strings.HasSuffix(r.URL.Path, "/v1/messages") || r.Method != http.MethodPost:
		return &rejection{404, "not_found_error", "Not found"}
	case key == "":
		return &rejection{401, "authentication_error", "x-api-key header is required"}
	case s.Key != "" && key != s.Key:
		return &rejection{401, "authentication_error", "invalid x-api-key"}
	case !slices.Contains(versions, r.Header.Get("Anthropic-Version")):
		return reject("anthropic-version: header is required")
	}
	var names map[string]json.RawMessage
	if !jsontext.Value(req.Body).IsValid() || model.EscapesNUL(req.Body) {
		return reject("The request body is not valid JSON: invalid Unicode, an unpaired surrogate, NUL, or a name that occurs twice")
	}
	if json.Unmarshal(req.Body, &names) != nil || json.Unmarshal(req.Body, req) != nil {
		return reject("The request body is not valid JSON")
	}
	for name := range names {
		if !slices.Contains(fields, name) {
			return reject("%s: Extra inputs are not permitted", name)
		}
	}
	if len(s.Models) > 0 && !slices.Contains(s.Models, req.Model) {
		return &rejection{404, "not_found_error", "model: " + req.Model}
	}
	for _, check := range []func(*Request) *rejection{checkLimits, checkTools, checkMessages, checkResults, s.checkBlocks} {
		if failed := check(req); failed != nil {
			return failed
		}
	}
	return nil
}

func checkLimits(req *Request) *rejection {
	t := req.Thinking
	switch {
	case req.Model == "":
		return reject("model: Field required")
	case req.MaxTokens == 0:
		return reject("max_tokens: Field required")
	case req.Output.Effort != "" && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, req.Output.Effort):
		return reject("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'")
	case req.Output.Effort != "" && !adaptive(req.Model):
		return reject("This model does not support the effort parameter.")
	case t == nil:
		return nil
	case t.Type == "adaptive" && !adaptive(req.Model):
		return reject("adaptive thinking is not supported on this model")
	case t.Type != "adaptive" && newest(req.Model):
		return reject(`"thinking.type.%s" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`, t.Type)
	case t.Type == "enabled" && t.Budget < 1024:
		return reject("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case t.Type == "enabled" && t.Budget >= req.MaxTokens:
		return reject("`max_tokens` must be greater than `thinking.budget_tokens`.")
	case t.Type == "enabled" && req.ToolChoice != nil && (req.ToolChoice.Type == "any" || req.ToolChoice.Type == "tool"):
		return reject("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func checkTools(req *Request) *rejection {
	seen := map[string]bool{}
	for i, raw := range req.Tools {
		var t struct {
			Name  string         `json:"name"`
			Input map[string]any `json:"input_schema"`
		}
		if json.Unmarshal(raw, &t) != nil || t.Input == nil {
			return reject("tools.%d.custom.input_schema: Field required", i)
		}
		switch {
		case !namePattern.MatchString(t.Name):
			return reject("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		case seen[t.Name]:
			return reject("tools: Tool names must be unique.")
		case t.Input["type"] != "object":
			return reject("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		case t.Input["oneOf"] != nil || t.Input["anyOf"] != nil || t.Input["allOf"] != nil:
			return reject("tools.%d.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level", i)
		}
		properties, _ := t.Input["properties"].(map[string]any)
		for name := range properties {
			if !keyPattern.MatchString(name) {
				return reject("tools.%d.custom.input_schema.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", i)
			}
		}
		seen[t.Name] = true
	}
	if req.ToolChoice != nil && len(req.Tools) == 0 {
		return reject("tool_choice may only be specified while providing tools")
	}
	return nil
}

// checkMessages checks the roles, and reads the blocks.
func checkMessages(req *Request) *rejection {
	if len(req.Messages) == 0 {
		return reject("messages: at least one message is required")
	}
	for i := range req.Messages {
		m := &req.Messages[i]
		want := []string{"user", "assistant"}[i%2]
		if m.Role != want {
			return reject("messages: roles must alternate between \"user\" and \"assistant\", but messages.%d is %q", i, m.Role)
		}
		m.blocks = blocksOf(m.Content)
		if len(m.blocks) == 0 {
			return reject("messages.%d: all messages must have non-empty content", i)
		}
	}
	last := req.Messages[len(req.Messages)-1]
	if last.Role != "assistant" {
		return nil
	}
	var b block
	_ = json.Unmarshal(last.blocks[len(last.blocks)-1], &b) // checked later
	switch {
	case b.Type == "text" && b.Text != strings.TrimRight(b.Text, " \t\r\n"):
		return reject("messages: final assistant content cannot end with trailing whitespace")
	case newest(req.Model) && b.Type != "server_tool_use" && !strings.HasSuffix(b.Type, "_tool_result"):
		return reject("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return nil
}

// blocksOf returns the blocks of a content. A text becomes a block.
func blocksOf(content json.RawMessage) []json.RawMessage {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return []json.RawMessage{marshal(map[string]any{"type": "text", "text": text})}
	}
	var list []json.RawMessage
	_ = json.Unmarshal(content, &list) // other forms contain no blocks
	return list
}

// checkResults requires each call to be answered in the next message, before other blocks.
func checkResults(req *Request) *rejection {
	var open []string // calls in the previous message
	calls := map[string]bool{}
	for i, m := range req.Messages {
		var made, answered []string
		others := false
		for n, raw := range m.blocks {
			var b block
			if err := json.Unmarshal(raw, &b); err != nil {
				return reject("messages.%d.content.%d: %v", i, n, err)
			}
			switch b.Type {
			case "tool_use":
				if calls[b.ID] {
					return reject("messages.%d.content.%d: `tool_use` ids must be unique", i, n)
				}
				calls[b.ID] = true
				made = append(made, b.ID)
			case "tool_result":
				if !slices.Contains(open, b.ResultOf) {
					return reject("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", i, n, b.ResultOf)
				}
				if others {
					return reject("messages.%d.content.%d: `tool_result` blocks must come before all other content", i, n)
				}
				answered = append(answered, b.ResultOf)
			default:
				others = true
			}
		}
		for _, id := range open {
			if !slices.Contains(answered, id) {
				return reject("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", i-1, id)
			}
		}
		open = made
	}
	if len(open) > 0 {
		return reject("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s.", len(req.Messages)-1, open[0])
	}
	return nil
}

// checkBlocks checks each block, the marks and the signatures.
func (s *Server) checkBlocks(req *Request) *rejection {
	var marks marks
	var start prefix
	for i, raw := range req.Tools {
		if failed := marks.take(req, raw, "tool", "tools", i); failed != nil {
			return failed
		}
		start = start.next("tool", canonical(raw))
	}
	for i, raw := range blocksOf(req.System) {
		var b block
		if json.Unmarshal(raw, &b) != nil || b.Type != "text" || strings.TrimSpace(b.Text) == "" {
			return reject("system: text content blocks must be non-empty")
		}
		if failed := marks.take(req, raw, "system", "system", i); failed != nil {
			return failed
		}
		start = start.next("system", canonical(raw))
	}
	req.end = start
	for i := range req.Messages {
		if failed := s.checkMessage(req, i, &marks); failed != nil {
			return failed
		}
	}
	if marks.count > 4 {
		return reject("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks.count)
	}
	if failed := s.checkLatest(req); failed != nil {
		return failed
	}
	return checkTurn(req)
}

// checkLatest requires the latest response to contain all its thinking, or none.
func (s *Server) checkLatest(req *Request) *rejection {
	i := (len(req.Messages) - 2) | 1
	if i < 1 {
		return nil
	}
	thoughts, made := 0, 0
	for _, raw := range req.Messages[i].blocks {
		var b block
		_ = json.Unmarshal(raw, &b) // checked before
		switch b.Type {
		case "thinking", "redacted_thinking":
			thoughts++
		case "tool_use":
			s.mu.Lock()
			made = max(made, s.thoughts[b.ID])
			s.mu.Unlock()
		}
	}
	if thoughts > 0 && thoughts < made {
		return reject("messages.%d: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.", i)
	}
	return nil
}

func (s *Server) checkMessage(req *Request, i int, marks *marks) *rejection {
	m := &req.Messages[i]
	for n, raw := range m.blocks {
		var b block
		_ = json.Unmarshal(raw, &b) // checked before
		if failed := s.checkBlock(req, m, &b, i, n); failed != nil {
			return failed
		}
		if failed := checkServerTool(req, m, &b, i, n); failed != nil {
			return failed
		}
		if failed := marks.take(req, raw, m.Role, "messages", i); failed != nil {
			return failed
		}
		req.end = req.end.next(m.Role, canonical(raw))
	}
	return nil
}

func (s *Server) checkBlock(req *Request, m *Message, b *block, i, n int) *rejection {
	thought := b.Type == "thinking" || b.Type == "redacted_thinking"
	switch {
	case b.Type == "text" && b.Text == "":
		return reject("messages: text content blocks must be non-empty")
	case b.Type == "text" && strings.TrimSpace(b.Text) == "":
		return reject("messages: text content blocks must contain non-whitespace text")
	case thought && m.Role != "assistant", b.Type == "tool_use" && m.Role != "assistant", b.Type == "tool_result" && m.Role != "user":
		return reject("messages.%d: `%s` blocks are not allowed for the role %s", i, b.Type, m.Role)
	case thought && b.Mark != nil:
		return reject("messages.%d.content.%d.%s.cache_control: Extra inputs are not permitted", i, n, b.Type)
	case thought && n+1 == len(m.blocks):
		return reject("messages.%d: The final block in an assistant message cannot be `thinking`.", i)
	case b.Type == "thinking":
		return s.checkSignature(req, b, i, n)
	case b.Type == "redacted_thinking":
		made, ok := s.madeRedacted(b.Data)
		if !ok || newest(req.Model) && made != hash(req.end) {
			return reject("messages.%d.content.%d: Invalid `data` in `redacted_thinking` block", i, n)
		}
	case b.Type == "tool_use":
		var input map[string]any
		if !idPattern.MatchString(b.ID) {
			return reject("messages.%d.content.%d.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", i, n)
		}
		if !callName.MatchString(b.Name) {
			return reject("messages.%d.content.%d.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i, n)
		}
		if json.Unmarshal(b.Input, &input) != nil || input == nil {
			return reject("messages.%d.content.%d.tool_use.input: Input should be a valid dictionary", i, n)
		}
	case b.Type == "tool_result":
		if len(b.Content) > 0 {
			return checkResult(b, i, n)
		}
	case b.Type == "image", b.Type == "document":
		return checkSource(b, i, n)
	}
	return nil
}

// checkServerTool requires a call of the server's own tool and its result to be together. The call
// of a paused response, the last of a request, has no result yet.
func checkServerTool(req *Request, m *Message, b *block, i, n int) *rejection {
	has := func(blocks []json.RawMessage, ok func(*block) bool) bool {
		return slices.ContainsFunc(blocks, func(raw json.RawMessage) bool {
			var other block
			return json.Unmarshal(raw, &other) == nil && ok(&other)
		})
	}
	switch {
	case b.Type == "server_tool_use" && i+1 < len(req.Messages) && !has(m.blocks[n:], func(o *block) bool { return o.ResultOf == b.ID }):
		return reject("messages.%d: `%s` tool use with id `%s` was found without a corresponding `%s_tool_result` block", i, b.Name, b.ID, b.Name)
	case b.Type != "tool_result" && strings.HasSuffix(b.Type, "_tool_result") && !has(m.blocks[:n], func(o *block) bool { return o.Type == "server_tool_use" && o.ID == b.ResultOf }):
		return reject("messages.%d.content.%d: unexpected `tool_use_id` found in `%s` blocks: %s. Each `%s` block must have a corresponding `server_tool_use` block before it.", i, n, b.Type, b.ResultOf, b.Type)
	}
	return nil
}

func (s *Server) madeRedacted(data string) (hash, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	made, ok := s.redacted[data]
	return made, ok
}

func checkResult(b *block, i, n int) *rejection {
	var text string
	if json.Unmarshal(b.Content, &text) == nil {
		return nil
	}
	for _, raw := range blocksOf(b.Content) {
		var inner block
		if json.Unmarshal(raw, &inner) != nil || !slices.Contains([]string{"text", "image", "document"}, inner.Type) {
			return reject("messages.%d.content.%d.tool_result.content: Input tag %q does not match any of the expected tags", i, n, inner.Type)
		}
		if inner.Type == "text" && strings.TrimSpace(inner.Text) == "" {
			return reject("messages: text content blocks must be non-empty")
		}
		if inner.Type != "text" {
			if failed := checkSource(&inner, i, n); failed != nil {
				return failed
			}
		}
	}
	return nil
}

func checkSource(b *block, i, n int) *rejection {
	if b.Source == nil {
		return reject("messages.%d.content.%d.%s.source: Field required", i, n, b.Type)
	}
	if b.Source.Type != "base64" {
		return nil
	}
	allowed := []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	if b.Type == "document" {
		allowed = []string{"application/pdf"}
	}
	if !slices.Contains(allowed, b.Source.MediaType) {
		return reject("messages.%d.content.%d.%s.source.base64.media_type: Input should be one of %q", i, n, b.Type, allowed)
	}
	if data, err := base64.StdEncoding.DecodeString(b.Source.Data); err != nil || len(data) == 0 {
		return reject("messages.%d.content.%d.%s.source.base64: invalid base64 data", i, n, b.Type)
	}
	return nil
}

// checkSignature requires a block to be unchanged and in its place.
func (s *Server) checkSignature(req *Request, b *block, i, n int) *rejection {
	want := s.signature(b.Thinking, req.end)
	switch {
	case b.Signature == "":
		return reject("messages.%d.content.%d.thinking.signature: Field required", i, n)
	case len(b.Signature) != len(want) || b.Signature[:16] != want[:16]:
		return reject("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, n)
	case newest(req.Model) && b.Signature != want:
		return reject("messages.%d.content.%d: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".", i, n)
	}
	return nil
}

// checkTurn requires a turn with calls to keep its thinking while thinking is on with a budget.
func checkTurn(req *Request) *rejection {
	if req.Thinking == nil || req.Thinking.Type != "enabled" {
		return nil
	}
	for i := len(req.Messages) - 1; i > 0; i -= 2 {
		var result, first block
		_ = json.Unmarshal(req.Messages[i].blocks[0], &result)
		if result.Type != "tool_result" {
			return nil
		}
		if i < 3 || !startsWithResult(req.Messages[i-2]) {
			_ = json.Unmarshal(req.Messages[i-1].blocks[0], &first)
			if first.Type != "thinking" && first.Type != "redacted_thinking" {
				return reject("messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).", i-1, first.Type)
			}
		}
	}
	return nil
}

func startsWithResult(m Message) bool {
	var b block
	return json.Unmarshal(m.blocks[0], &b) == nil && b.Type == "tool_result"
}

// marks counts the cache marks of a request, in the order of the API.
type marks struct {
	count int
	short bool // a mark for minutes was seen
	bytes prefix
}

// take adds a block to the prefix and records its mark.
func (k *marks) take(req *Request, raw json.RawMessage, role, list string, i int) *rejection {
	bare := markPattern.ReplaceAll(raw, nil)
	k.bytes = k.bytes.next(role, bare)
	req.size += len(bare)
	req.spans = append(req.spans, span{k.bytes, req.size})
	var b block
	if json.Unmarshal(raw, &b) != nil || b.Mark == nil {
		return nil
	}
	k.count++
	if b.Mark.Type != "ephemeral" || !slices.Contains([]string{"", "5m", "1h"}, b.Mark.TTL) {
		return reject("%s.%d.cache_control: Input should be 'ephemeral'", list, i)
	}
	if b.Mark.TTL == "1h" && k.short {
		return reject("%s.%d.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.", list, i)
	}
	k.short = k.short || b.Mark.TTL != "1h"
	req.marked = append(req.marked, len(req.spans)-1)
	return nil
}

const lookBack = 20 // blocks before a mark to search for a cache entry

// usage counts the tokens of a request, four bytes each, and fills the cache.
func (s *Server) usage(req *Request) map[string]any {
	read, written := 0, 0
	for _, last := range req.marked {
		for at := last; at >= 0 && at > last-lookBack; at-- {
			if s.cached[s.keyOf(req, at)] {
				read = max(read, req.spans[at].size/4)
			}
		}
	}
	req.Cached = read
	for _, last := range req.marked {
		size := req.spans[last].size / 4
		if size < s.MinCached {
			continue
		}
		if s.cached == nil {
			s.cached = map[hash]bool{}
		}
		s.cached[s.keyOf(req, last)] = true
		written = max(written, size-read)
	}
	return map[string]any{"input_tokens": req.size/4 - read - written, "output_tokens": 1,
		"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
}

func (s *Server) keyOf(req *Request, at int) hash {
	return hash(req.spans[at].bytes.next(req.Model, nil))
}

// canonical returns a block in a normal form, without its mark.
func canonical(raw []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var fields map[string]any
	if dec.Decode(&fields) != nil {
		return raw
	}
	delete(fields, "cache_control")
	return marshal(fields)
}
