package alias

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mvdan.cc/sh/v3/syntax"
)

// The tools whose calls are translated by more than names.
const (
	terminal = "terminal"
	reading  = "read_file"
	writing  = "write_file"
	patching = "patch"
	finding  = "search_files"
	planning = "todo"
	fetching = "web_extract"
	asking   = "clarify"
	handing  = "delegate_task"
	running  = "execute_code"
	keeping  = "memory"
	saving   = "checkpoint"
	serving  = "lsp"
	managing = "process"
)

// early run before parameters are renamed, fixes after it.
var (
	early = map[string]func(*Call){
		reading: readRange, fetching: addressInPrompt,
		terminal: shellInput, asking: oneQuestion, handing: goalInMessage, finding: searchFlags, running: language,
		writing: writeMode, keeping: memoryAction, saving: actionOfName, serving: symbolQuery,
	}
	fixes = map[string]func(*Call){
		terminal: shellCommand, patching: patchEdits, finding: searchPattern, planning: todoItems,
		handing: taskItems, managing: processAction, running: codeLines, fetching: addresses,
	}
)

// retarget changes the tool if the arguments require it.
func (c *Call) retarget() {
	switch {
	case c.Tool == patching && c.text("command") != "":
		c.editorCommand()
	case c.viaIs("fswrite") && c.Args["old_str"] == nil && c.Args["oldStr"] == nil:
		c.Tool = writing
	case c.Tool == terminal && c.Args["code"] != nil && c.Args["command"] == nil && c.viaIs("run", "execute", "exec"):
		c.Tool = running
	case c.Tool == reading && c.viaIs("tree", "directorytree", "listfilesrecursive", "printtree"):
		path, _ := c.take("path", "dir_path", "directory", "folder", "dirPath")
		c.Tool, c.Args = finding, map[string]any{"target": "files", "pattern": "**"}
		if s, ok := path.(string); ok && s != "" {
			c.Args["path"] = s
		}
	case c.Tool == reading && isTrue(c.Args["recursive"]):
		path, _ := c.take("path", "dir_path", "directory", "target_directory")
		c.Tool, c.Args = finding, map[string]any{"target": "files", "pattern": "*"}
		if path != nil {
			c.Args["path"] = path
		}
	case c.Tool == terminal:
		argv, ok := strs(c.Args["command"])
		if ok && len(argv) == 2 && argv[0] == "apply_patch" {
			c.Tool, c.Args = patching, map[string]any{"patch": argv[1]}
		}
	}
}

// editorCommand reads a call of an editor tool with commands.
func (c *Call) editorCommand() {
	command, _ := c.take("command")
	switch command {
	case "view":
		c.Tool = reading
	case "create", "write":
		c.Tool = writing
	case "str_replace", "replace", "edit":
	default:
		c.fail("%s has no command %v. Change lines with patch: copy lines of the file into old_string, and the lines that replace them into new_string. Nothing was changed.", c.Via, command)
	}
}

// number reads an integer, quoted or not.
func number(v any) (int, bool) {
	n, err := strconv.Atoi(fmt.Sprint(v))
	return n, err == nil
}

