package model

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// unreadOpeners start markup of calls that [Inline] does not read: forms of other agents, of
// families without a stable form, and damaged forms.
var unreadOpeners = []string{
	"<use_tool", "<use_mcp_tool", "<tool_use", "<tool_name>", "<execute_tool", "<call_tool", "<tool-call", "<toolcall", "<tool_calling", "<tool_code>", // prompts of agents
	"<functioncall>", "<function-call>", "<function ", "<|function_call|>", "<|functioncall|>", "<|tool_code|>", "<|call|>", "<api_call", "<call:", // Glaive and others
	"[TOOL_REQUEST]", "[TOOL_CALL]", "[FUNCTION_CALL]", "[tool_", // LM Studio and others
	"<longcat_tool_call>", "]<]minimax[>[", "<|open|>tool", "✿FUNCTION✿", "<|recipient|>", "<|tool▁call▁begin|>", "<｜tool▁sep｜>", // LongCat, MiniMax M3, Kimi K3, Qwen, functionary
}

// reactCall matches a call in the form of ReAct: "Action: NAME", and its input in the next line.
var reactCall = lazyregexp.New(`(?m)^\s*Action:\s*[\w.-]+\s*$\s*^\s*Action Input:`)

// IsCallMarkup reports whether an answer has the markup of a tool call that was not run. The
// markup is outside of code and quotations, and starts a line, or extends to the end of the
// answer.
func IsCallMarkup(text string, tools []Tool) bool {
	text = strings.TrimSpace(text)
	if text == "" {
		return false
	}
	if isBareCall(text, tools) || strings.HasPrefix(text, "```tool_code") || strings.HasPrefix(text, "```tool_call") {
		return true
	}
	known := slices.Concat(tailOpeners, []string{toolCall.open, function.open})
	atEnd := strings.HasSuffix(text, ">") || strings.HasSuffix(text, "]") || strings.HasSuffix(text, "}") || strings.HasSuffix(text, "✿")
	plain := withoutCode(text)
	for line := range strings.Lines(plain) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, ">"): // a quotation
		case startsWith(line, known), atEnd && startsWith(line, unreadOpeners), isTagOf(line, plain, tools):
			return true
		case atEnd && (within(line, known) || within(line, unreadOpeners)):
			return true
		}
	}
	return reactCall.MatchString(plain)
}

// isBareCall reports whether the whole answer is a call without markup: an object, a list, or a
// line of code, maybe in a block.
func isBareCall(text string, tools []Tool) bool {
	if inner, ok := strings.CutPrefix(text, "```json"); ok {
		text = strings.TrimSpace(strings.TrimSuffix(inner, "```"))
	}
	if text == "" {
		return false
	}
	if calls, ok := parseBare([]byte(text), names(tools)); ok && len(calls) > 0 {
		return true
	}
	if calls, ok := parseBare([]byte(text), nil); ok && len(calls) > 0 && (text[0] == '{' || text[0] == '[' && strings.Contains(text, `"name"`) || text[0] == 'f' || text[0] == 'A') {
		if strings.Contains(text, `"arguments"`) || strings.Contains(text, `"parameters"`) {
			return true
		}
	}
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &object) != nil {
		return false
	}
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(key string) bool { return object[key] != nil })
	}
	return len(object) <= 4 && has("name", "tool", "tool_name", "function", "action", "function_name") && has("arguments", "parameters", "args", "params", "input", "action_input", "tool_input")
}

// isTagOf reports whether a line starts with a tag that has the name of a tool, which ends later.
func isTagOf(line, text string, tools []Tool) bool {
	return strings.HasPrefix(line, "<") && slices.ContainsFunc(tools, func(t Tool) bool {
		return strings.HasPrefix(line, "<"+t.Name+">") && strings.Contains(text, "</"+t.Name+">")
	})
}

func startsWith(line string, openers []string) bool {
	return slices.ContainsFunc(openers, func(o string) bool { return strings.HasPrefix(line, o) })
}

// within reports whether a line has one of the openers, not behind a quotation mark.
func within(line string, openers []string) bool {
	return slices.ContainsFunc(openers, func(o string) bool {
		before, _, found := strings.Cut(line, o)
		return found && !strings.HasSuffix(before, `"`) && !strings.HasSuffix(before, "'") && !strings.HasSuffix(before, "“")
	})
}

// withoutCode returns a text without its fenced blocks and its code between backticks.
func withoutCode(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if start := strings.TrimSpace(line); strings.HasPrefix(start, "```") || strings.HasPrefix(start, "~~~") {
			fenced = !fenced
			continue
		}
		if fenced {
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 0 {
				b.WriteString(part)
			}
		}
	}
	return b.String()
}
