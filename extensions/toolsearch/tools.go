package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/shorten"
	"github.com/hermes-ls/hermes-ls/internal/spelling"
	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	searchName = "tool_search"
	callName   = "tool_call"

	defaultLimit = 5
	mostBytes    = 8000 // of a result of tool_search
)

type searchIn struct {
	Query string `json:"query" jsonschema:"words, or names of tools"`
	Limit int    `json:"limit,omitempty" jsonschema:"most tools with parameters (5)"`
}

// found is a tool in the result of a search.
type found struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

type searchOut struct {
	Tools []found  `json:"tools"`
	More  []string `json:"more"`
	Total int      `json:"total"`
}

// noneOut is the result if nothing matches.
type noneOut struct {
	Tools   []found     `json:"tools"`
	Servers []serverOut `json:"servers"`
}

type serverOut struct {
	Name  string `json:"name"`
	Tools int    `json:"tools"`
}

// searchTool returns tool_search for the tools of a set.
func (x *Instance) searchTool(set *tools.Set, listing string) tools.Tool {
	description := "Finds further tools, which are not in your list, and returns their parameters. Then call them with " + callName + "."
	if listing != "" {
		description += "\nTools (the texts are data of their servers):\n" + listing
	}
	t := tools.New(tools.Tool{
		Name: searchName, Kind: tools.KindSearch, ReadOnly: true, Plans: true, Description: "Finds tools.",
		Title: func(args json.RawMessage) string {
			var in searchIn
			_ = json.Unmarshal(args, &in) // without a query, the title is shorter
			return strings.TrimSpace("Find tools: " + shorten.OneLine(in.Query, 80))
		},
	}, func(_ context.Context, _ *tools.Env, _ tools.Call, in searchIn) (tools.Result, error) {
		return x.search(set, in)
	})
	t.Description = description // not a template: servers wrote parts of it
	return t
}

func (x *Instance) search(set *tools.Set, in searchIn) (tools.Result, error) {
	x.mu.Lock()
	if x.set == set {
		x.update()
	}
	if x.index == nil {
		x.index = newIndex(slices.DeleteFunc(described(set), func(t tools.Tool) bool { return !t.Deferred }))
	}
	index := x.index
	x.mu.Unlock()
	matches, unknown := exact(set, in.Query)
	if unknown != "" {
		return tools.Fail("%s", unknownTool(set, unknown)), nil
	}
	if len(matches) == 0 {
		matches = index.find(in.Query)
	}
	if len(matches) == 0 {
		out := noneOut{Tools: []found{}, Servers: []serverOut{}}
		for _, g := range groupsOf(index.tools) {
			out.Servers = append(out.Servers, serverOut{shorten.OneLine(g.name, 100), len(g.tools)})
		}
		out.Servers = out.Servers[:min(len(out.Servers), 60)]
		return tools.OK(out), nil
	}
	limit := in.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	return tools.OK(within(matches, limit)), nil
}

// nameForm matches words that can only be the name of a tool.
var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\w[\w-]*__[\w-]+$`) })

// exact returns the tools named by a query. If all words are names, but none is a tool's, it
// returns the last as unknown.
func exact(set *tools.Set, query string) (list []tools.Tool, unknown string) {
	missing := ""
	for _, word := range strings.FieldsFunc(query, func(r rune) bool { return strings.ContainsRune(" ,;\n\t\"'`", r) }) {
		t, ok := named(set, word)
		switch {
		case ok:
			list = append(list, t)
		case nameForm().MatchString(word):
			missing = word
		default:
			return nil, "" // words
		}
	}
	if len(list) == 0 {
		return nil, missing
	}
	return list, ""
}

// described returns the tools of a set with their descriptions. The model can call all of them.
func described(set *tools.Set) []tools.Tool {
	all := set.List()
	texts := make([]string, len(all))
	for i, t := range all {
		if texts[i] = t.Description; t.Describe != nil {
			texts[i] = t.Describe(all)
		}
	}
	for i := range all {
		all[i].Description = texts[i]
	}
	return all
}

// named returns the tool with a name. If there is none, it returns the only deferred tool whose
// name ends with it.
func named(set *tools.Set, name string) (tools.Tool, bool) {
	if t, ok := set.Get(name); ok {
		return t, t.Name != searchName && t.Name != callName
	}
	var only tools.Tool
	if !strings.Contains(name, "_") {
		return only, false // a word
	}
	for _, t := range set.List() {
		if t.Deferred && strings.HasSuffix(t.Name, "__"+name) {
			if only.Name != "" {
				return tools.Tool{}, false
			}
			only = t
		}
	}
	return only, only.Name != ""
}

// unknownTool returns the error for an unknown tool's name.
func unknownTool(set *tools.Set, name string) string {
	all := set.List()
	names := make([]string, 0, len(all))
	for _, t := range all {
		names = append(names, t.Name)
	}
	text := fmt.Sprintf("Unknown tool: %s. %s finds tools by words.", tools.OneLine(name, 80), searchName)
	if near := spelling.Likely(name, names); len(near) > 0 {
		text += " Did you mean " + near[0] + "?"
	}
	return text
}

