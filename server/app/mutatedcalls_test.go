package app_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed testdata/right_calls.tsv
var rightCalls string

//go:embed testdata/other_names.tsv
var otherNames string

var (
	mutants     = flag.Int("mutants", 250, "wrong calls that TestMutatedCalls makes; 0 makes all")
	mutantsSeed = flag.Uint64("mutants.seed", 1, "seed of the choice of TestMutatedCalls")
)

// rightCall is a row of testdata/right_calls.tsv.
type rightCall struct {
	tool      string
	args      map[string]any
	text, not string
}

// mutant is a right call with one mistake. If the call fails, its error must contain each of needs;
// alternatives are separated by |.
type mutant struct {
	right      rightCall
	kind       string
	tool, args string
	needs      []string
}

// mutation makes the mutants of a call. schema is the tool's schema.
type mutation func(c rightCall, schema map[string]any) []mutant

// TestMutatedCalls makes right calls wrong, by testdata/other_names.tsv and the mutations below. It
// makes each wrong call in a session with all features. A call is good if it does the same as the
// right call. It is also good if it changes nothing, and its error names everything unique to the
// right call.
func TestMutatedCalls(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	all := mutantsOf(t)
	random := rand.New(rand.NewPCG(*mutantsSeed, 0)) // a repeatable choice
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	total := len(all)
	if *mutants > 0 && *mutants < len(all) {
		all = all[:*mutants]
	}
	failures := failuresOf(t, all)
	share := 1 - float64(len(failures))/float64(len(all))
	t.Logf("%.1f %% of %d calls are good, chosen from %d", 100*share, len(all), total)

	for _, f := range failures {
		t.Log(f)
	}
	if share < leastClean {
		t.Errorf("%.1f %% of the calls are good, want %.0f %%", 100*share, 100*leastClean)
	}
}

// failuresOf makes the calls, a few at a time.
func failuresOf(t *testing.T, all []mutant) (failures []string) {
	t.Helper()
	var mu sync.Mutex
	t.Run("calls", func(t *testing.T) {
		for worker := range 4 {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for i := worker; i < len(all); i += 4 {
					if why := all[i].run(t); why != "" {
						mu.Lock()
						failures = append(failures, all[i].name()+": "+why)
						mu.Unlock()
					}
				}
			})
		}
	})
	slices.Sort(failures)
	return failures
}