// lineRange is a text such as 3-5, 3:5 or [3, 5].
var lineRange = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*[\[(]?\s*[Ll]?(\d+)\s*[-:,–]\s*[Ll]?(-?\d+)\s*[\])]?\s*$`)
})

// rangeOf reads a first and a last line.
func rangeOf(v any) (first, last int, ok bool) {
	if s, isText := v.(string); isText {
		m := lineRange().FindStringSubmatch(s)
		if m == nil {
			return 0, 0, false
		}
		first, _ = strconv.Atoi(m[1])
		last, _ = strconv.Atoi(m[2])
		return first, last, true
	}
	list, isList := v.([]any)
	if !isList || len(list) != 2 {
		return 0, 0, false
	}
	first, one := number(list[0])
	last, two := number(list[1])
	return first, last, one && two
}

// lastLines are names for the last line to read.
var lastLines = []string{"end_line", "endLine", "EndLine", "end_line_one_indexed_inclusive", "end", "line_end", "to_line", "last_line", "endline"}

// readRange turns a first and a last line into offset and limit.
func readRange(c *Call) {
	for _, name := range []string{"view_range", "range", "line_range", "lineRange", "lines"} {
		if first, last, ok := rangeOf(c.Args[name]); ok {
			c.take(name)
			c.Args["offset"], c.Args["end_line"] = json.Number(strconv.Itoa(first)), json.Number(strconv.Itoa(last))
		} else if name == "view_range" && isNothing(c.Args[name]) {
			c.take(name)
		}
	}
	last, ok := 0, false
	for _, name := range lastLines {
		if n, given := number(c.Args[name]); given && !ok {
			last, ok = n, true
		}
	}
	if !ok {
		return
	}
	c.take(lastLines...)
	first := 1
	for _, name := range []string{"offset", "start_line", "startLine", "StartLine", "start_line_one_indexed", "start", "line_start", "from_line", "first_line", "startline"} {
		if n, given := number(c.Args[name]); given && n > 0 {
			first = n
		}
	}
	if last >= first {
		c.Args["limit"] = json.Number(strconv.Itoa(last - first + 1))
	}
}

// writeMode rejects a write that must append to a file or not overwrite it: write_file replaces the
// whole file.
func writeMode(c *Call) {
	mode, _ := c.take("mode", "write_mode")
	added, _ := c.take("append")
	keeps, given := c.take("overwrite")
	switch m := plain(fmt.Sprint(mode)); {
	case m == "append" || m == "a" || m == "a+" || isTrue(added):
		c.fail("write_file replaces the whole file, so nothing was written. To add lines at the end, use patch: old_string is the last line of the file, new_string the same line and the new ones.")
	case given && isFalse(keeps):
		c.fail("write_file replaces a file that exists, so nothing was written. If it may be replaced or does not exist, leave overwrite out.")
	}
}

// actionOfName sets the action from the tool name, as in restore_checkpoint.
func actionOfName(c *Call) {
	if c.Tool == c.Via || c.Args["action"] != nil {
		return
	}
	name := strings.ToLower(withoutSpace(c.Via))
	for _, word := range append([]string{name}, strings.Split(snake(name), "_")...) {
		if ours, ok := value(c.Tool, "action", word); ok {
			c.Args["action"] = ours
			return
		}
		for _, ours := range parsed().of[c.Tool].values["action"] {
			if ours == word {
				c.Args["action"] = ours
				return
			}
		}
	}
}

// symbolQuery sets the action, and reads the symbol to search for in the workspace.
func symbolQuery(c *Call) {
	actionOfName(c)
	if action := plain(fmt.Sprint(c.Args["action"])); c.Args["query"] == nil && (action == "find" || action == "workspacesymbol" || action == "workspacesymbols") {
		for _, name := range []string{"symbol", "name", "symbol_name", "name_path", "symbolName"} {
			if v, ok := c.take(name); ok {
				c.Args["query"] = v
				return
			}
		}
	}
}

// memoryAction sets the action for a tool that only saves.
func memoryAction(c *Call) {
	if c.Tool != c.Via && c.Args["action"] == nil && c.Args["operations"] == nil && c.Args["old_text"] == nil {
		c.Args["action"] = "add"
	}
}

// shellInput reads parameters about how a command runs.
func shellInput(c *Call) {
	if v, _ := c.take("is_input", "isInput"); isTrue(v) {
		c.fail("This types into a running command, and none was started here. Start it with background=true; then use process with action=write, its session_id and data.")
	}
}

// shellCommand reads a command given as a list of arguments, and other units of timeout.
func shellCommand(c *Call) {
	if argv, ok := strs(c.Args["command"]); ok {
		if len(argv) > 1 && strings.ContainsAny(argv[0], " ;|&\n") {
			c.fail("command is one text, not a list of commands. Nothing was run. Join them with && in one text, or make a call for each.")
			return
		}
		c.Args["command"] = commandLine(argv)
	}
	if args, given := c.take("args", "arguments", "argv"); given {
		argv, ok := strs(args)
		switch s, isText := args.(string); {
		case ok:
			c.Args["command"] = c.text("command") + " " + quotedWords(argv)
		case isText:
			c.Args["command"] = strings.TrimSpace(c.text("command") + " " + s)
		case !isNothing(args):
			c.Args["args"] = args
		}
	}
	c.Args["command"] = c.bareCommand(c.Args["command"])
	if c.Args["command"] == nil {
		delete(c.Args, "command")
	}
	v, ok := c.Args["timeout"]
	if !ok {
		return
	}
	if s, isText := v.(string); isText {
		if d, ok := durationOf(s); ok {
			c.Args["timeout"] = json.Number(strconv.FormatFloat(d.Seconds(), 'f', -1, 64))
			return
		}
	}
	n, ok := number(v)
	switch {
	case ok && n == 0:
		delete(c.Args, "timeout")
	case ok && n >= 1000 && c.Via != terminal: // the other agents count milliseconds
		c.Args["timeout"] = milliseconds(v)
		c.notes = append(c.notes, fmt.Sprintf("timeout is in seconds: %d was read as %v", n, c.Args["timeout"]))
	}
}

var (
	units  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d+(?:\.\d+)?)\s*([a-z]+)$`) })
	fenced = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?s)^```[a-z]*\\n(.*?)\\n?```$") })
)

