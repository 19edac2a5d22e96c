package delegate_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/delegate"
)

// TestAgents checks the instructions, tools and model of a kind of subagent.
func TestAgents(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string][][]step{
		"review it": {call("delegate_task", object{"goal": "Look at main.go", "agent": "Reviewer"}), say("Reviewed."),
			call("delegate_task", object{"goal": "Look at main.go", "agent": "nobody"}), say("None.")},
		"Look at": {say("It is good.")},
	}, func(b *bed) {
		b.agents = []delegate.Agent{
			{Name: "reviewer", Description: "Reviews code.", Instructions: "Be strict. Name lines.", Tools: []string{"Read", "Grep", "delegate_task", "web_search"}, Route: "careful"},
			{Name: "other", Description: strings.Repeat("long ", 300), Route: "nowhere"},
		}
	})
	b.prompt("review it")
	var child, parent []string
	var system string
	for id, requests := range b.model.requests {
		for _, r := range requests {
			var names []string
			for _, tool := range r.Tools {
				names = append(names, tool.Name)
				if tool.Name == "delegate_task" && (!strings.Contains(tool.Description, "- reviewer: Reviews code.") || len(tool.Description) > 2200 || !strings.Contains(string(tool.Schema), `"agent"`)) {
					t.Errorf("the tool is described as %q %s", tool.Description, tool.Schema)
				}
			}
			if id == b.id {
				parent = names
			} else {
				child, system = names, r.System
			}
		}
	}
	if slices.Sort(child); !slices.Equal(child, []string{"read_file", "search_files"}) || len(parent) < 5 {
		t.Errorf("the subagent has %q, the parent %q", child, parent)
	}
	if !strings.Contains(system, "# How you work\n\nBe strict. Name lines.\n\n# Your task\n\nLook at main.go") {
		t.Errorf("its prompt is\n%s", system)
	}
	started := of[agent.ChildStarted](b.sink)
	if len(started) != 1 || started[0].Model != "careful" {
		t.Errorf("%+v", started)
	}
	b.prompt("Now another one")
	if text := lastResult(b); !strings.Contains(text, `there is no agent \"nobody\"; there are reviewer, other`) {
		t.Error(text)
	}
}

// TestToolsOfAgents checks the tools of an agent for the names in its file.
func TestToolsOfAgents(t *testing.T) {
	t.Parallel()
	file := []string{"patch", "read_file", "search_files", "write_file"}
	for list, want := range map[string][]string{
		"read_file": {"read_file"}, "Read, Grep": {"read_file", "search_files"}, "Read, NoSuchTool": {"read_file"},
		"Read, Bash(git diff:*)": {"read_file", "terminal"}, "Read(src/**), Grep": {"read_file", "search_files"},
		"file": file, "file_tools": file, "File": file, "safe": {"read_file", "search_files"}, "coding": {"patch", "process", "read_file", "search_files", "terminal", "todo", "write_file"},
	} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, map[string][][]step{
				"start": {call("delegate_task", object{"goal": "Look at main.go", "agent": "one"}), say("Done.")}, "Look at": {say("It is good.")},
			}, func(b *bed) {
				b.agents = []delegate.Agent{{Name: "one", Description: "D.", Instructions: "I.", Tools: strings.Split(list, ", ")}}
			})
			b.prompt("start")
			var child []string
			for id, requests := range b.model.requests {
				for _, tool := range requests[0].Tools {
					if id != b.id {
						child = append(child, tool.Name)
					}
				}
			}
			slices.Sort(child)
			if !slices.Equal(child, want) {
				t.Errorf("the subagent has %q: %s", child, lastResult(b))
			}
		})
	}
}

// TestAllToolsOfAgents compares `tools: *` in the file of an agent with no list of tools. Both
// mean the same.
func TestAllToolsOfAgents(t *testing.T) {
	t.Parallel()
	count := func(list []string) (n int) {
		b := newBed(t, map[string][][]step{
			"start": {call("delegate_task", object{"goal": "Look at main.go", "agent": "one"}), say("Done.")}, "Look at": {say("It is good.")},
		}, func(b *bed) {
			b.agents = []delegate.Agent{{Name: "one", Description: "D.", Instructions: "I.", Tools: list}}
		})
		b.prompt("start")
		for id, requests := range b.model.requests {
			if id != b.id {
				n += len(requests[0].Tools)
			}
		}
		return n
	}
	if all, star := count(nil), count([]string{"*"}); all == 0 || star != all {
		t.Errorf("%d tools, and %d with *", all, star)
	}
}

// TestWithoutAgents checks a configuration without agents: the tool does not mention them.
func TestWithoutAgents(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	tool := b.children.Tool()
	if strings.Contains(string(tool.Schema), `"agent"`) || strings.Contains(tool.Description, "Agents") {
		t.Errorf("%s\n%s", tool.Description, tool.Schema)
	}
}

// lastResult is the last tool result in the requests of the parent's model.
func lastResult(b *bed) (text string) {
	requests := b.model.requests[b.id]
	for _, m := range requests[len(requests)-1].Messages {
		if m.Role == "tool" {
			text = m.Text()
		}
	}
	return text
}
