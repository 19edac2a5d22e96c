package learnings

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/hermes-ls/hermes-ls/tools"
)

// attempt is a call as it counts here: the program or tool, and its arguments as text.
type attempt struct {
	program string // with the subcommand, such as "go mod"; for a tool its name
	text    string // the whole command or the arguments
}

// withSubcommands are programs that select one of many functions by their first argument.
var withSubcommands = strings.Fields("apt apt-get brew bundle cargo composer conda deno docker dotnet gem gh git go gradle helm kubectl make mvn npm npx pip pip3 pipx pnpm podman poetry rustup systemctl terraform uv yarn")

// servers is the extension of the MCP tools.
const servers = "mcp"

// maxCommand limits the length of inspected commands, in bytes.
const maxCommand = 4000

// attemptOf returns a call as an attempt: a command, a script, or a call of an MCP tool. If it
// is none of these, or too long, ok is false.
func attemptOf(t tools.Tool, args json.RawMessage) (a attempt, ok bool) {
	if !t.RunsCommands {
		counts := t.Kind == tools.KindExecute || t.Owner == servers
		return attempt{t.Name, string(args)}, counts && len(args) <= maxCommand
	}
	var in struct{ Command string }
	if json.Unmarshal(args, &in) != nil || in.Command == "" || len(in.Command) > maxCommand {
		return attempt{}, false
	}
	program := programOf(in.Command)
	return attempt{program, strings.TrimSpace(in.Command)}, program != ""
}

// programOf returns the program of the first simple command except cd, with its subcommand.
func programOf(command string) (program string) {
	file, err := syntax.NewParser().Parse(strings.NewReader(command), "")
	if err != nil {
		return ""
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok || program != "" {
			return program == ""
		}
		var words []string
		for _, w := range call.Args {
			words = append(words, w.Lit())
		}
		for len(words) > 1 && slices.Contains([]string{"sudo", "env", "command", "exec", "time", "nice"}, words[0]) {
			words = words[1:]
		}
		if len(words) == 0 || words[0] == "" || words[0] == "cd" {
			return true
		}
		program = path.Base(words[0])
		if len(words) > 1 && slices.Contains(withSubcommands, program) && words[1] != "" && words[1][0] != '-' {
			program += " " + words[1]
		}
		return false
	})
	return program
}

// ofCommand matches errors about a command itself: its program, option, module, script, rights,
// version or arguments. Errors of the project, such as a failed test, do not match.
var ofCommand = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)` + strings.Join([]string{
		`command not found`, `: not found\b`, `no such (option|command|module|table|image|target|package|service|script)`, `cannot find (module|package|command)`,
		`\b(command|program|module|package|script|executable|crate|image|interpreter)\b[^\n]{0,80}\bnot found`,
		`(unknown|unrecognized|unrecognised|invalid|illegal|unexpected|unsupported|bad) (option|flag|argument|command|subcommand|switch|action|parameter|shorthand|choice|predicate|key|field|property|type|module|package|script|tool)`,
		`is not an? [\w-]+ (command|subcommand|option)`, `not a git repository`,
		`(flag|option) provided but not defined`, `no module named`, `is not recognized`, `^usage:`,
		`missing (required )?(script|argument|option|parameter|operand|module)`, `requires? (an? )?(argument|value|python|node|version|go|root)`,
		`permission denied`, `operation not permitted`, `externally[- ]managed`, `not permitted`, `access denied`, `must be (run as|root)`,
		`connection refused`, `certificate`, `\b(ssl|tls) `, `version (mismatch|conflict)`, `incompatible`, `not supported`,
		`(is|are) required`, `wrong number of arguments`, `too (many|few) arguments`,
		`^[\w./-]*sh: (line \d+: )?\S+: no such file or directory`, `can't open file`, `no rule to make target`,
		`no matching distribution`, `unable to locate package`, `is not in this registry`, `unknown [\w-]+ (option|flag|argument|command)`,
		`\beconnrefused\b`, `requires a different`, `\bversion\b[^\n]{0,80}\bnot found`,
		`: expected (\w+ )+arguments?`, `required arguments? (was|were) not provided`, `invalid value [^\n]{0,80}\bfor (flag )?\W?-`, `accepts [\w ]{0,40}\d+ args?\b`, `needs an argument`, `missing [\w-]+ operand`,
	}, "|"))
})

const (
	maxError  = 500      // bytes of a stored error
	maxOutput = 64 << 10 // last bytes of an output to inspect
	lastLines = 3
)

// failureOf returns the error of a failed call: the last three telling lines. If the call
// succeeded, or its error is not about the command itself, it returns "".
func failureOf(r tools.Result) (text string) {
	var out struct {
		Output   string
		Errors   string
		Error    string
		ExitCode int `json:"exit_code"`
	}
	if json.Unmarshal(r.JSON, &out) != nil || out.ExitCode == 0 && out.Error == "" && !r.IsError {
		return ""
	}
	all := out.Output + "\n" + out.Errors + "\n" + out.Error
	all = all[max(0, len(all)-maxOutput):]
	var telling []string
	for line := range strings.Lines(all) {
		if line = strings.TrimSpace(tools.StripControl(line)); line != "" && ofCommand().MatchString(line) {
			telling = append(telling, line)
		}
	}
	if len(telling) == 0 {
		return ""
	}
	return strings.Join(telling[max(0, len(telling)-lastLines):], "\n")
}

// clean reports whether a result shows no sign of a failure. It does not decode the result, because
// it is called for each result. In a text within JSON, the quotes would be escaped.
func clean(r tools.Result) bool {
	return !r.IsError && (bytes.Contains(r.JSON, []byte(`"exit_code":0`)) || !bytes.Contains(r.JSON, []byte(`"exit_code":`)))
}

// succeeded reports whether a call has worked.
func succeeded(r tools.Result) bool {
	var out struct {
		Error       string
		ExitCode    int    `json:"exit_code"`
		Status      string // of a script
		Interrupted bool
		Background  bool
	}
	return !r.IsError && json.Unmarshal(r.JSON, &out) == nil && out.Error == "" && out.ExitCode == 0 && !out.Interrupted && !out.Background && (out.Status == "" || out.Status == "success")
}

// changing are the parts in which equal errors differ, and their replacements.
var changing = sync.OnceValue(func() (all []struct {
	re *regexp.Regexp
	by string
}) {
	for _, c := range [][2]string{
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?([.,]\d+)?(Z|[+-]\d\d:?\d\d)?`, "TIME"},
		{`\b\d\d:\d\d:\d\d\b`, "TIME"},
		{`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`, "ID"},
		{`\b0x[0-9a-fA-F]+\b|\b[0-9a-f]{7,}\b`, "ID"},
		{`\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\[[0-9a-f:]+\](:\d+)?`, "ADDRESS"},
		{`(?:[A-Za-z]:)?(?:[\w.@~+-]*[/\\])+[\w@~+-]*((?:\.\w+)*)`, "PATH$1"},
		{`\d+`, "N"},
		{`\s+`, " "},
	} {
		all = append(all, struct {
			re *regexp.Regexp
			by string
		}{regexp.MustCompile(c[0]), c[1]})
	}
	return all
})

// fingerprint returns the same value for errors that differ only in times, ids, addresses, numbers
// and paths.
func fingerprint(program, failure string) string {
	for _, c := range changing() {
		failure = c.re.ReplaceAllString(failure, c.by)
	}
	sum := sha256.Sum256([]byte(program + "\n" + failure))
	return hex.EncodeToString(sum[:])
}