// durationOf reads a time such as 30s, 2 minutes or 1m30s.
func durationOf(text string) (time.Duration, bool) {
	text = strings.ToLower(strings.TrimSpace(text))
	if d, err := time.ParseDuration(text); err == nil {
		return d, true
	}
	m := units().FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	unit := map[string]time.Duration{
		"sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
		"min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
		"hr": time.Hour, "hour": time.Hour, "hours": time.Hour, "millisecond": time.Millisecond, "milliseconds": time.Millisecond,
	}[m[2]]
	return time.Duration(n * float64(unit)), err == nil && unit > 0
}

// Decorated reports whether a command in valid arguments is wrapped in a Markdown fence or preceded
// by a shell prompt.
func Decorated(tool string, args []byte) bool {
	return tool == terminal && (bytes.Contains(args, []byte("```")) || bytes.Contains(args, []byte(`"$ `)))
}

// bareCommand takes a command out of a fence of Markdown, and drops the prompt before it.
func (c *Call) bareCommand(v any) any {
	text, ok := v.(string)
	if !ok {
		return v
	}
	bare := strings.TrimSpace(text)
	if m := fenced().FindStringSubmatch(bare); m != nil {
		bare = m[1]
	}
	bare = strings.TrimPrefix(bare, "$ ")
	if bare == strings.TrimSpace(text) {
		return v
	}
	c.notes = append(c.notes, "the command alone was run, without what stands around it")
	return bare
}

// milliseconds returns a number of milliseconds in seconds.
func milliseconds(v any) any {
	if n, ok := number(v); ok {
		return json.Number(strconv.FormatFloat(float64(n)/1000, 'f', -1, 64))
	}
	return v
}

// commandLine returns the text of a command given as arguments.
func commandLine(argv []string) string {
	if len(argv) == 1 {
		return argv[0]
	}
	program := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	if len(argv) == 3 && slices.Contains([]string{"bash", "sh", "zsh"}, program) && slices.Contains([]string{"-c", "-lc", "-ic", "-lic"}, argv[1]) {
		return argv[2]
	}
	return quotedWords(argv)
}

