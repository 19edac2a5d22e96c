package codeexec

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// hint is a usual mistake and its correction.
type hint struct {
	pattern func() *regexp.Regexp // matches the end of the error output
	// text returns "" if the hint does not apply
	text func(r *Runner, m []string, python Python, names []string) string
}

// pattern compiles an expression at its first use.
func pattern(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

var mistakes = [...]hint{
	{pattern(`cannot import name '(\w+)' from 'hermes_tools'`), func(_ *Runner, m []string, _ Python, names []string) string {
		return fmt.Sprintf("hermes_tools has no %s in this session; it has %s, json_parse, shell_quote and retry. Use other tools as normal tool calls.", m[1], strings.Join(names, ", "))
	}},
	{pattern(`module 'hermes_tools' has no attribute '(\w+)'`), func(_ *Runner, m []string, _ Python, names []string) string {
		return fmt.Sprintf("hermes_tools has no %s in this session; it has %s, json_parse, shell_quote and retry. Use other tools as normal tool calls.", m[1], strings.Join(names, ", "))
	}},
	{pattern(`NameError: name '(\w+)' is not defined`), func(_ *Runner, m []string, _ Python, names []string) string {
		if !slices.Contains(append([]string{"json_parse", "shell_quote", "retry"}, names...), m[1]) {
			return ""
		}
		return fmt.Sprintf("Import it first: `from hermes_tools import %s`.", m[1])
	}},
	{pattern(`ModuleNotFoundError: No module named '([\w.]+)'`), func(r *Runner, m []string, p Python, _ []string) string {
		text := fmt.Sprintf("The script ran with %s (%s, %s), where %s is not installed. Use the standard library, or install it there: `%s -m pip install …`.", p.Path, p.Version, p.Why, m[1], p.Path)
		if r.strict() {
			text += " In strict mode the workspace's own modules and packages are not importable."
		}
		return text
	}},
	{pattern(`TypeError: string indices must be integers`), dictHint},
	{pattern(`AttributeError: '(?:dict|Result)' object has no attribute '\w+'`), dictHint},
	{pattern(`TypeError: .*(?:expected str|must be str|can only concatenate str).*(?:dict|Result)`), dictHint},
	{pattern(`FileNotFoundError: `), func(*Runner, []string, Python, []string) string {
		return "Paths are relative to the directory that the script runs in. Look for the file first, such as with search_files."
	}},
	{pattern(`EOFError: EOF when reading a line`), func(*Runner, []string, Python, []string) string {
		return "A script has no input: put the values into the code."
	}},
	{pattern(`MemoryError`), func(r *Runner, _ []string, _ Python, _ []string) string {
		return fmt.Sprintf("A script may use %d MB of memory: work on parts of the data, line by line.", r.cfg.MaxMemoryMB)
	}},
	{pattern(`(?:BlockingIOError|OSError).*Resource temporarily unavailable|can't start new thread`), func(r *Runner, _ []string, _ Python, _ []string) string {
		return fmt.Sprintf("A script may have %d processes and threads at a time.", r.cfg.MaxProcs)
	}},
}

func dictHint(*Runner, []string, Python, []string) string {
	return `The functions return dicts, not text: use result["content"] of read_file, result["output"] of terminal, result["matches"] of search_files, and look for result.get("error").`
}

// hints returns at most one hint, or "".
func (r *Runner) hints(e ending, status string, python Python, code string) string {
	switch status {
	case "success":
		return successHint(e, code)
	case "error":
	default:
		return ""
	}
	var names []string
	for _, t := range e.functions {
		names = append(names, t.Name)
	}
	last := e.errs[max(0, len(e.errs)-4000):]
	for _, h := range mistakes {
		if m := h.pattern().FindStringSubmatch(last); m != nil {
			if text := h.text(r, m, python, names); text != "" {
				return text
			}
		}
	}
	if m := wrongArguments().FindStringSubmatch(last); m != nil {
		for _, t := range e.functions {
			if takes, _, _ := strings.Cut(t.Script, " → "); t.Name == m[1] {
				return fmt.Sprintf("The function is %s%s. Correct the call and send the whole script again.", t.Name, takes)
			}
		}
	}
	wrongSyntax := strings.Contains(last, "SyntaxError") || strings.Contains(last, "IndentationError") || strings.Contains(last, "TabError")
	if (wrongSyntax || strings.Contains(last, "NameError")) && shellLike().MatchString(code) {
		return "code has to be Python. Run shell commands with terminal."
	}
	if text := r.exitHint(e); text != "" {
		return text
	}
	switch {
	case wrongSyntax && scriptLike().MatchString(code):
		return "code has to be Python. Nothing was run. Run other languages with terminal."
	case wrongSyntax && !strings.Contains(last, "Traceback"):
		return "Nothing was run. Correct the line and send the whole script again."
	case strings.Contains(last, "Traceback"):
		return "The script ended there, and what it had changed stays. Correct it and send it whole again."
	}
	return ""
}

// wrongArguments matches the error of a call of a function with other parameters.
var wrongArguments = pattern(`TypeError: (\w+)\(\) (?:got an unexpected|got multiple|missing \d+ required|takes )`)

// scriptLike matches code in JavaScript or TypeScript.
var scriptLike = pattern(`(?m)\bconsole\.log\(|^\s*(?:const|let|var|function|import .* from) |=>|;\s*$`)

// shellLike matches code in the form of a shell command.
var shellLike = pattern(`^\s*(?:#!.*sh\b|[!%]\s?[a-z]|(?:cd|ls|git|npm|npx|pip|make|go|cargo|echo|cat|grep|find|sudo|rm|mkdir|export|curl|docker)\s|[a-z][\w.-]* --?[a-z])`)

// exitHint explains why a process was killed.
func (r *Runner) exitHint(e ending) string {
	switch e.exit.Limit {
	case proc.LimitMemory:
		return fmt.Sprintf("It was ended because it used more than %d MB of memory: work on parts of the data, line by line.", r.cfg.MaxMemoryMB)
	case proc.LimitProcesses:
		return fmt.Sprintf("It was ended because it started more than %d processes.", r.cfg.MaxProcs)
	}
	switch e.exit.Signal {
	case "SIGKILL":
		return "It was killed (SIGKILL), often for lack of memory."
	case "SIGSEGV":
		return "It crashed on invalid memory (SIGSEGV)."
	}
	return ""
}

// successHint returns a hint for a script that succeeded but was not needed.
func successHint(e ending, code string) string {
	switch {
	case strings.TrimSpace(e.out) == "" && strings.TrimSpace(e.errs) == "":
		return "The script printed nothing, and only what it prints comes back."
	case e.calls == 1 && len(e.record) == 1 && strings.Count(strings.TrimSpace(code), "\n") < 5:
		return fmt.Sprintf("For a single call a script is not needed: call %s directly.", e.record[0].Tool)
	case e.calls == 0 && shellOnly().MatchString(code) && strings.Count(strings.TrimSpace(code), "\n") < 5:
		return "For a shell command a script is not needed: call terminal directly."
	}
	return ""
}

var shellOnly = pattern(`\b(?:os\.system|subprocess\.(?:run|call|check_call|check_output|Popen))\(`)
