package file

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools/toolstest"
)

func TestSearchFiles(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"main.go":         "package main\n\nfunc main() {\n\tprint(\"hi\")\n}\n",
		"sub/util.go":     "package sub\n\nfunc Util() {}\n",
		"sub/util.py":     "def main(): pass\n",
		".gitignore":      "ignored.go\n",
		"ignored.go":      "func ignored() {}\n",
		".hidden.go":      "func hidden() {}\n",
		"long.txt":        strings.Repeat("é", 1000) + "needle" + strings.Repeat("y", 1000) + "\n",
		"b\x1b]52;c\x07w": "odd name\n",

		"app/[id]/page.tsx": "page\n",
		"app/{a}/page.tsx":  "page\n",
		"app/list[x.tsx":    "list\n",
	}
	for i := range 120 {
		files[fmt.Sprintf("many/%03d.txt", i)] = "hit\n"
	}
	p := newPlace(t, files)
	// git's ignore rules apply only in a repository; a .git folder makes it a repository.
	for _, c := range []struct{ args, want string }{
		{`{"pattern":"func \\w+\\(","path":"sub"}`, `{"matches":[{"path":"sub/util.go","line":3,"content":"func Util() {}"}],"total_count":1,"truncated":false}`},
		{`{"pattern":"main","file_glob":"*.go"}`, `{"matches":[{"path":"main.go","line":1,"content":"package main"},{"path":"main.go","line":3,"content":"func main() {"}],"total_count":2,"truncated":false}`},
		{`{"pattern":"print","context":"1"}`, `{"matches":[{"path":"main.go","line":4,"content":"\tprint(\"hi\")","before":["func main() {"],"after":["}"]}],"total_count":1,"truncated":false}`},
		{`{"pattern":"main","output_mode":"files_only"}`, `{"files":["main.go","sub/util.py"],"total_count":2,"truncated":false}`},
		{`{"pattern":"main","output_mode":"count"}`, `{"counts":{"main.go":2,"sub/util.py":1},"total_count":3,"truncated":false}`},
		{`{"pattern":"util.*","target":"files"}`, `{"files":["sub/util.go","sub/util.py"],"total_count":2,"truncated":false}`},
		{`{"pattern":"odd name"}`, `{"matches":[{"path":"b\\x1b]52;c\\x07w","line":1,"content":"odd name"}],"total_count":1,"truncated":false}`},
		{`{"pattern":"hit","limit":2,"offset":117}`, `{"matches":[{"path":"many/117.txt","line":1,"content":"hit"},{"path":"many/118.txt","line":1,"content":"hit"}],"total_count":120,"truncated":true,"next_offset":119}`},
		{`{"pattern":"hit","limit":2,"offset":200}`, `{"matches":[],"total_count":120,"truncated":false,"note":"there are only 120 results; offset 200 is past them"}`},
		{`{"pattern":"nowhere"}`, `{"matches":[],"total_count":0,"truncated":false,"note":"nothing found; ignored (.gitignore), hidden and binary files are not searched"}`},
		{`{"pattern":"nowhere","output_mode":"count"}`, `{"counts":{},"total_count":0,"truncated":false,"note":"nothing found; ignored (.gitignore), hidden and binary files are not searched"}`},
		{`{"pattern":"print\\(\\)"}`, `{"matches":[],"total_count":0,"truncated":false,"note":"nothing found; ignored (.gitignore), hidden and binary files are not searched; the pattern is a regular expression: put \\ before characters such as ( [ . * to find them as they are"}`},
		{`{"pattern":"app/[id]/page.tsx","target":"files"}`, `{"files":["app/[id]/page.tsx"],"total_count":1,"truncated":false,"note":"no name matches the pattern as a glob; its brackets were looked for as they are"}`},
		{`{"pattern":"app/[id]/*.tsx","target":"files","limit":1}`, `{"files":["app/[id]/page.tsx"],"total_count":1,"truncated":false,"note":"no name matches the pattern as a glob; its brackets were looked for as they are"}`},
		{`{"pattern":"**/{a}/*","target":"files","path":"app"}`, `{"files":["app/{a}/page.tsx"],"total_count":1,"truncated":false,"note":"no name matches the pattern as a glob; its brackets were looked for as they are"}`},
		{`{"pattern":"list[x.tsx","target":"files"}`, `{"files":["app/list[x.tsx"],"total_count":1,"truncated":false,"note":"no name matches the pattern as a glob; its brackets were looked for as they are"}`},
		{`{"pattern":"util.[gp][oy]","target":"files"}`, `{"files":["sub/util.go","sub/util.py"],"total_count":2,"truncated":false}`},
		{`{"pattern":"[xyz].rs","target":"files"}`, `{"files":[],"total_count":0,"truncated":false,"note":"nothing found; ignored (.gitignore), hidden and binary files are not searched"}`},
		{`{"pattern":"Util("}`, `{"matches":[{"path":"sub/util.go","line":3,"content":"func Util() {}"}],"total_count":1,"truncated":false,"note":"the pattern is not a valid regular expression, so it was searched as it is"}`},
		{`{"target":"files","path":"sub"}`, `{"files":["sub/util.go","sub/util.py"],"total_count":2,"truncated":false,"note":"no pattern was given, so all files are listed, at most 50 in a result"}`},
		{`{"pattern":null,"target":"files","path":"many","limit":1}`, `{"files":["many/000.txt"],"total_count":120,"truncated":true,"next_offset":1,"note":"no pattern was given, so all files are listed, at most 1 in a result"}`},
		{`{"pattern":"","target":"files","path":"sub"}`, `{"files":["sub/util.go","sub/util.py"],"total_count":2,"truncated":false,"note":"no pattern was given, so all files are listed, at most 50 in a result"}`},
		{`{"pattern":"*.rs"}`, `{"files":[],"total_count":0,"truncated":false,"note":"the pattern *.rs is a glob, so names were searched, as with target=files; nothing found; ignored (.gitignore), hidden and binary files are not searched"}`},
		{`{"pattern":"*.rs","target":"files"}`, `{"files":[],"total_count":0,"truncated":false,"note":"nothing found; ignored (.gitignore), hidden and binary files are not searched"}`},
	} {
		if got := p.call(t, "search_files", c.args); string(got.JSON) != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.args, got.JSON, c.want)
		}
	}

	out := as[searchOut](t, p.call(t, "search_files", `{"pattern":"hit"}`))
	if len(*out.Matches) != searchLimit || out.TotalCount != 120 || !out.Truncated || out.NextOffset != searchLimit {
		t.Errorf("the first page: %d of %d, %t, %d", len(*out.Matches), out.TotalCount, out.Truncated, out.NextOffset)
	}
	out = as[searchOut](t, p.call(t, "search_files", `{"pattern":"needle"}`))
	line := (*out.Matches)[0].Content
	if n := len([]rune(line)); n != searchLineChars+2 || !strings.Contains(line, "needle") || !strings.HasPrefix(line, "…") || !strings.HasSuffix(line, "…") {
		t.Errorf("a long line is shown as %d characters: %s", n, line)
	}
	for args, want := range map[string]string{
		`{"pattern":"a(?!b)"}`:                "has look-around",
		`{"pattern":"(a)(?=b)\\1"}`:           "has look-around",
		`{"pattern":"(a)\\1("}`:               "backreference",
		`{"pattern":""}`:                      "pattern is empty",
		`{"pattern":"x","path":"nope"}`:       "nope",
		`{"pattern":"x","path":"../"}`:        "outside",
		`{"pattern":"x","target":"names"}`:    `"target" must be one of "content" or "files"`,
		`{"pattern":"x","output_mode":"all"}`: `must be one of "content", "files_only" or "count"`,
	} {
		if got := failureOf(t, p.call(t, "search_files", args)); !strings.Contains(got, want) {
			t.Errorf("%s\nsaid %s\nwant %s", args, got, want)
		}
	}
}