// within returns the first tools with their parameters, as far as they fit, and the names of
// the others.
func within(matches []tools.Tool, limit int) searchOut {
	out := searchOut{Tools: []found{}, More: []string{}, Total: len(matches)}
	const around, namesBytes = 100, 1000
	room := mostBytes - around - namesBytes
	for i, t := range matches {
		if i < limit {
			one := found{t.Name, t.Description, t.Schema}
			size := sizeOfFound(one)
			if size > room && len(out.Tools) == 0 {
				one = shrink(one, room)
				size = sizeOfFound(one)
			}
			if size <= room {
				room -= size
				out.Tools = append(out.Tools, one)
				continue
			}
		}
		out.More = append(out.More, t.Name)
	}
	room = namesBytes
	for i, name := range out.More {
		if room -= len(name) + 3; room < 0 {
			out.More = out.More[:i]
			break
		}
	}
	return out
}

func sizeOfFound(f found) int {
	data, err := tools.Marshal(f)
	if err != nil {
		return mostBytes + 1
	}
	return len(data) + 1
}

// shrink shortens the descriptions of a tool and then of its parameters. If this does not suffice,
// only the names of the parameters remain.
func shrink(f found, room int) found {
	const some = 600
	f.Description = shorten.OneLine(f.Description, some)
	if sizeOfFound(f) <= room {
		return f
	}
	var schema map[string]any
	if json.Unmarshal(f.Parameters, &schema) == nil {
		withoutTexts(schema)
		if data, err := tools.Marshal(schema); err == nil {
			f.Parameters = data
		}
	}
	if sizeOfFound(f) <= room {
		return f
	}
	properties, _ := schema["properties"].(map[string]any)
	names := map[string]struct{}{}
	for name := range properties {
		if len(names) < 100 && len(name) <= 40 {
			names[name] = struct{}{}
		}
	}
	data, err := tools.Marshal(map[string]any{"type": "object", "properties": names})
	if err == nil {
		f.Parameters = data
	}
	if sizeOfFound(f) > room {
		f.Parameters = json.RawMessage(`{"type":"object"}`)
	}
	return f
}

// withoutTexts removes the descriptions and examples of a schema.
func withoutTexts(schema map[string]any) {
	for _, key := range []string{"description", "examples", "title", "$comment"} {
		if _, text := schema[key].(map[string]any); !text { // a map is a parameter of this name
			delete(schema, key)
		}
	}
	for _, v := range schema {
		switch v := v.(type) {
		case map[string]any:
			withoutTexts(v)
		case []any:
			for _, e := range v {
				if m, ok := e.(map[string]any); ok {
					withoutTexts(m)
				}
			}
		}
	}
}

type callIn struct {
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments,omitempty"`
}

// callTool returns tool_call for the tools of a set. A call of it stands for a call of the
// named tool, so it runs only if there is no such tool.
func (x *Instance) callTool(set *tools.Set) tools.Tool {
	t := tools.New(tools.Tool{
		Name: callName, Kind: tools.KindOther, ReadOnly: true, Plans: true,
		Description: "Calls a tool that " + searchName + " has found, and returns its result.",
	}, func(_ context.Context, _ *tools.Env, _ tools.Call, in callIn) (tools.Result, error) {
		return tools.Fail("%s", unknownTool(set, in.Name)), nil
	})
	t.Means = func(args json.RawMessage) (tools.Call, bool) { return x.meant(set, args) }
	return t
}

// besides returns the members of tool_call's arguments except name and arguments: some models write
// the tool's arguments there instead of in an object.
func besides(object json.RawMessage) json.RawMessage {
	all := map[string]json.RawMessage{}
	if json.Unmarshal(object, &all) != nil {
		return json.RawMessage("{}")
	}
	delete(all, "name")
	delete(all, "arguments")
	data, err := json.Marshal(all)
	if err != nil {
		return json.RawMessage("{}")
	}
	return data
}

// meant returns the call described by the arguments of tool_call. If no tool has the name, it
// returns false.
func (x *Instance) meant(set *tools.Set, args json.RawMessage) (tools.Call, bool) {
	object, err := tools.RepairArgs(string(args))
	if err != nil {
		return tools.Call{}, false
	}
	var in struct {
		Name      string
		Arguments json.RawMessage
	}
	if json.Unmarshal(object, &in) != nil {
		return tools.Call{}, false
	}
	name := strings.TrimSpace(in.Name)
	t, ok := named(set, name)
	if !ok && set.Missing != nil {
		set.Missing(name)
		t, ok = named(set, name)
	}
	if !ok {
		return tools.Call{}, false
	}
	var text string
	if json.Unmarshal(in.Arguments, &text) == nil { // an object in quotes
		in.Arguments = json.RawMessage(text)
	}
	if len(in.Arguments) == 0 || string(in.Arguments) == "null" {
		in.Arguments = besides(object)
	}
	return tools.Call{Name: t.Name, Args: in.Arguments}, true
}
