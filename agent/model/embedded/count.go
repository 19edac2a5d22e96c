package embedded

import (
	"fmt"
	"strings"
)

var counts = pattern(`(?i)\bcount\b.*\bwith a script\b`)

// countingScript looks into every Python file and prints a table.
const countingScript = `from hermes_tools import read_file, search_files

files = search_files("*.py", target="files")["files"]
total = 0
for path in sorted(files):
    lines = read_file(path)["total_lines"]
    functions = search_files(r"^\s*def ", path=path)["total_count"]
    imports = search_files(r"^(import|from) ", path=path)["total_count"]
    total += lines
    print(f"{lines:5} lines {functions:3} functions {imports:3} imports  {path}")
print(f"{total:5} lines in {len(files)} files")
`

// count does work of many calls in one, by a script.
func count(c *conversation) (reply, bool) {
	if !counts().MatchString(c.prompt) {
		return nil, false
	}
	if !c.has("execute_code", "read_file", "search_files") {
		return say("For that I would need execute_code, read_file and search_files, and they are not all offered in this session. " + standIn), true
	}
	ran, at := c.last("execute_code")
	if at < 0 {
		return append(say("A script can look into every file and tell only the counts. "),
			callTool("execute_code", map[string]any{"code": countingScript})), true
	}
	r := ran.result
	if r.Error != "" || r.Status != "success" {
		return say(fmt.Sprintf("The script did not work: %s%s", r.Error, r.Errors)), true
	}
	return say(fmt.Sprintf("The script made %d calls and printed:\n\n%s", r.ToolCalls,
		quoted(strings.Split(strings.TrimRight(r.Output, "\n"), "\n")))), true
}
