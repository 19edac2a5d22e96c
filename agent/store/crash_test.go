package store_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// child is another process on the same store: it writes messages into a session
// of its own and tells of each that was acknowledged.
func child(role string) {
	path, count := os.Getenv("STORE_TEST_PATH"), 1<<30
	if role == "some" {
		count = 100
	}
	ctx := context.Background()
	s := store.New(path, store.Options{})
	id := store.NewID()
	err := s.Create(ctx, store.Session{ID: id})
	for i := 0; i < count && err == nil; i++ {
		m := store.Message{Message: model.Message{Role: model.User, Text: strings.Repeat("x", i%7*1000)}}
		if err = s.Append(ctx, id, &m); err == nil {
			fmt.Println(id, m.ID)
		}
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

func start(t *testing.T, role, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+role, "STORE_TEST_PATH="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
}

// What was acknowledged before a kill -9 at any moment is there afterwards, and
// the file is whole. The same file is killed over again and again.
func TestKilled(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), store.FileName)
	acknowledged := map[string][]string{}
	for round := range 6 {
		cmd, lines := start(t, "endless", path)
		var once sync.Once
		kill := func() { _ = cmd.Process.Kill() }
		after := time.Duration(rand.IntN(60)) * time.Millisecond
		for lines.Scan() {
			session, message, ok := strings.Cut(lines.Text(), " ")
			if !ok || session == "failed:" {
				t.Fatal(lines.Text())
			}
			acknowledged[session] = append(acknowledged[session], message)
			once.Do(func() { time.AfterFunc(after, kill) })
		}
		if err := cmd.Wait(); err == nil || cmd.ProcessState.Success() {
			t.Fatalf("round %d was not killed: %v", round, err)
		}
		checkKept(t, path, acknowledged)
	}
	if len(acknowledged) != 6 {
		t.Errorf("%d sessions of 6", len(acknowledged))
	}
}

func checkKept(t *testing.T, path string, acknowledged map[string][]string) {
	t.Helper()
	s := store.New(path, store.Options{})
	defer s.Close()
	for session, ids := range acknowledged {
		log, err := s.Messages(t.Context(), session, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(log) < len(ids) {
			t.Fatalf("%d messages of %d acknowledged", len(log), len(ids))
		}
		for i, id := range ids {
			if log[i].ID != id || log[i].Seq != int64(i+1) {
				t.Fatalf("message %d is %s, acknowledged was %s", log[i].Seq, log[i].ID, id)
			}
		}
	}
	checkIntegrity(t, path)
}

func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, check := range []string{"PRAGMA integrity_check", "SELECT coalesce((SELECT 'orphans' FROM pragma_foreign_key_check), 'ok')"} {
		var verdict string
		if err := db.QueryRow(check).Scan(&verdict); err != nil || verdict != "ok" {
			t.Errorf("%s: %s, %v", check, verdict, err)
		}
	}
}

// Several servers begin on the same new file at once, and nothing is lost.
func TestTwoProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "home", store.FileName)
	var cmds []*exec.Cmd
	var outs []*bufio.Scanner
	for range 3 {
		cmd, lines := start(t, "some", path)
		cmds, outs = append(cmds, cmd), append(outs, lines)
	}
	acknowledged := map[string][]string{}
	for i, lines := range outs {
		for lines.Scan() {
			session, message, _ := strings.Cut(lines.Text(), " ")
			if session == "failed:" {
				t.Error(lines.Text())
			}
			acknowledged[session] = append(acknowledged[session], message)
		}
		if err := cmds[i].Wait(); err != nil {
			t.Error(err)
		}
	}
	if len(acknowledged) != 3 {
		t.Errorf("%d sessions of 3", len(acknowledged))
	}
	for session, ids := range acknowledged {
		if len(ids) != 100 {
			t.Errorf("session %s: %d of 100", session, len(ids))
		}
	}
	checkKept(t, path, acknowledged)
}
