package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/clean"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// message is a JSON-RPC message. Its fields are not decoded, because servers send wrong types.
type message struct {
	Version json.RawMessage `json:"jsonrpc,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  json.RawMessage `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// Mend returns the messages in a JSON text, in a form readable by the SDK: a message in each
// element. If there are none, it returns nil. For an unreadable message, the SDK ends the
// connection; for an unreadable tool, it drops all tools.
func (d *Dropped) Mend(text []byte) [][]byte { return d.mendAll(text, nil) }

// mendAll is Mend for the answer to the request with the id of. If of is nil, the request is
// unknown.
func (d *Dropped) mendAll(text []byte, of json.RawMessage) [][]byte {
	if text = bytes.Trim(text, " \t\r\n"); len(text) == 0 {
		return nil
	}
	switch text[0] {
	case '{':
		var all [][]byte
		for dec := json.NewDecoder(bytes.NewReader(text)); ; { // several may be in a line
			var one json.RawMessage
			if err := dec.Decode(&one); errors.Is(err, io.EOF) {
				return all
			} else if err != nil {
				return nil
			}
			if len(one) == len(text) {
				one = text
			}
			if mended := d.mend(one, of); mended != nil {
				all = append(all, mended)
			}
		}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(text, &list) != nil {
			return nil
		}
		var all [][]byte
		for _, one := range list {
			if len(one) > 0 && one[0] == '{' {
				if mended := d.mend(one, of); mended != nil {
					all = append(all, mended)
				}
			}
		}
		return all
	}
	return nil
}

// mend returns a mended message, or nil. If nothing is wrong, it returns text. For of, see mendAll.
func (d *Dropped) mend(text []byte, of json.RawMessage) []byte {
	var m message
	if json.Unmarshal(text, &m) != nil {
		return nil
	}
	request := present(m.Method)
	changed := !request && m.Method != nil
	m.Method = orNil(m.Method)
	if request && m.Method[0] != '"' || !request && !present(m.Result) && !present(m.Error) && (m.ID == nil || m.Result == nil && m.Error == nil) {
		return nil
	}
	if string(m.Version) != `"2.0"` {
		m.Version, changed = json.RawMessage(`"2.0"`), true
	}
	id, method := idOf(m.ID, request), ""
	if !request {
		if id, method = d.answered(id, of, m.Error); id == nil {
			return nil // it may be the answer to a notification
		}
	}
	if !bytes.Equal(id, m.ID) {
		m.ID, changed = id, true
	}
	if !request {
		if present(m.Error) {
			if fit := errorOf(m.Error); !bytes.Equal(fit, m.Error) {
				m.Error, changed = fit, true
			}
		} else if fit := d.result(shaped(method, m.Result)); !bytes.Equal(fit, m.Result) {
			m.Result, changed = fit, true
		}
	}
	if !changed {
		return text
	}
	out, err := json.Marshal(m)
	if err != nil {
		return nil
	}
	return out
}

func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func orNil(raw json.RawMessage) json.RawMessage {
	if !present(raw) {
		return nil
	}
	return raw
}

// idOf returns the id of a message. The ids of the client are whole numbers; some servers return
// them as strings or with a fraction.
func idOf(raw json.RawMessage, request bool) json.RawMessage {
	var text string
	number := string(raw)
	if json.Unmarshal(raw, &text) == nil && present(raw) {
		if request {
			return raw
		}
		number = strings.TrimSpace(text)
	}
	if f, err := strconv.ParseFloat(number, 64); err == nil && f == float64(int64(f)) {
		if n, exact := strconv.ParseInt(number, 10, 64); exact == nil {
			return strconv.AppendInt(nil, n, 10)
		}
		return json.RawMessage(strconv.FormatInt(int64(f), 10))
	}
	if raw != nil && raw[0] != '"' {
		return nil
	}
	return raw
}

const internalError = -32603

// errorOf returns the error of a response as an object with a number and a text.
func errorOf(raw json.RawMessage) json.RawMessage {
	var e struct {
		Code    *int64          `json:"code"`
		Message *string         `json:"message"`
		Data    json.RawMessage `json:"data,omitempty"`
	}
	if json.Unmarshal(raw, &e) == nil && e.Code != nil && e.Message != nil {
		return raw
	}
	var loose struct{ Code, Message, Data json.RawMessage }
	_ = json.Unmarshal(raw, &loose) // another type has no fields
	code, text := int64(internalError), textOf(loose.Message)
	if n, err := strconv.ParseInt(textOf(loose.Code), 10, 64); err == nil {
		code = n
	}
	if text == "" {
		text = textOf(raw)
	}
	e.Code, e.Message, e.Data = &code, &text, loose.Data
	out, err := json.Marshal(e)
	if err != nil {
		return raw
	}
	return out
}

// textOf returns a JSON string without its quotes, and any other value unchanged.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return text
}