func TestWordsForTheModel(t *testing.T) {
	t.Parallel()
	s := toolstest.Set(t, builtin()...)
	size := 0
	for _, spec := range s.Specs(t.Context()) {
		size += len(spec.Name) + len(spec.Description) + len(spec.Schema)
		t.Logf("%-14s %4d + %4d bytes", spec.Name, len(spec.Description), len(spec.Schema))
		if !json.Valid(spec.Schema) || strings.Contains(spec.Description, "{{") || spec.Description == "" {
			t.Errorf("%s: %s %s", spec.Name, spec.Description, spec.Schema)
		}
	}
	if size > 7<<10 {
		t.Errorf("the specs take %d bytes", size)
	}
}

func TestWordsNameOnlyWhatIsOffered(t *testing.T) {
	t.Parallel()
	all := toolstest.Set(t, builtin()...)
	others := []string{"read_file", "write_file", "search_files", "execute_code", "delegate_task", "web_search", "web_extract", "patch", "terminal", "todo"}
	for _, alone := range builtin() {
		s := toolstest.Set(t, alone)
		spec := s.Specs(t.Context())[0]
		for _, name := range others {
			if name != spec.Name && strings.Contains(spec.Description+string(spec.Schema), name) {
				t.Errorf("%s, offered alone, speaks of %s: %s", spec.Name, name, spec.Description)
			}
		}
	}
	for _, spec := range all.Specs(t.Context()) {
		for _, name := range []string{"execute_code", "delegate_task", "web_"} {
			if strings.Contains(spec.Description+string(spec.Schema), name) {
				t.Errorf("%s speaks of %s", spec.Name, name)
			}
		}
	}
}

func TestTitles(t *testing.T) {
	t.Parallel()
	s := toolstest.Set(t, builtin()...)
	for call, want := range map[string]string{
		`read_file {"path":"main.go"}`:                                "Read main.go",
		`read_file {"path":"main.go","offset":40}`:                    "Read main.go from line 40",
		`write_file {"path":"x.go","content":"a"}`:                    "Write x.go",
		`patch {"path":"x.go","old_string":"a","new_string":"b"}`:     "Edit x.go",
		`search_files {"pattern":"foo"}`:                              "Search “foo”",
		`search_files {"target":"files","pattern":"","path":"a"}`:     "List files “**” in a",
		`search_files {"pattern":"*.go","target":"files","path":"a"}`: "Find files “*.go” in a",
		`terminal {"command":"go test\n./..."}`:                       "$ go test ./...",
		`read_file {"path":"a\u001b[31m\nb"}`:                         `Read a\x1b[31m b`,
		`read_file {"path":"` + strings.Repeat("x", 500) + `"}`:       "Read " + strings.Repeat("x", 114) + "…",
		`read_file {"path":`:                                          "",
	} {
		name, args, _ := strings.Cut(call, " ")
		tool, ok := s.Get(name)
		if !ok || tool.Title == nil {
			t.Fatalf("%s has no title", name)
		}
		if got := tool.Title(json.RawMessage(args)); got != want {
			t.Errorf("%s: %q; want %q", call, got, want)
		}
	}
}
