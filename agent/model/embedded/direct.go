package embedded

import (
	"fmt"
	"regexp"
	"strings"
)

// directives are lines that say what to call.
var directives = [...]struct {
	pattern func() *regexp.Regexp
	call    func(m []string) step
}{
	{pattern("(?i)^read `?([^\\s`]+)`?$"), func(m []string) step { return readFile(m[1]) }},
	{pattern("(?i)^run `?(.+?)`?$"), func(m []string) step { return runCommand(m[1]) }},
	{pattern("(?i)^search (?:for )?`?(.+?)`?$"), func(m []string) step {
		return callTool("search_files", map[string]any{"pattern": m[1]})
	}},
	{pattern("(?is)^write `?([^\\s`:]+)`?: ?(.+)$"), func(m []string) step {
		return callTool("write_file", map[string]any{"path": m[1], "content": strings.TrimSuffix(m[2], "\n") + "\n"})
	}},
	{pattern("(?i)^replace `?(.+?)`? (?:with|by) `?(.*?)`? in `?([^\\s`]+)`?$"), func(m []string) step {
		return callTool("patch", map[string]any{"path": m[3], "old_string": m[1], "new_string": m[2]})
	}},
}

// prose begins what follows a verb in a sentence and not in a directive.
var prose = pattern(`(?i)^(read|run|search|write|replace) (the|them|all|my|our|it|this|that|these|a|an|tests?)( |$)`)

// direct follows a prompt whose every line is a directive (or one "write", whose
// text may have more lines): one call a reply, then what came out.
func direct(c *conversation) (reply, bool) {
	calls := parseDirectives(c.prompt)
	if len(calls) == 0 {
		return nil, false
	}
	if n := len(c.turn); n < len(calls) && (n == 0 || c.turn[n-1].result.Error == "") {
		next := calls[n]
		if !c.has(next.Call.Name) {
			return say(fmt.Sprintf("`%s` is not offered to me in this session.", next.Call.Name)), true
		}
		return reply{next}, true
	}
	var b strings.Builder
	for _, d := range c.turn {
		b.WriteString(report(d))
	}
	return say(b.String()), true
}

func parseDirectives(prompt string) []step {
	if one, ok := parseDirective(prompt); ok && one.Call.Name == "write_file" {
		return []step{one}
	}
	var calls []step
	for line := range strings.Lines(prompt) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		one, ok := parseDirective(line)
		if !ok {
			return nil
		}
		calls = append(calls, one)
	}
	return calls
}

func parseDirective(line string) (step, bool) {
	if prose().MatchString(line) {
		return step{}, false
	}
	for _, d := range directives {
		if m := d.pattern().FindStringSubmatch(line); m != nil {
			return d.call(m), true
		}
	}
	return step{}, false
}

// report says what a call gave.
func report(d done) string {
	r := d.result
	switch {
	case r.Error != "":
		return fmt.Sprintf("`%s` failed: %s\n", d.name, r.Error)
	case d.name == "read_file":
		return fmt.Sprintf("%s has %d lines:\n\n%s", d.arg("path"), r.TotalLines, quoted(unnumbered(r.Content)))
	case d.name == "terminal" && r.ExitCode != nil:
		return fmt.Sprintf("`%s` ended with exit code %d:\n\n%s", d.arg("command"), *r.ExitCode, quoted(strings.Split(strings.TrimSpace(r.Output), "\n")))
	case d.name == "search_files":
		var lines []string
		for _, m := range r.Matches {
			lines = append(lines, fmt.Sprintf("%s:%d: %s", m.Path, m.Line, strings.TrimSpace(m.Content)))
		}
		return fmt.Sprintf("`%s` was found %d times:\n\n%s", d.arg("pattern"), r.TotalCount, quoted(lines))
	case d.name == "patch":
		return fmt.Sprintf("%s is changed:\n\n```diff\n%s\n```\n", d.arg("path"), strings.TrimSpace(r.Diff))
	case d.name == "write_file":
		return fmt.Sprintf("%s is written, %d bytes.\n", d.arg("path"), r.BytesWritten)
	default:
		return fmt.Sprintf("`%s` is done.\n", d.name)
	}
}

const maxQuoted = 20 // lines

// quoted fences lines, the first of them.
func quoted(lines []string) string {
	more := ""
	if len(lines) > maxQuoted {
		more = fmt.Sprintf("… %d more lines\n", len(lines)-maxQuoted)
		lines = lines[:maxQuoted]
	}
	return "````\n" + strings.Join(lines, "\n") + "\n" + more + "````\n"
}