// result returns the result of a response with values readable by the SDK.
func (d *Dropped) result(raw json.RawMessage) json.RawMessage {
	var r map[string]json.RawMessage
	if len(raw) == 0 || raw[0] != '{' || !needsLook(raw) || json.Unmarshal(raw, &r) != nil {
		return raw
	}
	changed := false
	set := func(key string, value json.RawMessage) {
		if value == nil {
			delete(r, key)
		} else {
			r[key] = value
		}
		changed = true
	}
	switch {
	case r["protocolVersion"] != nil:
		return initialized(raw, r)
	case r["tools"] != nil:
		if list, mended := d.tools(r["tools"]); mended {
			set("tools", list)
		}
	case r["content"] != nil || r["structuredContent"] != nil:
		if new(sdk.CallToolResult).UnmarshalJSON(raw) == nil {
			return raw
		}
		set("content", contents(r["content"]))
		if failed := textOf(r["isError"]); r["isError"] != nil && failed != "true" && failed != "false" {
			set("isError", nil)
		} else if r["isError"] != nil {
			set("isError", json.RawMessage(failed))
		}
		if _, ok := fitted(r["_meta"], reflect.TypeFor[map[string]any]()); r["_meta"] != nil && !ok {
			set("_meta", nil)
		}
		if present(r["structuredContent"]) && r["structuredContent"][0] != '{' {
			set("structuredContent", nil)
		}
		if kind := r["resultType"]; kind != nil && kind[0] != '"' {
			set("resultType", nil)
		}
	default:
		for key, kind := range map[string]reflect.Type{
			"prompts": reflect.TypeFor[[]*sdk.Prompt](), "resources": reflect.TypeFor[[]*sdk.Resource](),
			"resourceTemplates": reflect.TypeFor[[]*sdk.ResourceTemplate](), "contents": reflect.TypeFor[[]*sdk.ResourceContents](),
		} {
			if r[key] == nil || json.Unmarshal(r[key], reflect.New(kind).Interface()) == nil {
				continue
			}
			list, ok := fitted(r[key], kind)
			if !ok {
				list = json.RawMessage("[]")
			}
			set(key, list)
		}
	}
	if cursor := r["nextCursor"]; present(cursor) && cursor[0] != '"' {
		set("nextCursor", nil)
		if _, err := strconv.ParseFloat(string(cursor), 64); err == nil {
			set("nextCursor", json.RawMessage(strconv.Quote(string(cursor))))
		}
	}
	if !changed {
		return raw
	}
	out, err := json.Marshal(r)
	if err != nil {
		return raw
	}
	return out
}

// needsLook reports whether a result may need mending.
func needsLook(raw []byte) bool {
	for _, key := range []string{`"tools"`, `"content"`, `"structuredContent"`, `"protocolVersion"`, `"prompts"`, `"resources"`, `"resourceTemplates"`, `"contents"`} {
		if bytes.Contains(raw, []byte(key)) {
			return true
		}
	}
	return false
}

// newest is the version assumed for servers with an unknown version.
const newest = "2025-11-25"

// initialized mends the result of the handshake. A server with an unknown version probably supports
// a known version.
func initialized(raw json.RawMessage, r map[string]json.RawMessage) json.RawMessage {
	version := textOf(r["protocolVersion"])
	if slices.Contains(sdk.SupportedProtocolVersions(), version) && json.Unmarshal(raw, new(sdk.InitializeResult)) == nil && present(r["capabilities"]) {
		return raw
	}
	if !slices.Contains(sdk.SupportedProtocolVersions(), version) {
		version = newest
	}
	out, ok := fitted(raw, reflect.TypeFor[sdk.InitializeResult]())
	var fields map[string]any
	if !ok || json.Unmarshal(out, &fields) != nil {
		return raw
	}
	fields["protocolVersion"] = version
	if fields["capabilities"] == nil {
		fields["capabilities"] = map[string]any{}
	}
	if out, err := json.Marshal(fields); err == nil {
		return out
	}
	return raw
}

