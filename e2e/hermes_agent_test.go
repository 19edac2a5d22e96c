//go:build e2e

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hermesAgent is a process with modules of Hermes Agent on the home of a bed.
type hermesAgent struct {
	t      *testing.T
	python string
	in     *json.Encoder
	out    *bufio.Scanner
}

func newHermesAgent(t *testing.T, b bed) *hermesAgent {
	t.Helper()
	installed(t, "Hermes Agent", "hermes", "installed")
	python := installed(t, "Hermes Agent", "hermes", "bin", "python")
	cmd := exec.Command(python, filepath.Join(root(t), "e2e", "python", "hermes_agent.py"))
	cmd.Dir, cmd.Env, cmd.Stderr = b.workspace, append(b.environ(), "PYTHONDONTWRITEBYTECODE=1"), os.Stderr
	in, out := startPiped(t, cmd)
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	h := &hermesAgent{t: t, python: python, in: json.NewEncoder(in), out: bufio.NewScanner(out)}
	h.out.Buffer(nil, 1<<20)
	return h
}

// send sends a request to the process, and receive reads its answer.
func (h *hermesAgent) send(name string, args ...any) {
	h.t.Helper()
	if err := h.in.Encode([]any{name, append([]any{}, args...)}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *hermesAgent) receive(into any) {
	h.t.Helper()
	if !h.out.Scan() {
		h.t.Fatalf("Hermes Agent ended: %v", h.out.Err())
	}
	if err := json.Unmarshal(h.out.Bytes(), into); err != nil {
		h.t.Fatalf("%v: %s", err, h.out.Bytes())
	}
}

func (h *hermesAgent) do(into any, name string, args ...any) {
	h.t.Helper()
	h.send(name, args...)
	h.receive(into)
}

// hermes runs a subcommand in the workspace. It returns the output, and whether it succeeded.
func (b bed) hermes(t *testing.T, args ...string) (out string, ok bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), b.binary, args...)
	cmd.Dir, cmd.Env = b.workspace, b.environ()
	data, err := cmd.CombinedOutput()
	return string(data), err == nil
}

// openings returns a function that waits until a file is opened twice.
func openings(t *testing.T, file string) (wait func() error) {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err == nil {
		_, err = syscall.InotifyAddWatch(fd, file, syscall.IN_OPEN)
	}
	if err != nil {
		t.Fatal(err)
	}
	events := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { events.Close() })
	return func() error {
		_ = events.SetReadDeadline(time.Now().Add(screenLimit))
		_, err := io.ReadFull(events, make([]byte, 2*syscall.SizeofInotifyEvent)) // the events have no name
		return err
	}
}

