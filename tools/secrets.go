package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// shortestSecret is the minimum length of a secret: shorter values would match innocent text.
const shortestSecret = 8

// Secrets are values to redact in all results. Nil has none. It is safe for concurrent use.
type Secrets struct {
	list atomic.Pointer[[]secret]

	mu    sync.Mutex
	given map[string]string // by Set
	added map[string]string // by Add: names by value
}

type secret struct {
	value       string
	quoted      []byte // as written in JSON
	placeholder string // shown in its place
}

// NewSecrets makes them; see [Secrets.Set].
func NewSecrets(values map[string]string) *Secrets {
	s := &Secrets{}
	s.Set(values)
	return s
}

// Set stores values by their names. It skips values that look like ordinary text: short values,
// paths and plain addresses. Variables with names of secrets often hold such values.
func (s *Secrets) Set(values map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = values
	s.update()
}

// mostAdded limits the values of Add, such as the tokens of a long session.
const mostAdded = 1000

// Add stores further values by their names, such as new tokens. They stay when Set is called. A
// later value of a name does not replace an earlier value.
func (s *Secrets) Add(values map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.added == nil || len(s.added) >= mostAdded {
		s.added = map[string]string{}
	}
	for name, value := range values {
		s.added[value] = name
	}
	s.update()
}

// update makes the list. The caller holds mu.
func (s *Secrets) update() {
	var list []secret
	for value, name := range s.added {
		if x, ok := newSecret(name, value); ok {
			list = append(list, x)
		}
	}
	for name, value := range s.given {
		if strings.Contains(strings.ToUpper(name), "GIT_AUTHOR_") {
			continue // a name and an address, in every commit
		}
		for _, part := range secretParts(value) {
			if x, ok := newSecret(name, part); ok {
				list = append(list, x)
			}
		}
	}
	// A secret that contains another comes first; among equals the order is fixed.
	slices.SortFunc(list, func(a, b secret) int {
		if len(a.value) != len(b.value) {
			return len(b.value) - len(a.value)
		}
		return strings.Compare(a.placeholder, b.placeholder)
	})
	s.list.Store(&list)
}

// all is the list as it is now.
func (s *Secrets) all() []secret {
	if s == nil {
		return nil
	}
	if list := s.list.Load(); list != nil {
		return *list
	}
	return nil
}

// secretParts returns the parts of a value to search for. For a value with several lines, such as a
// private key, these are its lines.
func secretParts(value string) []string {
	lines := strings.Split(strings.TrimSpace(value), "\n")
	if len(lines) == 1 {
		return lines
	}
	return slices.DeleteFunc(lines, func(line string) bool {
		return len(strings.TrimSpace(line)) < 2*shortestSecret || strings.HasPrefix(line, "-----")
	})
}

// newSecret returns false if the value looks like ordinary text.
func newSecret(name, value string) (secret, bool) {
	value = strings.TrimSpace(value)
	if len(value) < shortestSecret || filepath.IsAbs(value) || strings.HasPrefix(value, "~/") || plainAddress(value) {
		return secret{}, false
	}
	quoted, err := Marshal(value)
	if err != nil {
		return secret{}, false
	}
	name = strings.Map(func(r rune) rune {
		if r < '!' || r > '~' || strings.ContainsRune(`"\[]<>&`, r) {
			return '_'
		}
		return r
	}, name)
	return secret{value, quoted[1 : len(quoted)-1], "[secret " + name + " withheld]"}, true
}

// plainAddress reports whether a value is an address without a secret.
func plainAddress(value string) bool {
	u, err := url.Parse(value)
	return err == nil && u.Host != "" && u.User == nil && u.RawQuery == "" && len(u.Path) < 20
}

// Hide replaces secrets by placeholders.
func (s *Secrets) Hide(text string) string {
	for _, x := range s.all() {
		if strings.Contains(text, x.value) {
			text = strings.ReplaceAll(text, x.value, x.placeholder)
		}
	}
	return text
}

// hideIn is Hide for a piece of a stream.
func (s *Secrets) hideIn(text []byte) []byte {
	for _, x := range s.all() {
		if bytes.Contains(text, []byte(x.value)) {
			text = bytes.ReplaceAll(text, []byte(x.value), []byte(x.placeholder))
		}
	}
	return text
}

// longest is how many bytes of a stream may be the beginning of a secret.
func (s *Secrets) longest() int {
	if all := s.all(); len(all) > 0 {
		return len(all[0].value) - 1
	}
	return 0
}

// In names a secret found in text, also in its URL-encoded form.
func (s *Secrets) In(text string) (standIn string, found bool) {
	for range 10 { // an address may be encoded within another, and again
		for _, x := range s.all() {
			if strings.Contains(text, x.value) || strings.Contains(text, url.QueryEscape(x.value)) || strings.Contains(text, url.PathEscape(x.value)) ||
				strings.Contains(strings.ReplaceAll(text, "+", " "), x.value) {
				return x.placeholder, true
			}
		}
		plain := percentDecoded(text)
		if plain == text {
			break
		}
		text = plain
	}
	return "", false
}

// percentDecoded replaces %2D and similar codes. Other text is unchanged.
func percentDecoded(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b = append(b, byte(n))
				i += 2
				continue
			}
		}
		b = append(b, text[i])
	}
	return string(b)
}

func (s *Secrets) inJSON(value []byte) bool {
	return slices.ContainsFunc(s.all(), func(x secret) bool { return bytes.Contains(value, x.quoted) })
}

// rejectPlaceholder prevents writing a placeholder in place of a secret.
func (s *Secrets) rejectPlaceholder(t Tool, args json.RawMessage) error {
	if t.Kind != KindEdit && t.Kind != KindExecute || !bytes.Contains(args, []byte(" withheld]")) {
		return nil
	}
	for _, x := range s.all() {
		if bytes.Contains(args, []byte(x.placeholder)) {
			return fmt.Errorf("%s: %s stands in place of a secret that is not shown, and would overwrite it. Nothing was done. Edit around it: change only other lines, with patch, or tell the user what to change by hand", t.Name, x.placeholder)
		}
	}
	return nil
}
