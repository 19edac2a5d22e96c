package lazyregexp_test

import (
	"regexp"
	"slices"
	"sync"
	"testing"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// TestLikeRegexp compares the methods with package regexp's, several at the same time.
func TestLikeRegexp(t *testing.T) {
	t.Parallel()
	const text = `(\w)(\d)`
	want, got := regexp.MustCompile(text), lazyregexp.New(text)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for _, s := range []string{"", "a1 b2", "none"} {
				if got.MatchString(s) != want.MatchString(s) || got.Match([]byte(s)) != want.Match([]byte(s)) ||
					!slices.Equal(got.FindStringSubmatch(s), want.FindStringSubmatch(s)) ||
					!slices.Equal(got.FindStringSubmatchIndex(s), want.FindStringSubmatchIndex(s)) ||
					len(got.FindAllStringSubmatch(s, -1)) != len(want.FindAllStringSubmatch(s, -1)) ||
					got.ReplaceAllString(s, "$2$1") != want.ReplaceAllString(s, "$2$1") {
					t.Errorf("%q differs", s)
				}
			}
		})
	}
	group.Wait()
}

// TestWrong checks that an invalid expression panics at its first use.
func TestWrong(t *testing.T) {
	t.Parallel()
	wrong := lazyregexp.New("(")
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	wrong.MatchString("x")
}