// quotedWords returns arguments as a shell reads them.
func quotedWords(argv []string) string {
	var words []string
	for _, arg := range argv {
		word, err := syntax.Quote(arg, syntax.LangBash)
		if err != nil {
			word = strconv.Quote(arg)
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// fileTypes are names of file types that differ from the extension.
var fileTypes = map[string]string{
	"rust": "rs", "python": "py", "javascript": "js", "typescript": "ts", "ruby": "rb", "markdown": "md", "bash": "sh", "golang": "go", "kotlin": "kt", "csharp": "cs",
}

var shortName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9+]{1,12}$`) })

// searchFlags reads the flags of grep.
func searchFlags(c *Call) {
	if c.viaIs("glob", "filesearch", "findpath", "findfiles", "findbyname", "globtool", "find", "fd", "findfile", "filefind", "listmatchingfiles", "globsearch") {
		if _, given := c.Args["target"]; !given {
			c.Args["target"] = "files"
		}
	}
	around := 0
	for _, name := range []string{"-A", "-B", "-C"} {
		if n, ok := number(c.Args[name]); ok {
			around = max(around, n)
			delete(c.Args, name)
		}
	}
	if around > 0 {
		c.Args["context"] = json.Number(strconv.Itoa(around))
	}
	if glob, ok := c.Args["glob"]; ok && c.Args["pattern"] == nil {
		c.Args["pattern"] = glob
		delete(c.Args, "glob")
	}
	if kind := strings.ToLower(c.text("type")); shortName().MatchString(kind) {
		c.take("type")
		if ending, ok := fileTypes[kind]; ok {
			kind = ending
		}
		c.Args["file_glob"] = "*." + kind
	}
	for _, name := range []string{"regex", "regexp", "is_regexp"} {
		if v, isBool := c.Args[name].(bool); isBool {
			c.take(name)
			if !v {
				c.Args["literal"] = true
			}
		}
	}
	if v, _ := c.take("multiline"); isTrue(v) {
		c.fail("search_files matches within a line; multiline does not exist here. Search for a text of one line, with context for the lines around it.")
	}
}

// searchPattern applies flags for the pattern, and reads other values.
func searchPattern(c *Call) {
	literal, given := c.take("isRegexp", "is_regexp", "isRegex", "is_regex", "IsRegex")
	exact, _ := c.take("literal", "fixed_strings", "-F", "FixedStrings")
	exactly := given && isFalse(literal) || isTrue(exact)
	anyCase, _ := c.take("-i", "ignore_case", "ignoreCase", "case_insensitive", "CaseInsensitive")
	sensitive, _ := c.take("case_sensitive", "caseSensitive", "CaseSensitive")
	if list, ok := strs(c.Args["pattern"]); ok && len(list) > 1 && c.Args["target"] != "files" {
		for i, one := range list {
			if exactly {
				one = regexp.QuoteMeta(one)
			}
			list[i] = one
		}
		exactly = false
		c.Args["pattern"] = "(?:" + strings.Join(list, ")|(?:") + ")"
		c.notes = append(c.notes, fmt.Sprintf("pattern is one regular expression: %v", c.Args["pattern"]))
	}
	if list, ok := strs(c.Args["file_glob"]); ok && len(list) > 1 {
		c.Args["file_glob"] = "{" + strings.Join(list, ",") + "}"
	}
	if c.Args["pattern"] == nil && c.text("file_glob") != "" {
		c.Args["pattern"], c.Args["target"] = c.Args["file_glob"], "files"
		c.take("file_glob")
	}
	if c.Args["pattern"] == nil && c.Args["target"] == "files" {
		c.Args["pattern"] = "" // all files; the result says so
	}
	if pattern := c.text("pattern"); pattern != "" && c.Args["target"] != "files" {
		if exactly {
			pattern = regexp.QuoteMeta(pattern)
		}
		if isTrue(anyCase) || isFalse(sensitive) {
			pattern = "(?i)" + pattern
		}
		c.Args["pattern"] = pattern
	}
	switch c.text("output_mode") {
	case "files_with_matches", "files", "paths", "files-with-matches":
		c.Args["output_mode"] = "files_only"
	}
}

// edits are blocks of a search and a replacement, as Cline, Roo Code and Aider write them.
var blocks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?ms)^(?:-{5,9}|<{5,9}) SEARCH>?[ \t]*\n(?::start_line:\s*\d+\s*\n)?(?::end_line:\s*\d+\s*\n)?(?:-{5,9}[ \t]*\n)?(.*?)^={5,9}[ \t]*\n(.*?)^(?:\+{5,9}|>{5,9}) REPLACE`)
})

