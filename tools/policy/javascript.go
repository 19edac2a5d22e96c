package policy

import "regexp"

// Ways of JavaScript to reach a function without its name.
var (
	jsSystem  = lazily("([\\w$]+)\\s*=\\s*(?:await\\s+)?(?:require|import)\\s*\\(\\s*['\"`](?:node:)?(?:fs|fs/promises|child_process|process|module|vm|worker_threads)['\"`]|\\*\\s+as\\s+([\\w$]+)\\s+from\\s*['\"`](?:node:)?(?:fs|child_process)")
	jsDetours = lazily("\\bprocess\\s*\\.\\s*(binding|dlopen|_linkedBinding)\\b|\\.constructor\\s*(\\.\\s*constructor\\s*)?\\(|\\b(setTimeout|setInterval|setImmediate)\\s*\\(\\s*['\"`]|" +
		"\\bimport\\s*\\(\\s*['\"`](data|https?):|\\beval\\s*:\\s*true|\\bmodule\\s*\\.\\s*_load\\b|\\._load\\s*\\(|\\bglobalThis\\s*\\[")
	jsEscape = lazily("\\\\u(\\{|[0-9a-fA-F]{4})")
)

// scriptDetours requires approval for JavaScript that reaches functions by a detour.
func (j *analyzer) scriptDetours(c *call, code string) {
	const reason = "runs code that is made up while it runs"
	if jsDetours().MatchString(code) || escapedName(code) {
		j.ask(c, reason)
		return
	}
	names := []string{"fs", "child_process", "Deno", "Bun", `require\(['"\x60](?:node:)?(?:fs|child_process)['"\x60]\)`}
	for _, m := range jsSystem().FindAllStringSubmatch(code, -1) {
		for _, name := range m[1:] {
			if name != "" {
				names = append(names, regexp.QuoteMeta(name))
			}
		}
	}
	for _, name := range names {
		reached := regexp.MustCompile(`\b(?:Object|Reflect)\s*\.\s*\w+\s*\(\s*` + name + `\b|\bin\s+` + name + `\s*\)|\b` + name + `\s*(?:\?\.)?\[\s*[^'"\s\]]`)
		if reached.MatchString(code) {
			j.ask(c, reason)
			return
		}
	}
}

// escapedName tells whether a name is spelled with an escape, as no one writes it.
func escapedName(code string) bool {
	for _, at := range jsEscape().FindAllStringIndex(code, -1) {
		if at[0] > 0 && (wordByte(code[at[0]-1]) || code[at[0]-1] == '.') {
			return true
		}
	}
	return false
}