// TestHermesAgentMemory shares MEMORY.md and USER.md with Hermes Agent: each program reads the
// other's output, and waits for the other's lock.
func TestHermesAgentMemory(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": ""})
	const settings = "{}\nmemory: {memory_char_limit: 20000}"
	u := newUserLine(t, b, settings)
	h := newHermesAgent(t, b)
	const first, second = "The tests need the port 8123.\nIt is free at night.", "Ada writes German: “Grüße”, and § in laws."
	said, _ := u.say("Remember: The tests need the port 8123. It is free at night. Ada writes German: “Grüße”, and § in laws.",
		sayCalls("tool_calls", "memory", toJSON(t, map[string]any{"action": "add", "content": first})),
		sayCalls("tool_calls", "memory", toJSON(t, map[string]any{"action": "add", "target": "user", "content": second})), sayText("Done."))
	if u.asked.Len() > 0 {
		t.Errorf("typed entries asked: %s", u.asked.String())
	}
	var entries []string
	if h.do(&entries, "entries", "memory"); !slices.Equal(entries, []string{first}) {
		t.Errorf("Hermes Agent reads %q from MEMORY.md: %s", entries, said)
	}
	if h.do(&entries, "entries", "user"); !slices.Equal(entries, []string{second}) {
		t.Errorf("Hermes Agent reads %q from USER.md", entries)
	}
	var prompt string
	if h.do(&prompt, "prompt"); !strings.Contains(prompt, first) {
		t.Errorf("the prompt of Hermes Agent: %s", prompt)
	}

	var done struct{ Success bool }
	h.do(&done, "memory", map[string]any{"action": "add", "content": "Hermes Agent was here."})
	if h.do(&done, "memory", map[string]any{"action": "replace", "old_text": "port 8123", "content": "The tests need the port 9123."}); !done.Success {
		t.Error("Hermes Agent cannot replace an entry of ours")
	}
	// Our write waits for the lock of Hermes Agent, and keeps its changes.
	var ok bool
	h.do(&ok, "hold", "Written under the lock.")
	opened := openings(t, filepath.Join(b.home, "memories", "MEMORY.md.lock"))
	go func() {
		if err := opened(); err != nil {
			t.Errorf("the program did not try the lock twice: %v", err)
		}
		h.send("release")
	}()
	u.say("Remember that we waited patiently.", sayCalls("tool_calls", "memory", toJSON(t, map[string]any{"action": "add", "content": "We waited patiently."})), sayText("Done."))
	h.receive(&ok)
	want := []string{"The tests need the port 9123.", "Hermes Agent was here.", "Written under the lock.", "We waited patiently."}
	if h.do(&entries, "entries", "memory"); !slices.Equal(entries, want) {
		t.Errorf("after writes of both: %q", entries)
	}
	// Both programs write at the same time.
	const each = 15
	h.send("add_many", each)
	calls, prompt := []string{}, "Remember:"
	for i := range each {
		entry := fmt.Sprintf("Ourselves wrote number %d.", i)
		prompt += " " + entry
		calls = append(calls, "memory", toJSON(t, map[string]any{"action": "add", "content": entry}))
	}
	u.say(prompt, sayCalls("tool_calls", calls...), sayText("Done."))
	var added []bool
	if h.receive(&added); slices.Contains(added, false) {
		t.Errorf("writes of Hermes Agent: %v", added)
	}
	if h.do(&entries, "entries", "memory"); len(entries) != len(want)+2*each {
		t.Errorf("%d entries after %d writes: %q", len(entries), len(want)+2*each, entries)
	}
	u.end()
	next := newUserLine(t, b, settings)
	_, requests := next.say("hi", sayText("Hello."))
	for _, want := range append(want, fmt.Sprintf("Hermes wrote %d", each-1), second) {
		if quoted := toJSON(t, want); !strings.Contains(requests[0], quoted[1:len(quoted)-1]) {
			t.Errorf("the first request of a new session lacks %q", want)
		}
	}
	next.end()
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestHermesAgentSkills shares skills and the lock file with Hermes Agent.
func TestHermesAgentSkills(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{
		"offer/ours-installed/SKILL.md":            "---\nname: ours-installed\ndescription: Installed by hermes-ls.\n---\nRead references/more.md.\n",
		"offer/ours-installed/references/more.md":  "More.\n",
		"offer/ours-installed/references-x.txt":    "Sorted before the directory by bytes.\n",
		"offer/ours-installed/scripts/nested/a.py": "print(1)\n",
	})
	u := newUserLine(t, b, "{}")
	h := newHermesAgent(t, b)
	if out, ok := b.hermes(t, "skills", "install", filepath.Join(b.workspace, "offer", "ours-installed"), "--yes"); !ok {
		t.Fatal(out)
	}
	const written = "---\nname: ours-written\ndescription: \"Written by hermes-ls: with a colon.\"\nmetadata: {hermes: {tags: [one, two]}}\n---\nBody of ours.\n"
	u.say("Keep it.", sayCalls("tool_calls", "skill_manage", toJSON(t, map[string]any{"action": "create", "name": "ours-written", "category": "notes", "content": written})), sayText("Kept."))
	var list struct {
		Skills []struct{ Name, Description, Category string }
	}
	h.do(&list, "skills")
	if got := fmt.Sprint(list.Skills); len(list.Skills) != 2 || !strings.Contains(got, "ours-written Written by hermes-ls: with a colon. notes") || !strings.Contains(got, "ours-installed Installed by hermes-ls.") {
		t.Errorf("Hermes Agent lists %s", got)
	}
	var view struct {
		Success     bool
		Content     string
		LinkedFiles map[string][]string `json:"linked_files"`
	}
	if h.do(&view, "view", "ours-written"); !view.Success || !strings.Contains(view.Content, "Body of ours.") {
		t.Errorf("Hermes Agent reads %+v", view)
	}
	if h.do(&view, "view", "ours-installed", "references/more.md"); !view.Success || view.Content != "More.\n" {
		t.Errorf("Hermes Agent reads %+v", view)
	}
	var sum string
	installed := map[string]map[string]any{}
	h.do(&installed, "installed")
	h.do(&sum, "hash", "ours-installed")
	e := installed["ours-installed"]
	if e["content_hash"] != sum || e["install_path"] != "ours-installed" || len(e["files"].([]any)) != 4 {
		t.Errorf("the lock file has %v, and the hash of Hermes Agent is %s", e, sum)
	}
	if out := b.output(t, h.python, filepath.Join(filepath.Dir(h.python), "hermes"), "skills", "list"); !strings.Contains(out, "1 hub-installed") || !strings.Contains(out, "1 local") {
		t.Errorf("hermes skills list:\n%s", out)
	}

	var path string
	h.do(&path, "install", "theirs", map[string]string{"SKILL.md": "---\nname: theirs\ndescription: Installed by Hermes Agent.\n---\nBody of theirs.\n", "references/x.md": "X.\n"})
	var made struct{ Success bool }
	if h.do(&made, "manage", map[string]any{"action": "create", "name": "their.note_1", "category": "notes", "content": "---\nname: their.note_1\ndescription: Written by Hermes Agent.\n---\nBody of a note.\n"}); !made.Success {
		t.Error("Hermes Agent cannot write a skill")
	}
	said, requests := u.say("Read them.", sayCalls("tool_calls", "skill_view", `{"name":"theirs"}`, "skill_view", `{"name":"their.note_1"}`, "skill_view", `{"name":"theirs","file_path":"references/x.md"}`,
		"skill_manage", `{"action":"delete","name":"theirs"}`), sayText("Read."))
	results := strings.Join(resultsOf(requests[1]), "\n")
	for _, want := range []string{"Body of theirs.", "Body of a note.", "X.", "theirs was installed. Only hermes-ls skills update changes it"} {
		if !strings.Contains(results, want) {
			t.Errorf("no result has %q:\n%s\n%s", want, results, said)
		}
	}
	if out, ok := b.hermes(t, "skills", "audit"); !ok || strings.Contains(out, "edited") {
		t.Errorf("audit:\n%s", out)
	}
	if out, ok := b.hermes(t, "skills", "uninstall", "ours-installed"); !ok {
		t.Error(out)
	}
	clear(installed)
	h.do(&installed, "installed")
	if e := fmt.Sprint(installed["theirs"]["metadata"], installed["theirs"]["scan_provenance"]); len(installed) != 1 || e != "map[extra:map[kept:[1]]] map[]" {
		t.Errorf("after our change, the lock file has %v", installed)
	}
	write(t, filepath.Join(path, "SKILL.md"), "---\nname: theirs\ndescription: Edited.\n---\nEdited.\n")
	if out, _ := b.hermes(t, "skills", "audit"); !strings.Contains(out, "edited") {
		t.Errorf("audit of an edited skill:\n%s", out)
	}
	var removed []any
	if h.do(&removed, "uninstall", "theirs"); removed[0] != true {
		t.Errorf("Hermes Agent cannot uninstall: %v", removed)
	}
	u.end()
	next := newUserLine(t, b, "{}")
	if _, requests = next.say("hi", sayText("Hello.")); !strings.Contains(requests[0], "- ours-written: Written by hermes-ls: with a colon.") || !strings.Contains(requests[0], "- their.note_1: Written by Hermes Agent.") || strings.Contains(requests[0], "- theirs: ") {
		t.Error("the index of a new session")
	}
	next.end()
}
