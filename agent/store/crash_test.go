package store_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// child is another process with the same store. It announces each action on its sessions, and
// its completion: "append SESSION MESSAGE", "ok".
func child(role string) {
	ctx, s := context.Background(), store.New(os.Getenv("STORE_TEST_PATH"), store.Options{})
	w := &worker{store: s, shared: os.Getenv("STORE_TEST_SHARED")}
	var err error
	if err = w.adopt(ctx, os.Getenv("STORE_TEST_OWN")); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	count := 1 << 30
	if role == "some" {
		count = 60
	}
	deadline := time.Now().Add(time.Hour)
	if d, err := time.ParseDuration(role); err == nil {
		deadline = time.Now().Add(d)
	}
	for i := 0; i < count && err == nil && time.Now().Before(deadline); i++ {
		err = w.step(ctx)
	}
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// worker changes sessions like a server.
type worker struct {
	store  *store.Store
	own    []string
	shared string // a session shared by all workers; empty: none
}

// adopt continues the sessions of a killed worker.
func (w *worker) adopt(ctx context.Context, owner string) error {
	if owner == "" {
		return nil
	}
	page, _, err := w.store.List(ctx, store.Filter{Cwd: owner, Limit: 20})
	for _, x := range page {
		w.own = append(w.own, x.ID)
	}
	return err
}

func (w *worker) step(ctx context.Context) error {
	if len(w.own) == 0 {
		return w.create(ctx)
	}
	id := w.own[rand.IntN(len(w.own))]
	switch n := rand.IntN(100); {
	case n < 5 && len(w.own) < 6:
		return w.create(ctx)
	case n < 8:
		title := fmt.Sprint("title", rand.Int())
		return w.do(func() error {
			return w.store.Update(ctx, id, func(x *store.Session) { x.Title = title })
		}, "title", id, title)
	case n < 14 && len(w.own) < 6:
		return w.branch(ctx, id)
	case n < 18 && len(w.own) > 2:
		w.own = slices.DeleteFunc(w.own, func(x string) bool { return x == id })
		return w.do(func() error { return w.store.Delete(ctx, id) }, "delete", id)
	case n < 19 && len(w.own) < 6:
		return w.bringIn(ctx, 600)
	case n < 21:
		_, err := w.store.Search(ctx, store.Query{Text: "word7"})
		return err
	case n < 30 && w.shared != "":
		return w.share(ctx)
	}
	m := &store.Message{ID: store.NewID(), Message: model.ResponseMessage("", prose(rand.IntN(8)*1000))}
	return w.do(func() error { return w.store.Append(ctx, id, m) }, "append", id, m.ID)
}

func (w *worker) create(ctx context.Context) error {
	id := store.NewID()
	w.own = append(w.own, id)
	return w.do(func() error { return w.store.Create(ctx, store.Session{ID: id, Cwd: os.Getenv("STORE_TEST_OWN")}) }, "create", id)
}

// branch forks or rewinds a session.
func (w *worker) branch(ctx context.Context, id string) error {
	totals, err := w.store.Totals(ctx, id)
	if err != nil {
		return err
	}
	seq := rand.IntN(totals.Messages + 1)
	head := store.Session{ID: store.NewID(), Parent: id, Root: id, Cwd: os.Getenv("STORE_TEST_OWN")}
	w.own = append(w.own, head.ID)
	if rand.IntN(2) == 0 {
		return w.do(func() error { return w.store.Fork(ctx, id, int64(seq), head, nil) }, "fork", id, fmt.Sprint(seq), head.ID)
	}
	return w.do(func() error { return w.store.Rewind(ctx, id, int64(seq), head, nil) }, "rewind", id, fmt.Sprint(seq), head.ID)
}

// bringIn imports a session too large for a single transaction.
func (w *worker) bringIn(ctx context.Context, messages int) error {
	id := store.NewID()
	var file strings.Builder
	fmt.Fprintf(&file, `{"record":"session","version":1,"id":%q,"cwd":%q}`+"\n", id, os.Getenv("STORE_TEST_OWN"))
	for i := range messages {
		fmt.Fprintf(&file, `{"record":"message","id":"%s-%d","role":"user","text":"word7"}`+"\n", id, i)
	}
	w.own = append(w.own, id)
	return w.do(func() error {
		_, err := w.store.Import(ctx, strings.NewReader(file.String()), store.ImportOptions{})
		return err
	}, "import", id, fmt.Sprint(messages))
}

// share appends to the common session, if it is free.
func (w *worker) share(ctx context.Context) error {
	release, err := w.store.Claim(w.shared)
	if errors.Is(err, store.ErrClaimed) {
		return nil
	}
	if err != nil {
		return err
	}
	defer release()
	totals, err := w.store.Totals(ctx, w.shared)
	if err != nil {
		return err
	}
	m := &store.Message{ID: store.NewID(), Seq: int64(totals.Messages) + 1, Message: model.NewMessage(model.User, "shared")}
	return w.do(func() error { return w.store.Append(ctx, w.shared, m) }, "append", w.shared, m.ID)
}

func (w *worker) do(work func() error, what ...string) error {
	fmt.Println(strings.Join(what, " "))
	if err := work(); err != nil {
		return fmt.Errorf("%v: %w", what, err)
	}
	fmt.Println("ok")
	return nil
}

func start(t *testing.T, role, path string, more ...string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STORE_TEST_CHILD="+role, "STORE_TEST_PATH="+path)
	cmd.Env = append(cmd.Env, more...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // no effect on a process that has exited
	return cmd, bufio.NewScanner(out)
}

// book is the expected content of the store: the messages and the title of each session.
type book map[string]*entry

type entry struct {
	log   []string
	title string
}

// apply applies an announced action and returns the changed sessions.
func (b book) apply(what []string) (touched []string) {
	id := what[1]
	switch what[0] {
	case "create":
		b[id] = &entry{}
	case "import":
		messages, err := strconv.Atoi(what[2])
		if err != nil {
			panic(err)
		}
		b[id] = &entry{}
		for i := range messages {
			b[id].log = append(b[id].log, fmt.Sprintf("%s-%d", id, i))
		}
	case "append":
		b[id].log = append(b[id].log, what[2])
	case "title":
		b[id].title = what[2]
	case "delete":
		delete(b, id)
	case "fork", "rewind":
		seq, err := strconv.Atoi(what[2])
		if err != nil {
			panic(err)
		}
		old := b[id].log
		branch := &entry{log: slices.Clone(old[:seq])}
		if what[0] == "rewind" {
			branch.log = slices.Clone(old)
			b[id].log = slices.Clone(old[:seq])
		}
		b[what[3]] = branch
		return []string{id, what[3]}
	}
	return []string{id}
}

func (b book) clone() book {
	c := book{}
	for id, e := range b {
		c[id] = &entry{slices.Clone(e.log), e.title}
	}
	return c
}

// differs describes the differences between the store and the book for these sessions.
func (b book) differs(ctx context.Context, s *store.Store, ids []string) error {
	for _, id := range ids {
		head, err := s.Session(ctx, id)
		want := b[id]
		if want == nil && errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil || want == nil {
			return fmt.Errorf("session %s: %v, wanted %v", id, err, want)
		}
		log, err := s.Messages(ctx, id, 0, 0)
		if err != nil {
			return err
		}
		var got []string
		for _, m := range log {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, want.log) || head.Messages != len(got) || head.Title != want.title {
			return fmt.Errorf("session %s has %d messages (counted %d) and title %q; want %d and %q", id, len(got), head.Messages, head.Title, len(want.log), want.title)
		}
	}
	return nil
}

// follow reads the announcements of a child into the book until the child ends. pending is an
// announced action without completion.
func (b book) follow(t *testing.T, lines *bufio.Scanner, each func()) (touched []string, pending []string) {
	for lines.Scan() {
		if each != nil {
			each()
		}
		switch what := strings.Fields(lines.Text()); {
		case what[0] == "ok":
			touched = append(touched, b.apply(pending)...)
			pending = nil
		case what[0] == "failed:":
			t.Error(lines.Text())
		default:
			pending = what
		}
	}
	return touched, pending
}

// kills is the number of killed servers; make soak uses 2,000.
var kills = flag.Int("kills", 24, "how many processes TestKilled kills")

// TestKilled kills a server with -9 during any action. Afterwards, the file is valid and
// contains all completed actions, and the current action completely or not at all. Three
// servers at a time use the same file.
func TestKilled(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	path := filepath.Join(t.TempDir(), store.FileName)
	var workers sync.WaitGroup
	var slowest atomic.Int64
	for n := range 3 {
		workers.Go(func() {
			own, written := fmt.Sprint("/worker/", n), book{}
			for range *kills / 3 {
				if !killOnce(t, path, own, written, &slowest) {
					return
				}
			}
			checkBook(t, path, written)
		})
	}
	workers.Wait()
	checkIntegrity(t, path)
	t.Logf("%d kills; the slowest start after one took %v", *kills, time.Duration(slowest.Load()))
}

// killOnce starts a child, kills it after a moment, and compares the store with the book.
func killOnce(t *testing.T, path, own string, written book, slowest *atomic.Int64) bool {
	cmd, lines := start(t, "endless", path, "STORE_TEST_OWN="+own)
	var once sync.Once
	after := time.Duration(rand.IntN(60_000)) * time.Microsecond
	touched, pending := written.follow(t, lines, func() {
		once.Do(func() { time.AfterFunc(after, func() { _ = cmd.Process.Kill() }) })
	})
	if err := cmd.Wait(); err == nil {
		t.Error("the child was not killed")
	}
	began := time.Now()
	s := store.New(path, store.Options{})
	defer s.Close()
	if _, _, err := s.List(t.Context(), store.Filter{Limit: 1}); err != nil {
		t.Error(err)
	}
	slowest.Store(max(slowest.Load(), int64(time.Since(began))))
	if len(pending) > 0 {
		done := written.clone()
		ids := done.apply(pending)
		if done.differs(t.Context(), s, ids) == nil {
			written.apply(pending) // done, but not reported
		}
		touched = append(touched, ids...)
	}
	if err := written.differs(t.Context(), s, touched); err != nil {
		t.Errorf("after %q: %v", pending, err)
	}
	return !t.Failed()
}

func checkBook(t *testing.T, path string, written book) {
	t.Helper()
	s := store.New(path, store.Options{})
	defer s.Close()
	if err := written.differs(t.Context(), s, slices.Collect(maps.Keys(written))); err != nil {
		t.Error(err)
	}
}

// checkIntegrity checks the file with SQLite's integrity check and with Check.
func checkIntegrity(t *testing.T, path string) {
	t.Helper()
	s := store.New(path, store.Options{})
	defer s.Close()
	if problems, err := s.Check(t.Context()); err != nil || len(problems) > 0 {
		t.Errorf("%q, %v", problems, err)
	}
}

// together is how long servers share a store; make soak uses minutes.
var together = flag.Duration("together", time.Second, "how long TestProcesses lets four processes work")

// TestProcesses lets four servers open the same new file at once. They use sessions of their
// own and a shared session. Nothing is lost.
func TestProcesses(t *testing.T) {
	t.Parallel()
	testneed.Extra(t)
	path := filepath.Join(t.TempDir(), "home", store.FileName)
	s := store.New(path, store.Options{})
	shared := create(t, s, store.Session{Title: "shared"})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	books := make([]book, 4)
	for n := range books {
		cmd, lines := start(t, together.String(), path, "STORE_TEST_SHARED="+shared.ID, fmt.Sprint("STORE_TEST_OWN=/worker/", n))
		books[n] = book{shared.ID: &entry{}}
		workers.Go(func() {
			books[n].follow(t, lines, nil)
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	workers.Wait()
	var inShared []string
	for _, b := range books {
		inShared = append(inShared, b[shared.ID].log...)
		delete(b, shared.ID)
		if len(b) == 0 {
			t.Error("a process has done nothing")
		}
		checkBook(t, path, b)
	}
	log, err := at(t, path).Messages(t.Context(), shared.ID, 0, 0)
	if err != nil || len(log) != len(inShared) {
		t.Errorf("%d messages in the shared session, %d were acknowledged; %v", len(log), len(inShared), err)
	}
	for i, m := range log {
		if m.Seq != int64(i+1) || !slices.Contains(inShared, m.ID) {
			t.Fatalf("message %d is %d, %s", i+1, m.Seq, m.ID)
		}
	}
	checkIntegrity(t, path)
}
