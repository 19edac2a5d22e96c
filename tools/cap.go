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
	shortestCut      = 200     // minimum bytes of a shortened string
	cutNote          = 48      // approximate bytes of the note in a cut
)

// capped shortens a result over its tool's cap. The result stays a JSON object of the same shape:
// the longest strings lose their middle, then the longest lists lose their end. full_result names a
// file with the whole result.
func (s *Set) capped(env *Env, t Tool, r Result) Result {
	limit := t.ResultCap
	if limit <= 0 {
		limit = defaultResultCap
	}
	if len(r.JSON) <= limit {
		return r
	}
	if s.Forget != nil {
		s.Forget() // the model does not get the removed text
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

// savedOutput returns the file with the whole of a result that an earlier call shortened.
func savedOutput(object json.RawMessage) string {
	var cut struct {
		Full string `json:"full_result"`
	}
	if !bytes.Contains(object, []byte(`"full_result":`)) || json.Unmarshal(object, &cut) != nil {
		return ""
	}
	return cut.Full
}

// saveOutput writes a whole result to the session's output directory. It breaks JSON into lines, so
// the model can read parts of it.
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

// cutStrings shortens the longest strings to a common length at which the whole fits.
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
		// The part of s whose escaped form fits.
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
			delete(tree, "next_offset") // it would skip the removed text
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
