package app_test

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

//go:embed testdata/wrong_calls.tsv
var wrongCalls string

//go:embed testdata/wrong_calls_next.tsv
var nextCalls string

const (
	leastCalls = 230
	leastClean = 0.97
	mostWords  = 60 // of an error, without the file lines it shows
)

// wrongCall is a row of testdata/wrong_calls.tsv.
type wrongCall struct{ from, tool, args, outcome, text string }

func wrongCallsOf(t *testing.T) (all []wrongCall) {
	t.Helper()
	for _, c := range rowsOf(t, wrongCalls) {
		all = append(all, wrongCall{c[0], c[1], c[2], c[3], c[4]})
	}
	return all
}

// rowsOf reads a table with five columns.
func rowsOf(t *testing.T, table string) [][]string {
	t.Helper()
	return tableOf(t, table, 5)
}

// tableOf reads a table with n columns.
func tableOf(t *testing.T, table string, n int) (rows [][]string) {
	t.Helper()
	for line := range strings.Lines(table) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		columns := strings.Split(line, "\t")
		if len(columns) != n {
			t.Fatalf("%d columns: %s", len(columns), line)
		}
		rows = append(rows, columns)
	}
	return rows
}

// demoFiles is the workspace in which each call is made.
var demoFiles = map[string]string{
	"main.go":           "package main\n\nimport \"fmt\"\n\nfunc main() {\n\tfmt.Println(greet(\"world\"))\n}\n\n// greet returns a greeting.\nfunc greet(name string) string {\n\treturn \"Hello, \" + name\n}\n",
	"util/text.py":      "def count(words):\n    return len(words)\n\n\ndef shout(text):\n    return text.upper() + \"!\"\n",
	"README.md":         "# Demo\n\nTODO: write docs\n",
	"app/[id]/page.tsx": "export default function Page() { return null }\n",
	"n.ipynb":           `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[{"cell_type":"code","id":"1","metadata":{},"execution_count":1,"outputs":[],"source":"x = 1"}]}`,
	"dot.gif":           "GIF89a\x01\x00\x01\x00\x00\x00\x00;",
}

// TestWrongCalls makes each call of the corpus in a session with all features. A call is clean if
// the named tool runs and does as intended. It is also clean if a short error names the right call
// and nothing was changed.
func TestWrongCalls(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	corpus := wrongCallsOf(t)
	if len(corpus) < leastCalls {
		t.Fatalf("%d calls", len(corpus))
	}
	clean := 0
	var failures []string
	for _, c := range corpus {
		if why := c.run(t); why != "" {
			failures = append(failures, fmt.Sprintf("%s %s %s: %s", c.from, c.tool, c.args, why))
			continue
		}
		clean++
	}
	share := float64(clean) / float64(len(corpus))
	t.Logf("%d of %d calls are clean (%.1f %%)", clean, len(corpus), 100*share)
	for _, f := range failures {
		t.Log(f)
	}
	if share < leastClean {
		t.Errorf("%.1f %% of the calls are clean, want %.0f %%", 100*share, 100*leastClean)
	}
}

// TestNextCalls makes wrong calls, and the next calls that their answers suggest. The answer of a
// wrong call must contain everything new in the next call.
func TestNextCalls(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	rows := rowsOf(t, nextCalls)
	var failures []string
	for _, c := range rows {
		if why := nextCall(t, c[0], c[1], c[2], c[3], c[4]); why != "" {
			failures = append(failures, fmt.Sprintf("%s %s: %s", c[0], c[1], why))
		}
	}
	share := 1 - float64(len(failures))/float64(len(rows))
	t.Logf("after %.1f %% of %d calls, the next one succeeds", 100*share, len(rows))
	for _, f := range failures {
		t.Log(f)
	}
	if share < leastClean {
		t.Errorf("after %.1f %% of the calls, the next one succeeds, want %.0f %%", 100*share, 100*leastClean)
	}
}

// nextCall makes a wrong call. If it does not do as intended, nextCall makes the next call. If the
// answer did not lead to the next call, or if that fails, nextCall returns the reason.
func nextCall(t *testing.T, tool, args, next, nextArgs, text string) (why string) {
	t.Helper()
	root := demoFolder(t)
	call := func(id, name, args string) func(*fakemodel.Exchange) {
		return func(x *fakemodel.Exchange) { x.Call(id, name, args); x.End() }
	}
	replies := []func(*fakemodel.Exchange){call("1", tool, args)}
	if tool == "delegate_task" && next == tool {
		replies = append(replies, says("It is in main.go."))
	}
	replies = append(replies, call("2", next, nextArgs), says("Done"), says("Done"))
	results, err := resultsOf(t, root, fakemodel.Script(replies...))
	if err != nil {
		return "the turn failed: " + err.Error()
	}
	first := results[0]
	if done(root, first, text) {
		return ""
	}
	if next != tool && !strings.Contains(first, next) {
		return fmt.Sprintf("the answer does not name %s: %s", next, first)
	}
	var had, has map[string]any
	_ = json.Unmarshal([]byte(args), &had) // a call that is no object has no parameters
	if err := json.Unmarshal([]byte(nextArgs), &has); err != nil {
		t.Fatal(err)
	}
	for name := range has {
		if _, ok := had[name]; !ok && next == tool && !strings.Contains(first, name) && !strings.Contains(first, "cut off") {
			return fmt.Sprintf("the answer does not name %s: %s", name, first)
		}
	}
	if len(results) < 2 || !done(root, results[1], text) {
		return fmt.Sprintf("the next call fails after %s: %v", first, results[1:])
	}
	return ""
}