// entry holds the fields of a tool. Its schemas are not decoded.
type entry struct {
	Name         string               `json:"name"`
	Title        string               `json:"title"`
	Description  string               `json:"description"`
	InputSchema  json.RawMessage      `json:"inputSchema"`
	OutputSchema json.RawMessage      `json:"outputSchema"`
	Annotations  *sdk.ToolAnnotations `json:"annotations"`
	Icons        []sdk.Icon           `json:"icons"`
	Meta         map[string]any       `json:"_meta"`
}

func (e *entry) sound() bool {
	return strings.TrimSpace(e.Name) != "" && (len(e.InputSchema) == 0 || e.InputSchema[0] == '{' || string(e.InputSchema) == "null") &&
		(len(e.OutputSchema) == 0 || e.OutputSchema[0] == '{')
}

// tools returns a list of tools without unusable entries. Wrong values of the others are left out.
// Both are recorded for [Dropped.Faults].
func (d *Dropped) tools(raw json.RawMessage) (list json.RawMessage, mended bool) {
	var entries []entry
	if json.Unmarshal(raw, &entries) == nil && !slices.ContainsFunc(entries, func(e entry) bool { return !e.sound() }) {
		return raw, false
	}
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		d.fault("its list of tools is no list")
		return json.RawMessage("[]"), true
	}
	kept := []json.RawMessage{}
	for i, one := range all {
		var e entry
		if json.Unmarshal(one, &e) == nil && e.sound() {
			kept = append(kept, one)
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(one, &fields) != nil || fields == nil {
			d.fault(fmt.Sprintf("entry %d is left out (it is no object)", i+1))
			continue
		}
		name := textOf(fields["name"])
		if !present(fields["name"]) || fields["name"][0] != '"' || strings.TrimSpace(name) == "" {
			d.fault(fmt.Sprintf("entry %d is left out (its name is no text: %s)", i+1, clean.Line(name, 40)))
			continue
		}
		if text := textOf(fields["inputSchema"]); strings.HasPrefix(strings.TrimSpace(text), "{") && json.Valid([]byte(text)) {
			fields["inputSchema"] = json.RawMessage(text) // an object encoded twice
		}
		d.fault(fmt.Sprintf("%s without %s", clean.Line(name, 64), strings.Join(withoutWrong(fields), ", ")))
		if out, err := json.Marshal(fields); err == nil {
			kept = append(kept, out)
		}
	}
	list, err := json.Marshal(kept)
	if err != nil {
		return raw, false
	}
	return list, true
}

// withoutWrong removes the fields of a tool with a wrong type, and returns their names.
func withoutWrong(fields map[string]json.RawMessage) (wrong []string) {
	kind := reflect.TypeFor[entry]()
	for i := range kind.NumField() {
		f := kind.Field(i)
		key := f.Tag.Get("json")
		value, there := fields[key]
		if !there {
			continue
		}
		fit, ok := value, json.Unmarshal(value, reflect.New(f.Type).Interface()) == nil
		if strings.HasSuffix(key, "Schema") {
			ok = value[0] == '{'
		} else if !ok {
			if fit, ok = fitted(value, f.Type); ok {
				wrong = append(wrong, "a part of "+key)
			}
		}
		if !ok {
			wrong = append(wrong, key)
			delete(fields, key)
			continue
		}
		fields[key] = fit
	}
	if fields["inputSchema"] == nil {
		fields["inputSchema"] = json.RawMessage(`{"type":"object"}`)
	}
	if len(wrong) == 0 {
		wrong = []string{"an odd value"}
	}
	return wrong
}

// part holds the fields of a part of a result.
type part struct {
	Type        string                `json:"type"`
	Text        string                `json:"text,omitempty"`
	MIMEType    string                `json:"mimeType,omitempty"`
	Data        []byte                `json:"data,omitempty"`
	Resource    *sdk.ResourceContents `json:"resource,omitempty"`
	URI         string                `json:"uri,omitempty"`
	Name        string                `json:"name,omitempty"`
	Title       string                `json:"title,omitempty"`
	Description string                `json:"description,omitempty"`
	Size        *int64                `json:"size,omitempty"`
}

// contents returns the parts of a result. An unreadable part becomes a text that reports this.
func contents(raw json.RawMessage) json.RawMessage {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil && present(raw) {
		all = []json.RawMessage{raw} // a single part, or a text
	}
	kept := make([]json.RawMessage, 0, len(all))
	for _, one := range all {
		kept = append(kept, partOf(one))
	}
	out, err := json.Marshal(kept)
	if err != nil {
		return json.RawMessage("[]")
	}
	return out
}

