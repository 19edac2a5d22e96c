// Package lazyregexp compiles regular expressions at their first use. Each start of the program,
// also as the supervisor of a command, initializes all package variables, and most expressions are
// not used in this run.
package lazyregexp

import (
	"regexp"
	"sync"
)

// Regexp is a regular expression compiled at its first use. It is safe for concurrent use.
type Regexp struct {
	text string
	once sync.Once
	re   *regexp.Regexp
}

// New returns an expression. If it is invalid, its first use panics.
func New(text string) *Regexp { return &Regexp{text: text} }

func (r *Regexp) compiled() *regexp.Regexp {
	r.once.Do(func() { r.re = regexp.MustCompile(r.text) })
	return r.re
}

// FindAllStringSubmatch is as in package regexp.
func (r *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return r.compiled().FindAllStringSubmatch(s, n)
}

// FindAllSubmatch is as in package regexp.
func (r *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return r.compiled().FindAllSubmatch(b, n)
}

// FindStringSubmatch is as in package regexp.
func (r *Regexp) FindStringSubmatch(s string) []string { return r.compiled().FindStringSubmatch(s) }

// FindSubmatch is as in package regexp.
func (r *Regexp) FindSubmatch(b []byte) [][]byte { return r.compiled().FindSubmatch(b) }

// Match is as in package regexp.
func (r *Regexp) Match(b []byte) bool { return r.compiled().Match(b) }

// MatchString is as in package regexp.
func (r *Regexp) MatchString(s string) bool { return r.compiled().MatchString(s) }

// ReplaceAll is as in package regexp.
func (r *Regexp) ReplaceAll(src, with []byte) []byte { return r.compiled().ReplaceAll(src, with) }

// FindAllStringSubmatchIndex is as in package regexp.
func (r *Regexp) FindAllStringSubmatchIndex(s string, n int) [][]int {
	return r.compiled().FindAllStringSubmatchIndex(s, n)
}

// FindStringSubmatchIndex is as in package regexp.
func (r *Regexp) FindStringSubmatchIndex(s string) []int {
	return r.compiled().FindStringSubmatchIndex(s)
}

// ReplaceAllString is as in package regexp.
func (r *Regexp) ReplaceAllString(src, with string) string {
	return r.compiled().ReplaceAllString(src, with)
}

// ReplaceAllStringFunc is as in package regexp.
func (r *Regexp) ReplaceAllStringFunc(src string, f func(string) string) string {
	return r.compiled().ReplaceAllStringFunc(src, f)
}