// done reports whether a call did as intended.
func done(root, result, text string) bool {
	var r struct{ Error, Status string }
	if json.Unmarshal([]byte(result), &r) != nil || r.Error != "" || r.Status == "error" {
		return false
	}
	if name, want, inFile := strings.Cut(strings.TrimPrefix(text, "@"), " "); inFile && strings.HasPrefix(text, "@") {
		data, err := os.ReadFile(filepath.Join(root, name))
		return err == nil && strings.Contains(string(data), want)
	}
	return strings.Contains(result, text) || strings.Contains(result, jsonText(text))
}

// demoFolder returns a folder with [demoFiles].
func demoFolder(t *testing.T) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range demoFiles {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// resultsOf runs a turn in a session with all features, and returns the results of its calls.
func resultsOf(t *testing.T, root string, m *fakemodel.Model) (results []string, err error) {
	t.Helper()
	s := app.New(server.Options{Home: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH")}, Model: m, Static: true})
	defer func() { _ = s.Close() }()
	x, err := s.NewSession(t.Context(), server.Place{Cwd: root}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(context.Background(), agent.Input{Text: "go"}, nil); err != nil {
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

// run makes a call. If it is not clean, run returns the reason.
func (c wrongCall) run(t *testing.T) (why string) {
	t.Helper()
	root := demoFolder(t)
	args := strings.ReplaceAll(c.args, "ROOT", filepath.ToSlash(root))
	if strings.HasPrefix(args, "***") {
		args = strings.ReplaceAll(args, `\n`, "\n") // a text that is not JSON
	}
	replies := []func(*fakemodel.Exchange){func(x *fakemodel.Exchange) { x.Call("1", c.tool, args); x.End() }}
	if c.outcome == "delegate_task" {
		replies = append(replies, says("It is in main.go."))
	}
	m := fakemodel.Script(append(replies, says("Done"))...)
	s := app.New(server.Options{Home: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH")}, Model: m, Static: true})
	defer func() { _ = s.Close() }()
	x, err := s.NewSession(t.Context(), server.Place{Cwd: root}, &guest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.Prompt(context.Background(), agent.Input{Text: "go"}, nil); err != nil {
		return "the turn failed: " + err.Error()
	}
	requests := m.Requests()
	messages := requests[len(requests)-1].Messages
	result := messages[len(messages)-1].Text()
	ran := messages[len(messages)-2].Calls()[0].Name
	return c.judge(root, ran, result)
}

// judge returns why a call is not clean, or "".
func (c wrongCall) judge(root, ran, result string) string {
	var r struct {
		Error  string
		Status string
		Errors string
		Note   string
	}
	if err := json.Unmarshal([]byte(result), &r); err != nil {
		return "no JSON object: " + result
	}
	failed := r.Error != "" || r.Status == "error"
	if c.outcome == "error" {
		switch changed := changedIn(root); {
		case !failed:
			return "it ran: " + result
		case changed != "":
			return changed + " was changed"
		case !strings.Contains(result, jsonText(c.text)):
			return fmt.Sprintf("want %q in %s", c.text, result)
		case strings.Contains(r.Error, "[…]"):
			return "the error is cut: " + r.Error
		case wordsOf(r.Error) > mostWords:
			return fmt.Sprintf("%d words: %s", wordsOf(r.Error), r.Error)
		}
		return ""
	}
	if failed {
		return "an error: " + result
	}
	if ran != c.outcome {
		return "ran as " + ran
	}
	name, text, ok := strings.Cut(strings.TrimPrefix(c.text, "@"), " ")
	if !strings.HasPrefix(c.text, "@") {
		if !strings.Contains(result, c.text) && !strings.Contains(result, jsonText(c.text)) {
			return fmt.Sprintf("want %q in %s", c.text, result)
		}
		return ""
	}
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil || !ok || !strings.Contains(string(data), text) {
		return fmt.Sprintf("want %q in %s: %q, %v; %s", text, name, data, err, result)
	}
	return ""
}

// jsonText returns text as it is within a JSON string.
func jsonText(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return text
	}
	return strings.Trim(string(data), `"`)
}

// wordsOf counts the words of an error. It skips the lines between the first and the last: they
// belong to a file.
func wordsOf(text string) int {
	lines := strings.Split(text, "\n")
	n := len(strings.Fields(lines[0]))
	if len(lines) > 1 {
		n += len(strings.Fields(lines[len(lines)-1]))
	}
	return n
}

// changedIn returns the name of a changed file of the workspace. If there is none, it returns "".
func changedIn(root string) (name string) {
	left := maps.Clone(demoFiles)
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if want, ok := left[path]; err == nil && (!ok || want != string(text)) {
			name = path
		}
		delete(left, path)
		return err
	})
	if err != nil {
		return err.Error()
	}
	for path := range left {
		return path
	}
	return name
}
