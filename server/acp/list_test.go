package acp_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

// TestListPages lists the sessions of one folder of two, over several pages.
func TestListPages(t *testing.T) {
	t.Parallel()
	home, here, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	st := store.New(filepath.Join(home, store.FileName), store.Options{})
	const each = 120
	begun := time.Now().Add(-time.Hour)
	for i := range 2 * each {
		at := begun.Add(time.Duration(i) * time.Second)
		head := store.Session{ID: store.NewID(), Cwd: here, Title: fmt.Sprint(i), CreatedAt: at, UpdatedAt: at}
		if i%2 == 1 {
			head.Cwd = elsewhere
		}
		if err := st.Create(t.Context(), head); err != nil {
			t.Fatal(err)
		}
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	c := connect(t, setup{home: home, ws: here})
	for name, tc := range map[string]struct {
		cwd  string
		want int
	}{"one folder": {here, each}, "all": {"", 2 * each}} {
		seen, pages, last := map[string]bool{}, 0, ""
		for cursor := ""; ; pages++ {
			var page protocol.ListSessionsResponse
			c.must(protocol.MethodSessionList, protocol.ListSessionsRequest{Cwd: tc.cwd, Cursor: cursor}, &page)
			for _, s := range page.Sessions {
				if last != "" && s.UpdatedAt > last {
					t.Fatalf("%s: %s comes after %s", name, s.UpdatedAt, last)
				}
				if tc.cwd != "" && s.Cwd != tc.cwd {
					t.Errorf("%s: a session of %s", name, s.Cwd)
				}
				seen[s.SessionID], last = true, s.UpdatedAt
			}
			if cursor = page.NextCursor; cursor == "" {
				break
			}
		}
		if len(seen) != tc.want || pages == 0 {
			t.Errorf("%s: %d sessions on %d pages, want %d on several", name, len(seen), pages+1, tc.want)
		}
	}
}
