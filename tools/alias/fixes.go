package alias

import (
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
)

// early run before parameters get our names, fixes after it.
var (
	early = map[string]func(*Call){
		reading: readRange, fetching: addressInPrompt,
		terminal: shellInput, asking: oneQuestion, handing: goalInMessage, finding: searchFlags, running: language,
	}
	fixes = map[string]func(*Call){
		terminal: shellCommand, patching: patchEdits, finding: searchPattern, planning: todoItems,
		handing: taskItems, "process": processAction, running: codeLines, reading: onePath,
	}
)

// retarget changes the tool if the arguments say so.
func (c *Call) retarget() {
	switch {
	case c.Tool == patching && c.text("command") != "":
		c.editorCommand()
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

// number reads a whole number, also one in quotes.
func number(v any) (int, bool) {
	n, err := strconv.Atoi(fmt.Sprint(v))
	return n, err == nil
}

// readRange turns a first and a last line into offset and limit.
func readRange(c *Call) {
	if list, ok := c.Args["view_range"].([]any); ok && len(list) == 2 {
		c.take("view_range")
		c.Args["offset"], c.Args["end_line"] = list[0], list[1]
	}
	last, ok := number(c.Args["end_line"])
	for _, name := range []string{"endLine", "EndLine", "end_line_one_indexed_inclusive", "end"} {
		if n, given := number(c.Args[name]); given && !ok {
			last, ok = n, true
		}
	}
	if !ok {
		return
	}
	c.take("end_line", "endLine", "EndLine", "end_line_one_indexed_inclusive", "end")
	first := 1
	for _, name := range []string{"offset", "start_line", "startLine", "StartLine", "start_line_one_indexed", "start"} {
		if n, given := number(c.Args[name]); given && n > 0 {
			first = n
		}
	}
	if last >= first {
		c.Args["limit"] = json.Number(strconv.Itoa(last - first + 1))
	}
}

// onePath rejects a list of paths. The model makes several calls.
func onePath(c *Call) {
	if _, ok := c.take("paths", "files", "file_paths"); ok {
		c.fail(`read_file reads one file. Nothing was read. Call it once for each path, as {"path": "…"}; several calls may stand in one response.`)
	}
}

// shellInput reads parameters that say how a command runs.
func shellInput(c *Call) {
	if v, _ := c.take("is_input", "isInput"); isTrue(v) {
		c.fail("This types into a running command, and none was started here. Start it with background=true; then use process with action=write, its session_id and data.")
	}
}

// shellCommand reads a command that is a list of arguments, and other units of timeout.
func shellCommand(c *Call) {
	if argv, ok := strs(c.Args["command"]); ok {
		c.Args["command"] = commandLine(argv)
	}
	v, ok := c.Args["timeout"]
	if !ok {
		return
	}
	if s, isText := v.(string); isText {
		if d, err := time.ParseDuration(strings.TrimSpace(s)); err == nil {
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

// milliseconds returns a number of milliseconds in seconds.
func milliseconds(v any) any {
	if n, ok := number(v); ok {
		return json.Number(strconv.FormatFloat(float64(n)/1000, 'f', -1, 64))
	}
	return v
}

// commandLine returns the text of a command that is given as arguments.
func commandLine(argv []string) string {
	if len(argv) == 1 {
		return argv[0]
	}
	program := argv[0][strings.LastIndexByte(argv[0], '/')+1:]
	if len(argv) == 3 && slices.Contains([]string{"bash", "sh", "zsh"}, program) && slices.Contains([]string{"-c", "-lc", "-ic", "-lic"}, argv[1]) {
		return argv[2]
	}
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

// fileTypes are names of file types that are not the ending.
var fileTypes = map[string]string{
	"rust": "rs", "python": "py", "javascript": "js", "typescript": "ts", "ruby": "rb", "markdown": "md", "bash": "sh", "golang": "go", "kotlin": "kt", "csharp": "cs",
}

var shortName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9+]{1,12}$`) })

// searchFlags reads the flags of grep.
func searchFlags(c *Call) {
	if c.viaIs("glob", "filesearch", "findpath", "findfiles", "findbyname", "globtool") {
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
	if v, _ := c.take("multiline"); isTrue(v) {
		c.fail("search_files matches within a line; multiline does not exist here. Search for a text of one line, with context for the lines around it.")
	}
}

// searchPattern applies flags that change the pattern, and reads other values.
func searchPattern(c *Call) {
	literal, given := c.take("isRegexp", "is_regexp", "isRegex", "is_regex", "IsRegex")
	exact, _ := c.take("literal", "fixed_strings", "-F", "FixedStrings")
	exactly := given && isFalse(literal) || isTrue(exact)
	anyCase, _ := c.take("-i", "ignore_case", "ignoreCase", "case_insensitive", "CaseInsensitive")
	sensitive, _ := c.take("case_sensitive", "caseSensitive", "CaseSensitive")
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
		if c.Args["todos"] != nil && c.Tool != c.Via {
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
	named := slices.ContainsFunc(items, func(m map[string]any) bool { return m["id"] != nil })
	out := make([]any, len(items))
	for i, m := range items {
		if !named {
			m["id"] = strconv.Itoa(i + 1)
		}
		out[i] = m
	}
	c.Args["todos"] = out
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

// taskItems reads tasks that are texts.
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

// processAction sets the action that the name of the tool says.
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

// codeLines joins a script that is a list of lines.
func codeLines(c *Call) {
	if lines, ok := strs(c.Args["code"]); ok {
		c.Args["code"] = strings.Join(lines, "\n")
	}
}

var address = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`https?://[^\s"'<>)\]]+`) })

// addressInPrompt takes the addresses out of a prompt, if they stand nowhere else.
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
