// Package redact replaces secrets in diagnostic output: the log, traces and bug reports.
//
// A [Set] knows secrets by their values. It also finds tokens by their shape, and values of JSON
// members and environment variables by their names. Such values are secrets from then on. A Set is
// safe for concurrent use.
//
//	set := redact.New(load)
//	set.Text(line)  // "[secret OPENAI_API_KEY withheld]" replaces the key
//	set.Find(text)  // names a secret that is left, in any of its encodings
//
// Redaction catches accidents. It is not a boundary: a split or encrypted secret is not found.
package redact

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	surely  = 8    // values of this length are replaced anywhere
	perhaps = 4    // shorter values only as a separate word
	learned = 1000 // maximum number of values learned from names
)

// Set is a set of secrets. The zero Set finds tokens by their shape only.
type Set struct {
	load func() map[string]string // nil: none

	mu    sync.Mutex
	seen  map[string]string // value → name, learned from names
	cache []secret
	from  map[string]string // the source of cache
}

type secret struct{ name, value string }

// New returns a set of the values returned by load, by name. load is called for each text and
// should be cheap if nothing has changed: it may return the same map again.
func New(load func() map[string]string) *Set { return &Set{load: load} }

// known returns the secrets, the longest first.
func (s *Set) known() []secret {
	var values map[string]string
	if s.load != nil {
		values = s.load()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cache != nil && sameMap(values, s.from) {
		return s.cache
	}
	list := []secret{}
	for name, value := range values {
		if strings.Contains(strings.ToUpper(name), "GIT_AUTHOR_") {
			continue // a name and an address, in every commit
		}
		for _, part := range parts(value) {
			if telling(part) {
				list = append(list, secret{name, part})
			}
		}
	}
	for value, name := range s.seen {
		list = append(list, secret{name, value})
	}
	slices.SortFunc(list, func(a, b secret) int {
		return cmp.Or(len(b.value)-len(a.value), strings.Compare(a.name, b.name))
	})
	s.cache, s.from = list, values
	return list
}

// sameMap compares two results of load. Two maps with the same contents are the same.
func sameMap(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if w, ok := b[k]; !ok || v != w {
			return false
		}
	}
	return true
}

// parts returns the searchable parts of a value: each long line of a value of several lines, such
// as a private key, and the token of "Bearer TOKEN".
func parts(value string) []string {
	value = strings.TrimSpace(value)
	lines := strings.Split(value, "\n")
	if len(lines) == 1 {
		if scheme, token, ok := strings.Cut(value, " "); ok && len(scheme) < 10 {
			return []string{value, strings.TrimSpace(token)}
		}
		return lines
	}
	var out []string
	for _, line := range lines {
		if line = strings.TrimSpace(line); len(line) >= 2*surely && !strings.HasPrefix(line, "-----") {
			out = append(out, line)
		}
	}
	return out
}

// telling reports whether a value is distinct from innocent text. Paths, plain addresses and short
// words are not.
func telling(value string) bool {
	switch {
	case len(value) < perhaps || filepath.IsAbs(value) || strings.HasPrefix(value, "~/"):
		return false
	case len(value) < surely:
		return strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsLower(r) }) &&
			strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsUpper(r) }) &&
			strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsDigit(r) })
	}
	u, err := url.Parse(value)
	return err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || len(u.Path) >= 20
}

// learn adds a value found under the name of a secret.
func (s *Set) learn(name, value string) {
	for _, part := range parts(value) {
		if len(part) < surely || !telling(part) || strings.Contains(value, "withheld]") {
			continue
		}
		s.mu.Lock()
		if _, ok := s.seen[part]; !ok && len(s.seen) < learned {
			if s.seen == nil {
				s.seen = map[string]string{}
			}
			s.seen[part] = name
			s.cache = nil
		}
		s.mu.Unlock()
	}
}

const tokenMark = "[token withheld]"

// Text replaces known secrets, token-shaped texts, and secrets in commands, as in curl -u
// me:SECRET.
func (s *Set) Text(text string) string {
	return withoutCommandSecrets(s.plain(text), false, tokenMark)
}

// plain replaces known secrets and token-shaped texts.
func (s *Set) plain(text string) string {
	for _, x := range s.known() {
		for _, form := range forms(x.value) {
			text = replace(text, form, withheld(x.name))
		}
	}
	return withholdTokens(text, tokenMark)
}

// Find names a secret in text, plain or in a common encoding. If there is none, it returns "".
func (s *Set) Find(text string) string {
	for _, x := range s.known() {
		for _, form := range append(forms(x.value), encodings(x.value)...) {
			if replace(text, form, "") != text {
				return x.name
			}
		}
	}
	if withholdTokens(text, tokenMark) != text {
		return "a text that looks like a token"
	}
	return ""
}

func withheld(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < '!' || r > '~' || strings.ContainsRune(`"\[]<>&`, r) {
			return '_'
		}
		return r
	}, name)
	return "[secret " + name + " withheld]"
}

// forms returns the spellings of a value with little risk of other matches: plain, in JSON, in an
// address.
func forms(value string) []string {
	out := []string{value}
	if quoted, err := json.Marshal(value); err == nil {
		out = append(out, string(quoted[1:len(quoted)-1]))
	}
	out = append(out, url.QueryEscape(value), url.PathEscape(value))
	slices.Sort(out)
	return slices.Compact(out)
}

// encodings are further spellings of a secret. The first two bytes of a base64 text may
// belong to earlier text, such as "user:".
func encodings(value string) []string {
	if len(value) < surely {
		return nil
	}
	out := []string{hex.EncodeToString([]byte(value)), strings.ToUpper(hex.EncodeToString([]byte(value)))}
	for skip := range 3 {
		if len(value) < skip+surely-2 {
			break
		}
		whole := value[skip : skip+(len(value)-skip)/3*3]
		out = append(out, base64.StdEncoding.EncodeToString([]byte(whole)), base64.URLEncoding.EncodeToString([]byte(whole)))
	}
	return out
}

// replace replaces all occurrences of a form. A short form is replaced only as a separate word.
func replace(text, form, by string) string {
	if len(form) >= surely {
		return strings.ReplaceAll(text, form, by)
	}
	var b strings.Builder
	for {
		i := strings.Index(text, form)
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(form):])
		b.WriteString(text[:i])
		if word(before) || word(after) {
			b.WriteString(form)
		} else {
			b.WriteString(by)
		}
		text = text[i+len(form):]
	}
}

func word(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
