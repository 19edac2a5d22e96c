package store_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// What the first prompt pays once: making and opening the file.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	for i := 0; b.Loop(); i++ {
		s := store.New(filepath.Join(dir, fmt.Sprint(i), store.FileName), store.Options{})
		create(b, s, store.Session{})
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	s := open(b)
	x := create(b, s, store.Session{})
	text := strings.Repeat("x", 1000)
	for b.Loop() {
		m := store.Message{Message: model.Message{Role: model.User, Text: text}}
		if err := s.Append(b.Context(), x.ID, &m); err != nil {
			b.Fatal(err)
		}
	}
}

// Ten thousand sessions: the first page, and all of them at once.
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
