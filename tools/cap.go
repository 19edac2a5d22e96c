package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf8"
)

const (
	defaultResultCap = 100_000 // bytes
	shortestCut      = 200     // bytes of a string that a cut leaves at least
	cutNote          = 48      // bytes that the note of a cut takes, about
)

// capped shortens a result that is over its tool's cap, so that it stays a JSON
// object of the same shape: of the longest strings the middle is left out, and
// then of the longest lists the end. The whole is kept in a file that full_result
// names.
func (s *Set) capped(env *Env, t Tool, r Result) Result {
	limit := t.ResultCap
	if limit <= 0 {
		limit = defaultResultCap
	}
	if len(r.JSON) <= limit {
		return r
	}
	if s.Forget != nil {
		s.Forget() // the model gets no text that is cut
	}
	kept := savedOutput(r.JSON)
	if kept == "" && env.OutputDir != "" {
		name, err := saveOutput(env.OutputDir, t.Name, r.JSON)
		if err == nil {
			kept = name
		}
	}
	r.JSON = shorten(r.JSON, limit, kept)
	return r
}

// Fit shortens a result of a tool to limit bytes, as its own cap would.
func (s *Set) Fit(env *Env, tool string, r Result, limit int) Result {
	return s.capped(env, Tool{Name: tool, ResultCap: limit}, r)
}

// savedOutput is where the whole of a result is that was shortened before.
func savedOutput(object json.RawMessage) string {
	var cut struct {
		Full string `json:"full_result"`
	}
	if !bytes.Contains(object, []byte(`"full_result":`)) || json.Unmarshal(object, &cut) != nil {
		return ""
	}
	return cut.Full
}

// saveOutput writes a whole result where the session keeps outputs, in lines, so that it can
// be read in windows.
func saveOutput(dir, tool string, whole []byte) (string, error) {
	var lines bytes.Buffer
	if json.Indent(&lines, whole, "", " ") == nil {
		whole = lines.Bytes()
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keeping the whole result of %s: %w", tool, err)
	}
	f, err := os.CreateTemp(dir, tool+"-*.json") // mode 0600
	if err != nil {
		return "", fmt.Errorf("keeping the whole result of %s: %w", tool, err)
	}
	_, err = f.Write(whole)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("keeping the whole result of %s: %w", tool, err)
	}
	return filepath.ToSlash(f.Name()), nil
}

// shorten makes object no longer than limit bytes.
func shorten(object json.RawMessage, limit int, kept string) json.RawMessage {
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	var root map[string]any
	if err := dec.Decode(&root); err != nil {
		return Fail("the result was too long and could not be shortened: %v", err).JSON
	}
	root["shortened"] = fmt.Sprintf("%d bytes were too many; what was left out is marked", len(object))
	if kept != "" {
		root["full_result"] = kept
	}
	// Escapes make lengths inexact, so aim, look, and aim lower.
	for budget := limit; budget > limit/8; budget -= budget / 4 {
		tree := clone(root).(map[string]any)
		for _, cut := range []func(map[string]any, int){cutStrings, cutLists} {
			cut(tree, budget)
			if out, err := Marshal(tree); err == nil && len(out) <= limit {
				return out
			}
		}
	}
	last := map[string]any{"shortened": root["shortened"], "preview": CutMiddle(string(object), limit/3)}
	if kept != "" {
		last["full_result"] = kept
	}
	out, err := Marshal(last)
	if err != nil || len(out) > limit {
		return Fail("the result was too long to show").JSON
	}
	return out
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for name, x := range v {
			m[name] = clone(x)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = clone(x)
		}
		return list
	}
	return v
}

// edit calls change for each node of a JSON value and replaces the node by its result.
func edit(v any, change func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			v[name] = edit(x, change)
		}
	case []any:
		for i, x := range v {
			v[i] = edit(x, change)
		}
	}
	return change(v)
}

// cutStrings finds the length to which the longest strings have to come down for
// the whole to fit, and cuts them there.
func cutStrings(tree map[string]any, budget int) {
	over := Size(tree) - budget
	if over <= 0 {
		return
	}
	var lengths []int
	edit(tree, func(v any) any {
		if s, ok := v.(string); ok {
			lengths = append(lengths, Size(s))
		}
		return v
	})
	slices.SortFunc(lengths, func(a, b int) int { return b - a })
	level := shortestCut
	for n, sum := 0, 0; n < len(lengths); n++ {
		sum += lengths[n]
		next := 0
		if n+1 < len(lengths) {
			next = lengths[n+1]
		}
		// Cutting the n+1 longest down to the next saves enough.
		if sum-(n+1)*next >= over {
			level = max((sum-over)/(n+1), shortestCut)
			break
		}
	}
	edit(tree, func(v any) any {
		s, ok := v.(string)
		if !ok || Size(s) <= level {
			return v
		}
		// The share of s that its escaped form has room for.
		share := float64(len(s)) / float64(Size(s))
		return CutMiddle(s, int(share*float64(level-cutNote)))
	})
}

// cutLists leaves out the ends of the longest lists until the whole fits.
func cutLists(tree map[string]any, budget int) {
	for range 20 {
		over := Size(tree) - budget
		if over <= 0 {
			return
		}
		longest := 0
		edit(tree, func(v any) any {
			if list, ok := v.([]any); ok && len(list) > 1 {
				longest = max(longest, Size(list))
			}
			return v
		})
		if longest == 0 {
			return
		}
		done := false
		edit(tree, func(v any) any {
			list, ok := v.([]any)
			if !ok || done || len(list) < 2 || Size(list) < longest {
				return v
			}
			done = true
			share := max(float64(longest-over)/float64(longest), 0.1)
			return list[:max(1, min(len(list)-1, int(float64(len(list))*share)))]
		})
		tree["shortened_lists"] = "the ends of long lists are left out"
		if _, paged := tree["next_offset"]; paged {
			delete(tree, "next_offset") // it would skip the text that was cut
			tree["shortened_lists"] = "the ends of long lists are left out; ask for fewer with limit"
		}
	}
}

func Size(v any) int {
	data, err := Marshal(v)
	if err != nil {
		return 0
	}
	return len(data)
}

// cutMiddle keeps the first two fifths and the last three of about limit bytes.
func CutMiddle(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	head, tail := limit*2/5, len(s)-limit*3/5
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d bytes left out …]\n%s", s[:head], tail-head, s[tail:])
}
