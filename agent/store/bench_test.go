package store_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// prose returns about n bytes of text with the word frequencies of a real language.
func prose(n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "word%d ", int(rand.ExpFloat64()*300))
	}
	return b.String()
}

func said(role model.Role, text string) *store.Message {
	return &store.Message{Message: model.NewMessage(role, text), Typed: len(text)}
}

// BenchmarkOpen measures the cost of the first prompt: creating the file once, opening it
// later.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	b.Run("new", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			openAndClose(b, filepath.Join(dir, fmt.Sprint(i), store.FileName))
		}
	})
	b.Run("old", func(b *testing.B) {
		for b.Loop() {
			openAndClose(b, filepath.Join(dir, "0", store.FileName))
		}
	})
}

func openAndClose(b *testing.B, path string) {
	s := store.New(path, store.Options{})
	if _, _, err := s.List(b.Context(), store.Filter{Limit: 1}); err != nil {
		b.Fatal(err)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAppend compares an indexed message and an equally long message without index.
func BenchmarkAppend(b *testing.B) {
	for _, role := range []model.Role{model.Assistant, model.ToolRole} {
		b.Run(string(role), func(b *testing.B) {
			s := open(b)
			x := create(b, s, store.Session{})
			text := prose(1000)
			for b.Loop() {
				if err := s.Append(b.Context(), x.ID, said(role, text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkList lists ten thousand sessions: the first page, and all at once.
func BenchmarkList(b *testing.B) {
	s := open(b)
	head := store.Session{Cwd: "/home/someone/project", Title: "Make the tests pass on a Tuesday", System: strings.Repeat("x", 4000)}
	for range 10_000 {
		head.ID = ""
		create(b, s, head)
	}
	for _, limit := range []int{50, 10_000} {
		b.Run(fmt.Sprint(limit), func(b *testing.B) {
			for b.Loop() {
				page, _, err := s.List(b.Context(), store.Filter{Limit: limit})
				if err != nil || len(page) != limit {
					b.Fatal(len(page), err)
				}
			}
		})
	}
}

// long imports a session with the given number of messages.
func long(b *testing.B, s *store.Store, messages int) (id string) {
	b.Helper()
	var file bytes.Buffer
	out := json.NewEncoder(&file)
	id = store.NewID()
	_ = out.Encode(map[string]any{"record": "session", "version": store.TransferVersion, "id": id})
	for i := range messages {
		text := prose(300)
		_ = out.Encode(map[string]any{"record": "message", "id": fmt.Sprint(id, i), "role": []string{"user", "assistant"}[i%2], "text": text, "typed": len(text)})
	}
	if _, err := s.Import(b.Context(), &file, store.ImportOptions{}); err != nil {
		b.Fatal(err)
	}
	return id
}

// BenchmarkLong measures the reads for opening a session of any length, for a page of its log,
// and for a search through all of it.
func BenchmarkLong(b *testing.B) {
	for _, n := range []int{10, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := open(b)
			id := long(b, s, n)
			b.Run("open", func(b *testing.B) {
				for b.Loop() {
					head, err := s.Session(b.Context(), id)
					if err != nil || head.Messages != n {
						b.Fatal(head.Messages, err)
					}
					if _, err := s.Tail(b.Context(), id, store.End); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("page", func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Messages(b.Context(), id, int64(n/2), 64); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("search", func(b *testing.B) {
				for b.Loop() {
					if _, err := s.Search(b.Context(), store.Query{Text: "word700 word800"}); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkFork forks a session with a thousand messages.
func BenchmarkFork(b *testing.B) {
	s := open(b)
	id := long(b, s, 1000)
	for b.Loop() {
		if err := s.Fork(b.Context(), id, 1000, store.Session{ID: store.NewID(), Parent: id, Root: id}, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkHeld measures the longest wait of another process's message. Meanwhile, a session of
// 100,000 messages is forked, rewound and deleted.
func BenchmarkHeld(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, store.FileName)
	s := store.New(path, store.Options{})
	b.Cleanup(func() { _ = s.Close() })
	other := store.New(path, store.Options{})
	b.Cleanup(func() { _ = other.Close() })
	x := create(b, other, store.Session{})
	for b.Loop() {
		id, branch, undone, restarted := long(b, s, 100_000), store.NewID(), store.NewID(), store.NewID()
		for _, step := range []struct {
			name string
			do   func() error
		}{
			{"fork", func() error {
				return s.Fork(b.Context(), id, 100_000, store.Session{ID: branch, Parent: id, Root: id}, nil)
			}},
			{"undo", func() error {
				return s.Rewind(b.Context(), id, 99_990, store.Session{ID: undone, Parent: id, Root: id}, nil)
			}},
			{"restart", func() error {
				return s.Rewind(b.Context(), branch, 10, store.Session{ID: restarted, Parent: id, Root: id}, nil)
			}},
			{"delete", func() error {
				for _, x := range []string{id, branch, undone, restarted} {
					if err := s.Delete(b.Context(), x); err != nil {
						return err
					}
				}
				return nil
			}},
			{"sweep", func() error { return untilSwept(b.Context(), path) }},
		} {
			began, done := time.Now(), make(chan error, 1)
			var took time.Duration
			go func() {
				err := step.do()
				took = time.Since(began)
				done <- err
			}()
			worst := time.Duration(0)
			for ended := false; !ended; {
				select {
				case err := <-done:
					if err != nil {
						b.Fatal(step.name, err)
					}
					ended = true
				default:
				}
				at := time.Now()
				if err := other.Append(b.Context(), x.ID, said(model.ToolRole, "x")); err != nil {
					b.Fatal(step.name, err)
				}
				worst = max(worst, time.Since(at))
				time.Sleep(time.Millisecond)
			}
			b.ReportMetric(float64(took.Milliseconds()), step.name+"-ms")
			b.ReportMetric(float64(worst.Milliseconds()), step.name+"-held-ms")
		}
	}
}
