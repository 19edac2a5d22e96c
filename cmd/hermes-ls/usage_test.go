package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

func TestUsage(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HERMES_HOME", home)
	run := func(code int, args ...string) string {
		t.Helper()
		var out, errOut bytes.Buffer
		if got := execute(t.Context(), append([]string{"usage"}, args...), strings.NewReader(""), &out, &errOut); got != code {
			t.Errorf("usage %q: exit %d, want %d: %s", args, got, code, &errOut)
		}
		return out.String() + errOut.String()
	}
	if out := run(0); out != noSessions+"\n" {
		t.Error(out)
	}
	if out := run(0, "--json"); out != `{"days":[],"sessions":[]}`+"\n" {
		t.Error(out)
	}
	if out := run(2, "--days", "0"); !strings.Contains(out, "at least 1") {
		t.Error(out)
	}
	st := store.New(filepath.Join(home, store.FileName), store.Options{})
	defer st.Close()
	id := store.NewID()
	if err := st.Create(t.Context(), store.Session{ID: id, Title: "Mend\x1b[2J it", Cwd: "/w"}); err != nil {
		t.Fatal(err)
	}
	for _, u := range []model.Usage{{Input: 12_000, Output: 300, CachedRead: 9000, Cost: 0.0125}, {Input: 5, Output: 1}} {
		if err := st.Append(t.Context(), id, &store.Message{Message: model.ResponseMessage("", "Done."), Usage: &u}); err != nil {
			t.Fatal(err)
		}
	}
	out := run(0)
	for _, want := range []string{"$0.0125 and 1 without a price  2", "12,005", "9,000", "301", id + "  Mend[2J it"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	var parsed struct{ Days, Sessions []map[string]any }
	if err := json.Unmarshal([]byte(run(0, "--json", "--days", "2")), &parsed); err != nil || len(parsed.Days) != 1 || len(parsed.Sessions) != 1 {
		t.Fatalf("%+v, %v", parsed, err)
	}
	if day, s := parsed.Days[0], parsed.Sessions[0]; day["cost"] != 0.0125 || day["requests"] != 2.0 || s["unpriced"] != 1.0 || s["id"] != id || s["cachedRead"] != 9000.0 {
		t.Errorf("%v %v", day, s)
	}
}
