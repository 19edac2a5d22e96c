package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

func toolOf(group, name, description string) tools.Tool {
	return tools.Tool{
		Name: "mcp__" + group + "__" + name, Description: description, Schema: json.RawMessage(`{"type":"object","properties":{}}`),
		Group: &tools.Group{Name: group},
		Run:   func(context.Context, *tools.Env, tools.Call) (tools.Result, error) { return tools.OK("ok"), nil },
	}
}

// someTools returns n tools of several servers.
func someTools(n int) (all []tools.Tool) {
	verbs, things := strings.Fields("create list update delete search get watch merge close assign"), strings.Fields("issue page calendar mail branch pipeline invoice user file note ticket release")
	for i := range n {
		verb, thing := verbs[i%len(verbs)], things[i/len(verbs)%len(things)]
		all = append(all, toolOf(fmt.Sprintf("s%d", i/120), fmt.Sprintf("%s_%s_%d", verb, thing, i),
			fmt.Sprintf("This tool can %s one %s of the account, by its number or by its title. It returns the %s with all fields.", verb, thing, thing)))
	}
	return all
}

func TestFind(t *testing.T) {
	t.Parallel()
	x := newIndex(append(someTools(300), toolOf("git", "createPullRequest", "Opens a pull request."), toolOf("cal", "free_slots", "Finds times without meetings.")))
	for query, want := range map[string]string{
		"pull request": "mcp__git__createPullRequest", "pull requests": "mcp__git__createPullRequest", "meeting": "mcp__cal__free_slots",
		"free slot for a meeting": "mcp__cal__free_slots", "creating pulls": "mcp__git__createPullRequest", "meet": "mcp__cal__free_slots",
	} {
		if found := x.find(query); len(found) == 0 || found[0].Name != want {
			t.Errorf("%q finds %d tools, not %s", query, len(found), want)
		}
	}
	if found := x.find("zebra"); len(found) > 0 {
		t.Errorf("zebra finds %s", found[0].Name)
	}
}

func TestListing(t *testing.T) {
	t.Parallel()
	all := append(someTools(700), toolOf("git", "open", "Opens a pull request. And more."), toolOf("git", "close", "Closes it."))
	for _, limit := range []int{0, 50, 200, 1000, 4000, 20_000, 200_000} {
		text := list(all, limit)
		if len(text) > limit {
			t.Errorf("%d bytes within %d", len(text), limit)
		}
		want := "git: 2 tools (names start with mcp__git__)\n  open: Opens a pull request\n  close: Closes it."
		if limit >= 1000 && !strings.Contains(text, want) {
			t.Errorf("within %d, the small server is listed as\n%s", limit, text)
		}
	}
	if text := list(all, 1000); !strings.Contains(text, "s0: 120 tools\n") {
		t.Errorf("a large server has no line:\n%s", text)
	}
}

// The listing names built-in tools, and describes them as they are offered.
func TestListingOfBuiltInTools(t *testing.T) {
	t.Parallel()
	set := new(tools.Set)
	for _, name := range []string{"terminal", "read_file"} {
		err := set.Add(tools.Tool{
			Name: name, Description: "Not this.", Schema: json.RawMessage(`{"type":"object"}`), Deferred: true,
			Describe: func(all []tools.Tool) string { return fmt.Sprintf("One of %d.", len(all)) },
			Run:      func(context.Context, *tools.Env, tools.Call) (tools.Result, error) { return tools.OK("ok"), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if text := list(described(set), 1000); text != "hermes-ls: 2 tools\n  terminal: One of 2.\n  read_file: One of 2." {
		t.Errorf("the listing is\n%s", text)
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	small, large := someTools(6), someTools(100)[20:]
	for i := range large {
		large[i].Group = &tools.Group{Name: "large"}
	}
	names := deferred(append(small, large...), Config{Settings: Settings{DirectBytes: 6000}})
	if len(names) != len(large) || names[small[0].Name] {
		t.Errorf("%d tools are deferred", len(names))
	}
	for i := range large {
		large[i].Group.Defer = deferNever
	}
	if names = deferred(append(small, large...), Config{Settings: Settings{DirectBytes: 6000}}); len(names) != len(small) {
		t.Errorf("%d tools are deferred beside a server that never is", len(names))
	}
	for i := range small {
		small[i].Group.Defer = deferAlways
	}
	if names = deferred(small, Config{Settings: Settings{DirectBytes: 6000}}); len(names) != len(small) {
		t.Errorf("%d tools are deferred of a server that always is", len(names))
	}
	built := []tools.Tool{{Name: "one"}, {Name: "two"}}
	if names = deferred(built, Config{Deferred: []string{"two"}}); len(names) != 1 || !names["two"] {
		t.Errorf("of the built-in tools, %v are deferred", names)
	}
}

// A result is limited to 8,000 bytes, also if a single tool is larger.
func TestLargeTool(t *testing.T) {
	t.Parallel()
	large := toolOf("big", "one", strings.Repeat("Long. ", 600))
	properties := map[string]any{}
	for i := range 500 {
		properties[fmt.Sprintf("field_%d", i)] = map[string]any{"type": "string", "description": strings.Repeat("x", 100)}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	large.Schema = schema
	data, err := json.Marshal(within(append([]tools.Tool{large}, someTools(200)...), 50))
	if err != nil || len(data) > mostBytes || !strings.Contains(string(data), `"field_1`) {
		t.Errorf("%v: %d bytes: %.500s", err, len(data), data)
	}
}

func BenchmarkFind(b *testing.B) {
	x := newIndex(someTools(3300))
	for b.Loop() {
		x.find("create an issue in the calendar")
	}
}

func BenchmarkIndex(b *testing.B) {
	all := someTools(3300)
	for b.Loop() {
		newIndex(all)
	}
}
