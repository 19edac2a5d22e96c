package wire

import (
	"bytes"
	"encoding/json"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// lists are the list fields of results, by the method of the request.
var lists = map[string]string{
	"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
}

// shaped returns the result of a request as the object of its method. Some servers return the text,
// or the list, without the object around it. A result of another method, or of the right form,
// stays as it is.
func shaped(method string, raw json.RawMessage) json.RawMessage {
	fields := map[string]json.RawMessage{}
	_ = json.Unmarshal(raw, &fields) // another type has no fields
	if kind := textOf(fields["resultType"]); kind != "" && kind != "complete" {
		return raw // such as input_required, with requests in place of a result
	}
	switch key := lists[method]; {
	case key != "":
		if len(raw) > 0 && raw[0] == '[' {
			return object(key, raw)
		}
	case method == "tools/call":
		if fields["content"] == nil && fields["structuredContent"] == nil && fields["task"] == nil && !onlyMeta(fields, raw) {
			return object("content", contents(inside(fields, raw, "toolResult", "result")))
		}
		if slices.ContainsFunc(elements(fields["content"]), silent) {
			fields["content"] = contents(fields["content"])
			if out, err := json.Marshal(fields); err == nil {
				return out
			}
		}
	case method == "prompts/get":
		var r struct {
			Messages []struct{ Content json.RawMessage }
		}
		if json.Unmarshal(raw, new(sdk.GetPromptResult)) != nil || fields["messages"] == nil || json.Unmarshal(raw, &r) == nil &&
			slices.ContainsFunc(r.Messages, func(m struct{ Content json.RawMessage }) bool { return silent(m.Content) }) {
			return object("messages", messages(inside(fields, raw, "messages")))
		}
	case method == "resources/read":
		if json.Unmarshal(raw, new(sdk.ReadResourceResult)) != nil || fields["contents"] == nil || slices.ContainsFunc(elements(fields["contents"]), blank) {
			return object("contents", resources(inside(fields, raw, "contents", "content")))
		}
	}
	return raw
}

// onlyMeta reports whether a result is an object without content.
func onlyMeta(fields map[string]json.RawMessage, raw json.RawMessage) bool {
	for key := range fields {
		if key != "_meta" && key != "resultType" && key != "isError" {
			return false
		}
	}
	return len(raw) > 0 && raw[0] == '{'
}

// silent reports whether a part of the type text holds its text in another field.
func silent(raw json.RawMessage) bool {
	var part map[string]json.RawMessage
	return json.Unmarshal(raw, &part) == nil && textOf(part["type"]) == "text" && !present(part["text"]) && len(part) > 1
}

// blank reports whether a content of a resource contains neither text nor bytes, but another field.
func blank(raw json.RawMessage) bool {
	var part map[string]json.RawMessage
	if json.Unmarshal(raw, &part) != nil || part["text"] != nil || part["blob"] != nil {
		return false
	}
	for key := range part {
		if key != "uri" && key != "mimeType" && key != "_meta" {
			return true
		}
	}
	return false
}

// inside returns the first of the fields that is present, else raw.
func inside(fields map[string]json.RawMessage, raw json.RawMessage, names ...string) json.RawMessage {
	for _, name := range names {
		if present(fields[name]) {
			return fields[name]
		}
	}
	return raw
}

func object(key string, value any) json.RawMessage {
	out, err := json.Marshal(map[string]any{key: value})
	if err != nil { // its parts are valid JSON
		panic(err)
	}
	return out
}

// elements returns the elements of a list. Any other value is the only element.
func elements(raw json.RawMessage) []json.RawMessage {
	var all []json.RawMessage
	if present(raw) && json.Unmarshal(raw, &all) != nil {
		all = []json.RawMessage{raw}
	}
	return slices.DeleteFunc(all, func(one json.RawMessage) bool { return !present(bytes.TrimSpace(one)) })
}

// said is a message of a prompt.
type said struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// messages returns the messages of a prompt. Each has a single part, so several parts become
// several messages.
func messages(raw json.RawMessage) []said {
	all := []said{}
	for _, one := range elements(raw) {
		var m struct{ Role, Content json.RawMessage }
		_ = json.Unmarshal(one, &m) // another type is the content
		if !present(m.Content) {
			m.Content = one
		}
		role := "user"
		if textOf(m.Role) == "assistant" {
			role = "assistant"
		}
		for _, part := range elements(m.Content) {
			all = append(all, said{role, partOf(part)})
		}
	}
	return all
}

// resources returns the contents of a resource.
func resources(raw json.RawMessage) []json.RawMessage {
	all := []json.RawMessage{}
	for _, one := range elements(raw) {
		var fields map[string]json.RawMessage
		if json.Unmarshal(one, new(sdk.ResourceContents)) == nil && json.Unmarshal(one, &fields) == nil && (fields["text"] != nil || fields["blob"] != nil) {
			all = append(all, one)
			continue
		}
		text := textOf(one)
		if present(fields["text"]) {
			text = textOf(fields["text"])
		}
		uri := ""
		if given := fields["uri"]; present(given) && given[0] == '"' {
			uri = textOf(given)
		}
		fit, err := json.Marshal(map[string]string{"uri": uri, "text": text})
		if err != nil { // texts can always be encoded
			panic(err)
		}
		all = append(all, fit)
	}
	return all
}