// mutantsOf makes all mutants, and checks that the right calls are right.
func mutantsOf(t *testing.T) (all []mutant) {
	t.Helper()
	m := fakemodel.Script(says("Done"))
	if _, err := resultsIn(t, demoFolder(t), m); err != nil {
		t.Fatal(err)
	}
	schemas := map[string]map[string]any{}
	for _, tool := range m.Requests()[0].Tools {
		var schema map[string]any
		if err := json.Unmarshal(tool.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		schemas[tool.Name] = schema
	}
	for _, row := range tableOf(t, rightCalls, 4) {
		c := rightCall{tool: row[0], text: row[2], not: row[3]}
		if err := json.Unmarshal([]byte(row[1]), &c.args); err != nil {
			t.Fatal(err)
		}
		if why := (mutant{right: c, tool: c.tool, args: row[1]}).run(t); why != "" {
			t.Fatalf("the right call %s %s: %s", c.tool, row[1], why)
		}
		for _, mutate := range []mutation{toolNames, parameterNames, valueTypes, enumValues, pathForms, structures, omissions, additions} {
			all = append(all, mutate(c, schemas[c.tool])...)
		}
	}
	slices.SortFunc(all, func(a, b mutant) int { return strings.Compare(a.name(), b.name()) })
	return all
}

func (m mutant) name() string { return m.kind + ": " + m.tool + " " + m.args }

// run makes the call. If its answer does not let the next call succeed, run returns why.
func (m mutant) run(t *testing.T) (why string) {
	t.Helper()
	root := demoFolder(t)
	args := strings.ReplaceAll(m.args, "ROOT", filepath.ToSlash(root))
	replies := []func(*fakemodel.Exchange){func(x *fakemodel.Exchange) { x.Call("1", m.tool, args); x.End() }}
	if m.right.tool == "delegate_task" {
		replies = append(replies, says("It is in main.go."))
	}
	results, err := resultsIn(t, root, fakemodel.Script(append(replies, says("Done"), says("Done"))...))
	if err != nil {
		return "the turn failed: " + err.Error()
	}
	if len(results) == 0 {
		return "no result"
	}
	result := results[0]
	if done(root, result, m.right.text) && (m.right.not == "-" || !strings.Contains(result, m.right.not)) {
		return ""
	}
	var r struct{ Error, Status string }
	if err := json.Unmarshal([]byte(result), &r); err != nil {
		return "no JSON object: " + result
	}
	if changed := changedIn(root); changed != "" {
		return changed + " was changed: " + result
	}
	if len(m.needs) == 0 {
		return "it is not understood: " + result
	}
	for _, need := range m.needs {
		if !slices.ContainsFunc(strings.Split(need, "|"), func(n string) bool { return strings.Contains(result, n) || strings.Contains(result, jsonText(n)) }) {
			return fmt.Sprintf("%q is not named: %s", need, result)
		}
	}
	return ""
}

// willing allows every request.
type willing struct{ guest }

func (*willing) AskPermission(context.Context, tools.ApprovalRequest) (tools.Decision, error) {
	return tools.DecisionOnce, nil
}

// resultsIn runs a turn in a session with all features whose user allows all, and returns the results of its calls.
func resultsIn(t *testing.T, root string, m *fakemodel.Model) (results []string, err error) {
	t.Helper()
	home := t.TempDir()
	skill := filepath.Join(home, "skills", "release", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(skill), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(skill, []byte("---\nname: release\ndescription: Make a release\n---\nTag the commit.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := app.New(server.Options{Home: home, Environ: []string{"PATH=" + os.Getenv("PATH")}, Model: m, Static: true})
	defer func() { _ = s.Close() }()
	x, err := s.NewSession(t.Context(), server.Place{Cwd: root}, &willing{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(t.Context(), agent.Input{Text: "go"}, nil); err != nil {
		return nil, err
	}
	requests := m.Requests()
	for _, message := range requests[len(requests)-1].Messages {
		if message.Role == model.ToolRole {
			results = append(results, message.Text())
		}
	}
	return results, nil
}

// with returns a mutant of c with other arguments.
func (c rightCall) with(kind string, args any, needs ...string) mutant {
	return mutant{right: c, kind: kind, tool: c.tool, args: jsonOf(args), needs: needs}
}

// set returns the arguments with another value. If value is nil, it leaves the parameter out.
func (c rightCall) set(name string, value any) map[string]any {
	args := maps.Clone(c.args)
	args[name] = value
	if value == nil {
		delete(args, name)
	}
	return args
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// formsOf returns the forms in which other programs write a name.
func formsOf(name string) []string {
	words := strings.Split(name, "_")
	title := func(w string) string { return strings.ToUpper(w[:1]) + w[1:] }
	pascal := ""
	for _, w := range words {
		pascal += title(w)
	}
	all := []string{
		strings.ToUpper(name), title(name), pascal, strings.ToLower(pascal[:1]) + pascal[1:],
		strings.Join(words, "-"), strings.Join(words, ""), strings.Join(words, " "), " " + name, name + " ",
	}
	if len(name) > 5 {
		all = append(all, name[:3]+name[4:], name[:2]+name[3:4]+name[2:3]+name[4:], name+name[len(name)-1:])
	}
	return slices.DeleteFunc(all, func(n string) bool { return n == name })
}

// othersOf returns other agents' names for ours. For a tool's name, kind is "tool"; for a
// parameter, kind is the tool's name.
func othersOf(kind, name string) (all []string) {
	for line := range strings.Lines(otherNames) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		if len(columns) == 3 && columns[1] == name && slices.Contains(strings.Split(columns[0], " "), kind) {
			all = append(all, strings.Split(columns[2], ", ")...)
		}
	}
	return all
}

// toolNames writes the tool's name as other models do.
func toolNames(c rightCall, _ map[string]any) (all []mutant) {
	names := append(formsOf(c.tool), othersOf("tool", c.tool)...)
	for _, form := range []string{"functions.%s", "default_api.%s", "tools.%s", "%s()", "%s_tool", "tool_%s", "%s<|channel|>commentary", "mcp__hermes__%s", "hermes:%s", "`%s`", "functions.%s:0"} {
		names = append(names, fmt.Sprintf(form, c.tool))
	}
	for _, name := range names {
		m := c.with("name of the tool", c.args, c.tool)
		m.tool = name
		all = append(all, m)
	}
	return all
}

// parameterNames writes the name of each parameter otherwise.
func parameterNames(c rightCall, _ map[string]any) (all []mutant) {
	for name, value := range c.args {
		for _, other := range append(formsOf(name), othersOf(c.tool, name)...) {
			args := c.set(name, nil)
			if _, taken := args[other]; taken {
				continue
			}
			args[other] = value
			all = append(all, c.with("name of a parameter", args, name))
		}
	}
	return all
}

// typeWords are the words for a type in errors.
var typeWords = map[string]string{
	"string": "string|text", "integer": "integer|number", "number": "number", "boolean": "boolean|true or false|true",
	"array": "array|list", "object": "object",
}

// valueTypes gives each parameter a value of another type.
func valueTypes(c rightCall, schema map[string]any) (all []mutant) {
	properties, _ := schema["properties"].(map[string]any)
	for name, value := range c.args {
		var others []any
		switch v := value.(type) {
		case string:
			others = []any{[]any{v}, map[string]any{"text": v}, map[string]any{"value": v}, jsonOf(v), []any{v, v}}
			if name == "content" || name == "code" || name == "old_string" || name == "new_string" || name == "patch" {
				lines := []any{}
				for line := range strings.SplitSeq(v, "\n") {
					lines = append(lines, line)
				}
				others = append(others, lines)
				others = slices.DeleteFunc(others, func(o any) bool { return o == jsonOf(v) }) // it could be meant
			}
			if name == "command" {
				others = append(others, []any{"bash", "-lc", v}, strings.Fields(v), "```bash\n"+v+"\n```", "$ "+v)
			}
		case float64:
			others = []any{fmt.Sprint(v), fmt.Sprintf("%.1f", v), fmt.Sprint(v) + " ", []any{v}, map[string]any{"value": v}, fmt.Sprintf("%v lines", v), v + 0.5}
		case bool:
			others = []any{fmt.Sprint(v), strings.ToUpper(fmt.Sprint(v)), map[bool]int{true: 1, false: 0}[v], map[bool]string{true: "yes", false: "no"}[v], []any{v}}
		case []any:
			others = []any{jsonOf(v), map[string]any{"items": v}, map[string]any{name: v}, []any{v}, jsonOf(jsonOf(v)), "```json\n" + jsonOf(v) + "\n```"}
			if len(v) == 1 {
				others = append(others, v[0], jsonOf(v[0]))
			}
			indexed := map[string]any{}
			for i, item := range v {
				indexed[fmt.Sprint(i)] = item
			}
			others = append(others, indexed)
		}
		property, _ := properties[name].(map[string]any)
		kind, _ := property["type"].(string)
		need := typeWords[kind]
		if property["enum"] != nil {
			need += "|" + value.(string)
		}
		for _, other := range others {
			all = append(all, c.with("type of a value", c.set(name, other), name, need))
		}
	}
	return all
}

// enumValues writes the value of an enumeration otherwise, also within items.
func enumValues(c rightCall, schema map[string]any) (all []mutant) {
	properties, _ := schema["properties"].(map[string]any)
	for name, value := range c.args {
		property, _ := properties[name].(map[string]any)
		if v, ok := value.(string); ok && property["enum"] != nil {
			for _, other := range append(formsOf(v), othersOf(c.tool, name+"="+v)...) {
				all = append(all, c.with("value of an enumeration", c.set(name, other), name, v))
			}
		}
		items, ok := value.([]any)
		if !ok {
			continue
		}
		first, ok := items[0].(map[string]any)
		if !ok {
			continue
		}
		for key, value := range first {
			change := func(kind string, item map[string]any, needs ...string) {
				all = append(all, c.with(kind, c.set(name, append([]any{item}, items[1:]...)), needs...))
			}
			for _, other := range append(formsOf(key), othersOf(c.tool+"."+name, key)...) {
				item := maps.Clone(first)
				delete(item, key)
				item[other] = value
				change("name of a field", item, key)
			}
			if key != "status" && key != "action" {
				continue
			}
			for _, other := range append(formsOf(value.(string)), othersOf(c.tool, key+"="+value.(string))...) {
				item := maps.Clone(first)
				item[key] = other
				change("value of an enumeration", item, key, value.(string))
			}
		}
	}
	return all
}

// pathForms writes paths as editors, compilers and other agents do.
func pathForms(c rightCall, _ map[string]any) (all []mutant) {
	for _, name := range []string{"path", "workdir"} {
		path, ok := c.args[name].(string)
		if !ok {
			continue
		}
		forms := []string{
			"file://ROOT/" + path, "file:///" + path, "./" + path, "ROOT/" + path, "/" + path, "ROOT//" + path, "@" + path,
			`"` + path + `"`, "`" + path + "`", " " + path, path + "\n", "util/../" + path, "file:" + path, "<" + path + ">", "'" + path + "'",
			strings.ReplaceAll(path, "/", `\`), `.\` + strings.ReplaceAll(path, "/", `\`), "/workspace/" + path, "a/" + path, "src/" + path,
			"vscode-remote://ssh-remote+host/ROOT/" + path, "${workspaceFolder}/" + path, "$PWD/" + path, "~/" + path, "/repo/" + path,
		}
		if strings.Contains(path, ".") && c.tool != "write_file" {
			base := path[strings.LastIndex(path, "/")+1:]
			forms = append(forms, path+":3", path+":3:1", path+":1-4", path+"#L3", path+"#L1-L4", "file://ROOT/"+path+"#L3", path+"(3,1)",
				base, strings.ToUpper(path), strings.TrimSuffix(path, filepath.Ext(path)), "lib/"+base, path+"?", path+",", "["+base+"]("+path+")", path+" (line 3)")
		}
		for _, form := range forms {
			creates := c.tool == "write_file" && (form == "src/"+path || form == "a/"+path) // a new folder may be meant
			if form != path && !creates {
				all = append(all, c.with("form of a path", c.set(name, form), path))
			}
		}
	}
	return all
}

// structures writes the object of the arguments otherwise.
func structures(c rightCall, schema map[string]any) (all []mutant) {
	required, _ := schema["required"].([]any)
	var needs []string
	for _, name := range required {
		needs = append(needs, name.(string)+"|JSON|cut off")
	}
	if len(needs) == 0 {
		needs = []string{"JSON|cut off"}
	}
	add := func(kind string, args any) { all = append(all, c.with(kind, args, needs...)) }
	for _, name := range []string{"arguments", "args", "input", "parameters", "params", "kwargs", "tool_input", "properties", c.tool} {
		add("nested arguments", map[string]any{name: c.args})
	}
	for _, name := range []string{"arguments", "input", "params"} {
		add("nested arguments in a string", map[string]any{name: jsonOf(c.args)})
	}
	add("wrapped call", map[string]any{"name": c.tool, "arguments": c.args})
	add("wrapped call", map[string]any{"tool": c.tool, "input": c.args})
	add("wrapped call", map[string]any{"type": "function", "function": map[string]any{"name": c.tool, "arguments": jsonOf(c.args)}})
	add("list", []any{c.args})
	add("string", jsonOf(c.args))
	add("string", jsonOf(jsonOf(c.args)))
	text := jsonOf(c.args)
	python := strings.NewReplacer("true", "True", "false", "False").Replace(text)
	end := strings.TrimSuffix(text, "}")
	for kind, form := range map[string]string{
		"code block": "```json\n" + text + "\n```", "comma at the end": end + ",}", "no end": end, "two ends": text + "}",
		"Python": python, "text before": "Here are the arguments: " + text, "comment": end + " // done\n}", "end of a template": text + "</tool_call>",
		"white space": "\n\t " + text + " \n", "null byte": text + "\x00", "twice": text + text, "marker of a byte order": "\ufeff" + text,
		"line breaks in strings": strings.ReplaceAll(text, `\n`, "\n"), "equals sign": strings.Replace(text, `":`, `"=`, 1),
	} {
		m := c.with(kind, nil, needs...)
		m.args = form
		all = append(all, m)
	}
	if !strings.Contains(text, `'`) && !strings.Contains(text, `\"`) {
		m := c.with("single quotes", nil, needs...)
		m.args = strings.ReplaceAll(text, `"`, `'`)
		all = append(all, m)
	}
	if len(c.args) == 1 && len(required) == 1 {
		add("only the value", c.args[required[0].(string)])
		add("list of the value", []any{c.args[required[0].(string)]})
	}
	return all
}

// omissions leave a required parameter out, or leave it empty.
func omissions(c rightCall, schema map[string]any) (all []mutant) {
	required, _ := schema["required"].([]any)
	for _, name := range required {
		all = append(all, c.with("missing parameter", c.set(name.(string), nil), name.(string)))
		args := c.set(name.(string), nil)
		args[name.(string)] = nil
		all = append(all, c.with("null", args, name.(string)))
	}
	return all
}

// additions adds unknown parameters, and empty values for missing parameters.
func additions(c rightCall, schema map[string]any) (all []mutant) {
	for _, name := range []string{"explanation", "description", "reasoning", "thought", "security_risk", "task_progress", "requires_approval", "encoding", "_meta", "toolSummary", "display_description", "justification", ""} {
		all = append(all, c.with("unknown parameter", c.set(name, "low"), name))
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		if _, given := c.args[name]; given {
			continue
		}
		args := maps.Clone(c.args)
		args[name] = nil
		all = append(all, c.with("null for a parameter that is not needed", args, name))
		if kind := property.(map[string]any)["type"]; kind == "array" {
			all = append(all, c.with("empty list for a parameter that is not needed", c.set(name, []any{}), name))
		} else {
			all = append(all, c.with("empty text for a parameter that is not needed", c.set(name, ""), name), c.with("null in a text", c.set(name, "null"), name+"|null"))
		}
	}
	return all
}