// patchEdits reads other shapes of an edit.
func patchEdits(c *Call) {
	whole := c.Args["patch"] != nil && c.Args["patch"] != ""
	switch mode := c.text("mode"); {
	case mode == "replace" && whole && c.Args["old_string"] == nil:
		c.Args["mode"] = patching
	case mode == patching && !whole && c.Args["old_string"] != nil && c.Args["new_string"] != nil:
		c.Args["mode"] = "replace"
	}
	if sketch, ok := c.Args["edits"].(string); ok && !strings.HasPrefix(strings.TrimSpace(sketch), "[") {
		c.fail("%s takes no text of changes. Nothing was changed. Copy lines of the file into old_string, and send new_string.", c.Tool)
		return
	}
	if found := blocks().FindAllStringSubmatch(c.text("diff")+"\n", -1); len(found) > 0 {
		delete(c.Args, "diff")
		var list []any
		for _, m := range found {
			list = append(list, map[string]any{"old_string": m[1], "new_string": m[2]})
		}
		c.Args["edits"] = list
	}
	list, _ := decoded(c.Args["edits"]).([]any)
	for i, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return
		}
		renamed(m, "path", "file_path", "filePath", "file", "filename", "target_file")
		renamed(m, "old_string", "old_str", "oldString", "old_text", "oldText", "search", "find", "original")
		renamed(m, "new_string", "new_str", "newString", "new_text", "newText", "replace", "replacement", "updated")
		renamed(m, "replace_all", "replaceAll", "allow_multiple")
		if path, ok := m["path"]; ok {
			if have, given := c.Args["path"]; given && have != path {
				c.fail("patch takes edits of one file, and edit %d is of another one. Nothing was changed. Call patch once for each file, or use mode=patch.", i+1)
				return
			}
			c.Args["path"] = path
			delete(m, "path")
		}
		delete(m, "explanation")
		delete(m, "description")
	}
	if list != nil {
		c.Args["edits"] = list
	}
}

// decoded reads a JSON text. Other values stay.
func decoded(v any) any {
	if s, ok := v.(string); ok && json.Valid([]byte(s)) {
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		var inner any
		if dec.Decode(&inner) == nil {
			return inner
		}
	}
	return v
}

// statuses are other names of an item's state.
var statuses = map[string]string{
	"todo": "pending", "notstarted": "pending", "open": "pending", "new": "pending",
	"done": "completed", "complete": "completed", "finished": "completed",
	"doing": "in_progress", "active": "in_progress", "started": "in_progress",
	"canceled": "cancelled", "skipped": "cancelled",
}

// todoItems reads items of other agents' plans. If no item has an id, the ids are numbers.
func todoItems(c *Call) {
	list, ok := decoded(c.Args["todos"]).([]any)
	if !ok {
		list, ok = checklist(c.text("todos"))
	}
	if m, isObject := decoded(c.Args["todos"]).(map[string]any); isObject {
		if list, ok = ListIn(m); !ok {
			list, ok = []any{m}, true
		}
	}
	if !ok {
		if c.Args["todos"] != nil {
			c.fail(`todos is not a list. The plan is as it was. Send todos as [{"id": "1", "content": "…", "status": "pending"}].`)
		}
		return
	}
	var items []map[string]any
	for _, v := range list {
		m, ok := object(v, "content")
		if !ok {
			return
		}
		renamed(m, "content", "title", "step", "description", "text", "task", "name")
		renamed(m, "status", "state")
		if s, ok := m["status"].(string); ok && statuses[plain(s)] != "" {
			m["status"] = statuses[plain(s)]
		}
		for name := range m {
			if name != "id" && name != "content" && name != "status" {
				delete(m, name)
			}
		}
		items = append(items, m)
	}
	taken := map[string]bool{}
	for _, m := range items {
		taken[fmt.Sprint(m["id"])] = true
	}
	out := make([]any, len(items))
	for i, m := range items {
		if id := strconv.Itoa(i + 1); m["id"] == nil && !taken[id] && m["content"] != nil {
			m["id"], taken[id] = id, true
		}
		out[i] = m
	}
	c.Args["todos"] = out
}

