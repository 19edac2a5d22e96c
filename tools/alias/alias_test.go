package alias

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestTool(t *testing.T) {
	t.Parallel()
	all := func(tool string) bool {
		return slices.Contains([]string{"terminal", "process", "read_file", "write_file", "patch", "search_files", "todo"}, tool)
	}
	for name, want := range map[string]string{
		"Bash": "terminal", "bash": "terminal", "functions.shell": "terminal", "Read": "read_file", "ls": "read_file",
		"readFile": "read_file", "Read-File": "read_file", "default_api:read_file": "read_file", "Write": "write_file",
		"apply_patch": "patch", "str_replace": "patch", "str_replace_editor": "patch", "Edit": "patch", "MultiEdit": "patch",
		"grep": "search_files", "Grep": "search_files", "glob": "search_files", "Glob": "search_files",
		"TodoWrite": "todo", "update_plan": "todo", "nothing": "", "": "", ".": "",
	} {
		if got, advice := Tool(name, all); got != want || got == "" && advice != "" {
			t.Errorf("%s is %q, %q; want %q", name, got, advice, want)
		}
	}
	for name, want := range map[string]string{"WebSearch": "No search engine", "AskUserQuestion": "no user", "delete_file": "*** Delete File: path."} {
		if got, advice := Tool(name, all); got != "" || !strings.Contains(advice, want) {
			t.Errorf("%s: %q, %q", name, got, advice)
		}
	}
}

// A parameter known to the tool keeps its name. If two parameters differ, both keep their names.
func TestRename(t *testing.T) {
	t.Parallel()
	known := func(_, param string) bool {
		return param == "path" || param == "offset" || param == "limit" || param == "line"
	}
	for args, want := range map[string]string{
		`{"file_path":"a"}`:              `{"path":"a"}`,
		`{"path":"a","file_path":"a"}`:   `{"path":"a"}`,
		`{"path":"a","file_path":"b"}`:   `{"file_path":"b","path":"a"}`,
		`{"path":"a","line":3}`:          `{"line":3,"path":"a"}`,
		`{"path":"a","description":"x"}`: `{"path":"a"}`,
		`{"path":"a","colour":"x"}`:      `{"colour":"x","path":"a"}`,
	} {
		c := Call{Tool: "read_file", Via: "read_file"}
		if err := json.Unmarshal([]byte(args), &c.Args); err != nil {
			t.Fatal(err)
		}
		c.Translate(known, func(_, _, _ string) bool { return true })
		if got, _ := json.Marshal(c.Args); string(got) != want {
			t.Errorf("%s became %s, want %s", args, got, want)
		}
	}
}