func partOf(raw json.RawMessage) json.RawMessage {
	if readable(raw) && !silent(raw) {
		return raw
	}
	var loose struct{ Type, Text json.RawMessage }
	if json.Unmarshal(raw, &loose) != nil {
		return textPart(textOf(raw))
	}
	if fit, ok := fitted(raw, reflect.TypeFor[part]()); ok && textOf(loose.Type) != "text" && readable(fit) {
		var p part
		if json.Unmarshal(fit, &p) == nil && (len(p.Data) > 0 || p.Resource != nil || p.URI != "") {
			return fit
		}
	}
	if present(loose.Text) {
		return textPart(textOf(loose.Text))
	}
	kind := clean.Line(textOf(loose.Type), 40)
	if kind == "" || kind == "text" {
		return textPart(string(raw))
	}
	return textPart("[a part of the type " + kind + " that cannot be read]")
}

func readable(raw json.RawMessage) bool {
	return new(sdk.CallToolResult).UnmarshalJSON(slices.Concat([]byte(`{"content":[`), raw, []byte(`]}`))) == nil
}

func textPart(text string) json.RawMessage {
	out, err := json.Marshal(part{Type: "text", Text: text})
	if err != nil { // a text can always be encoded
		panic(err)
	}
	return out
}

// fitted returns a JSON value without the parts that do not fit the Go type. If the value itself
// does not fit, it returns false.
func fitted(raw json.RawMessage, kind reflect.Type) (json.RawMessage, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return nil, false
	}
	value, ok := fit(value, kind)
	if !ok {
		return nil, false
	}
	out, err := json.Marshal(value)
	return out, err == nil && json.Unmarshal(out, reflect.New(kind).Interface()) == nil
}

func fit(value any, kind reflect.Type) (any, bool) {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch {
	case value == nil:
		return nil, kind.Kind() != reflect.Slice
	case kind.Kind() == reflect.Struct:
		if value == true { // such as a capability
			value = map[string]any{}
		}
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false
		}
		fitFields(object, kind)
		return object, true
	case kind.Kind() == reflect.Slice && kind.Elem().Kind() != reflect.Uint8:
		list, ok := value.([]any)
		kept := []any{}
		for _, one := range list {
			if one, fits := fit(one, kind.Elem()); fits && one != nil {
				kept = append(kept, one)
			}
		}
		return kept, ok
	case kind.Kind() == reflect.Map:
		object, ok := value.(map[string]any)
		for key, one := range object {
			if one, fits := fit(one, kind.Elem()); fits {
				object[key] = one
			} else {
				delete(object, key)
			}
		}
		return object, ok
	}
	data, err := json.Marshal(value)
	return value, err == nil && json.Unmarshal(data, reflect.New(kind).Interface()) == nil
}

// fitFields fits the fields of an object to a Go type's fields.
func fitFields(object map[string]any, kind reflect.Type) {
	for i := range kind.NumField() {
		f := kind.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key == "-" || key == "" || !f.IsExported() {
			continue
		}
		value, there := object[key]
		if !there {
			continue
		}
		if one, fits := fit(value, f.Type); fits {
			object[key] = one
		} else {
			delete(object, key)
		}
	}
}

// mostFaults limits the recorded mistakes.
const mostFaults = 1000

// fault records a mistake in a list of tools. A server that sends the same page again repeats
// its mistakes, and they are recorded once.
func (d *Dropped) fault(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.faults) < mostFaults && !slices.Contains(d.faults, text) {
		d.faults = append(d.faults, text)
	}
}

// Faults returns the mistakes in lists of tools since its last call.
func (d *Dropped) Faults() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	all := d.faults
	d.faults = nil
	return all
}

var answered = lazyregexp.New(`"id"\s*:\s*"?(\d{1,15})"?\s*[,}]`)

// garbled returns a response for a request whose response is invalid JSON, so the request does not
// wait in vain. If text is no such response, garbled returns nil.
func garbled(text []byte) []byte {
	head := text[:min(len(text), 4096)]
	tail := text[max(0, len(text)-4096):]
	if !bytes.Contains(head, []byte(`"jsonrpc"`)) && !bytes.Contains(tail, []byte(`"jsonrpc"`)) || bytes.Contains(head, []byte(`"method"`)) {
		return nil
	}
	id := answered.FindSubmatch(head)
	if id == nil {
		id = answered.FindSubmatch(tail)
	}
	if id == nil {
		return nil
	}
	n, err := strconv.ParseInt(string(id[1]), 10, 64)
	if err != nil {
		return nil
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"error":{"code":%d,"message":"the server's answer is not valid JSON"}}`, n, internalError)
}
