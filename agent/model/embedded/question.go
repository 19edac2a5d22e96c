package embedded

import (
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
)

var asks = pattern(`(?i)\?|^(what|how|why|where|which|who|explain|describe|summari[sz]e|review|document|tell)\b`)

const maxRead = 3 // files read for an answer

// question answers from what stands in the workspace, or in what the editor
// attached.
func question(c *conversation) (reply, bool) {
	if !asks().MatchString(c.prompt) {
		return nil, false
	}
	if len(c.seen) > 0 && len(c.turn) == 0 { // attached: that is what the question is about
		return say(explain(c)), true
	}
	if !c.has("search_files", "read_file") {
		return say("To answer that I would have to read, and read_file and search_files are not offered in this session. " + standIn), true
	}
	if !c.listed() {
		return append(say("Let me look. "), listFiles()), true
	}
	var calls []step
	for _, f := range worthReading(c) {
		if !c.wasAsked(f) && c.count("read_file")+len(calls) < maxRead {
			calls = append(calls, readFile(f))
		}
	}
	if len(calls) > 0 {
		return calls, true
	}
	return say(explain(c)), true
}

func (c *conversation) wasAsked(file string) bool {
	return slices.ContainsFunc(c.turn, func(d done) bool { return d.name == "read_file" && d.arg("path") == file })
}

// worthReading are the files that the question is about: those it names, the
// README, those that the README names, those whose name has a word of it.
func worthReading(c *conversation) []string {
	files := c.files()
	var out []string
	add := func(f string) {
		if f != "" && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	for _, name := range namedFiles(c.prompt) {
		add(listed(files, name))
	}
	for _, f := range files {
		if strings.HasPrefix(strings.ToLower(f), "readme") {
			add(f)
		}
	}
	for _, d := range c.seen {
		if strings.HasPrefix(strings.ToLower(path.Base(d.path)), "readme") {
			for _, name := range namedFiles(d.text()) {
				add(listed(files, name))
			}
		}
	}
	for _, f := range files {
		stem := strings.TrimSuffix(path.Base(f), path.Ext(f))
		if slices.ContainsFunc(words(c.prompt), func(w string) bool { return strings.Contains(stem, w) }) {
			add(f)
		}
	}
	if len(out) == 0 {
		for _, f := range files {
			if isSource(f) {
				add(f)
			}
		}
	}
	return out
}

var fileName = pattern(`[\w./-]*\w\.[A-Za-z]{1,5}\b`)

func namedFiles(text string) []string { return fileName().FindAllString(text, -1) }

func isSource(f string) bool {
	switch path.Ext(f) {
	case ".py", ".go", ".rs", ".js", ".ts", ".lua", ".c", ".java", ".rb":
		return !strings.Contains(f, "test")
	}
	return false
}

// words of a text that may tell something, in lower case.
func words(text string) []string {
	var out []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' }) {
		w = strings.TrimSuffix(w, "s")
		if len(w) > 3 && !slices.Contains([]string{"what", "doe", "this", "that", "project", "work", "worked", "file", "with", "from", "where", "which", "explain", "describe", "code", "tell", "about"}, w) {
			out = append(out, w)
		}
	}
	return out
}

// explain says what stands in what was read.
func explain(c *conversation) string {
	var b strings.Builder
	for _, d := range c.seen {
		if strings.HasPrefix(strings.ToLower(path.Base(d.path)), "readme") {
			fmt.Fprintf(&b, "%s says:\n\n%s\n", d.path, opening(d))
		}
	}
	for _, d := range c.seen {
		if strings.HasPrefix(strings.ToLower(path.Base(d.path)), "readme") {
			continue
		}
		fmt.Fprintf(&b, "\n%s has %d lines", d.path, len(d.lines))
		if s := summary(d); s != "" {
			fmt.Fprintf(&b, " (“%s”)", s)
		}
		b.WriteString(definitions(d, words(c.prompt)))
	}
	if b.Len() == 0 {
		if files := c.files(); len(files) > 0 {
			return fmt.Sprintf("There are %d files, among them %s, but none that I could read for an answer.", len(files), strings.Join(files[:min(5, len(files))], ", "))
		}
		return "I found no files to answer from."
	}
	b.WriteString("\nThat is what stands there; I do not understand it as a real model would.")
	return strings.TrimSpace(b.String())
}

// opening is the beginning of a README, quoted.
func opening(d document) string {
	var b strings.Builder
	n := 0
	for _, line := range d.lines {
		if line = strings.TrimSpace(line); line == "" && n > 0 {
			continue
		}
		if n++; n > 12 {
			break
		}
		b.WriteString("> " + line + "\n")
	}
	return b.String()
}

// definitions lists functions, those that the question is about first and with the
// lines that give their results.
func definitions(d document, about []string) string {
	defs := outline(d)
	if len(defs) == 0 {
		return ".\n"
	}
	relevance := func(def definition) int {
		n := 0
		for _, w := range about {
			if strings.Contains(strings.ToLower(def.name+" "+def.doc), w) {
				n++
			}
		}
		return n
	}
	sort.SliceStable(defs, func(i, j int) bool { return relevance(defs[i]) > relevance(defs[j]) })
	var b strings.Builder
	b.WriteString(":\n\n")
	for i, def := range defs {
		if i == 8 {
			fmt.Fprintf(&b, "- and %d more\n", len(defs)-i)
			break
		}
		fmt.Fprintf(&b, "- `%s` (%s:%d)", def.head, d.path, def.line)
		if def.doc != "" {
			b.WriteString(": " + def.doc)
		}
		b.WriteString("\n")
		if relevance(def) > 0 {
			for _, line := range d.lines[def.first+1 : def.end] {
				if code := strings.TrimSpace(line); strings.HasPrefix(code, "return ") || strings.HasPrefix(code, "if ") {
					fmt.Fprintf(&b, "  - `%s`\n", code)
				}
			}
		}
	}
	return b.String()
}