var checkItem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*(?:[-*+]|\d+[.)])?\s*\[([ xX~/-])\]\s*(\S.*?)\s*$`)
})

// checklist reads a list in Markdown, such as "- [x] Fix it".
func checklist(text string) (items []any, ok bool) {
	for _, m := range checkItem().FindAllStringSubmatch(text, -1) {
		status := map[string]string{" ": "pending", "x": "completed", "X": "completed"}[m[1]]
		if status == "" {
			status = "in_progress"
		}
		items = append(items, map[string]any{"content": m[2], "status": status})
	}
	return items, len(items) > 0 && len(items) == len(strings.Fields(strings.TrimSpace(checkItem().ReplaceAllString(text, "x"))))
}

// goalInMessage reads a new subagent whose goal has another name.
func goalInMessage(c *Call) {
	if c.Args["action"] != nil || c.Args["goal"] != nil || c.Args["tasks"] != nil || c.Args["prompt"] != nil {
		return
	}
	for _, name := range []string{"message", "description"} {
		if v, ok := c.take(name); ok {
			c.Args["goal"] = v
			return
		}
	}
}

// taskItems reads tasks given as texts.
func taskItems(c *Call) {
	list, ok := decoded(c.Args["tasks"]).([]any)
	if !ok {
		return
	}
	for i, v := range list {
		if m, ok := object(v, "goal"); ok {
			renamed(m, "goal", "prompt", "task", "objective", "description")
			list[i] = m
		}
	}
	c.Args["tasks"] = list
}

// processAction sets the action from the tool name.
func processAction(c *Call) {
	if id, ok := c.Args["session_id"].(json.Number); ok {
		c.Args["session_id"] = id.String()
	}
	if c.Args["action"] != nil || c.Tool == c.Via {
		return
	}
	name := plain(c.Via)
	switch {
	case strings.Contains(name, "kill") || strings.Contains(name, "stop") || strings.Contains(name, "terminate"):
		c.Args["action"] = "kill"
	case strings.Contains(name, "write") && c.text("data") != "":
		c.Args["action"] = "write"
	default:
		delete(c.Args, "data")
		c.Args["action"] = "log"
	}
}

// language drops the name of the language, if it is Python.
func language(c *Call) {
	v, ok := c.take("language", "lang")
	if ok && !slices.Contains([]string{"python", "py", "python3", "ipython"}, strings.ToLower(fmt.Sprint(v))) {
		c.fail("execute_code runs Python only. Nothing was run. Write the script in Python, or run %v with terminal.", v)
	}
}

// codeLines joins a script given as a list of lines.
func codeLines(c *Call) {
	if lines, ok := strs(c.Args["code"]); ok {
		c.Args["code"] = strings.Join(lines, "\n")
	}
}

var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s"'<>)\]]+`) })

// addressInPrompt extracts the addresses from a prompt if they occur nowhere else.
func addressInPrompt(c *Call) {
	if c.Args["urls"] != nil || c.Args["url"] != nil {
		return
	}
	var urls []any
	for _, u := range address().FindAllString(c.text("prompt"), -1) {
		urls = append(urls, strings.TrimRight(u, ".,;"))
	}
	if len(urls) > 0 {
		c.Args["urls"] = urls
	}
}

// addresses reads addresses given as objects or as a single text.
func addresses(c *Call) {
	urls := decoded(c.Args["urls"])
	if text, ok := urls.(string); ok {
		var list []any
		for _, one := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(", \n\t", r) }) {
			if !strings.HasPrefix(one, "http://") && !strings.HasPrefix(one, "https://") {
				return
			}
			list = append(list, one)
		}
		if len(list) > 1 {
			c.Args["urls"] = list
		}
		return
	}
	list, ok := urls.([]any)
	for i, v := range list {
		if m, isObject := v.(map[string]any); isObject {
			renamed(m, "url", "link", "href", "address", "uri")
			if url, isText := m["url"].(string); isText {
				list[i] = url
			}
		}
	}
	if ok {
		c.Args["urls"] = list
	}
}

// oneQuestion reads a list of one question, whose options may be objects.
func oneQuestion(c *Call) {
	if list, ok := decoded(c.Args["questions"]).([]any); ok {
		m, isObject := map[string]any{}, false
		if len(list) == 1 {
			m, isObject = object(list[0], "question")
		}
		if !isObject {
			c.fail("clarify asks one question. Nothing was asked. Call it with the most important one, as question and choices.")
			return
		}
		c.take("questions")
		maps.Copy(c.Args, m)
		c.take("id", "type")
	}
	for _, name := range []string{"options", "choices"} {
		list, ok := decoded(c.Args[name]).([]any)
		if !ok {
			continue
		}
		for i, v := range list {
			if m, ok := v.(map[string]any); ok {
				renamed(m, "label", "text", "title", "value")
				list[i] = m["label"]
			}
		}
		c.Args[name] = list
	}
}
