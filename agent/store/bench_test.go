package store_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
)

// prose is text of about n bytes, with the words of a language's frequencies.
func prose(n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "word%d ", int(rand.ExpFloat64()*300))
	}
	return b.String()
}

func said(role model.Role, text string) *store.Message {
	return &store.Message{Message: model.Message{Role: role, Text: text}, Typed: len(text)}
}

// What the first prompt pays: making the file once, opening it later.
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

// A message whose words are indexed, and one of the same length that is not.
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
