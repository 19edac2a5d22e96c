// Package editorconfig reads the .editorconfig settings for the bytes of a new file: end_of_line,
// insert_final_newline and charset. Other settings, such as indentation, affect the text and are
// not read.
//
// The files may come from a repository. Whatever they contain, reading takes little time and
// memory: the known library expands a range such as {1..999999999} number by number.
package editorconfig

import (
	"path"
	"strings"
)

// Name is the name of the files.
const Name = ".editorconfig"

// Limit bounds the size of such a file. Longer files are not read.
const Limit = 256 << 10

const (
	maxGlob  = 1024    // bytes of a glob; the minimum required by the specification
	maxSteps = 4 << 20 // bounds the work of matching, about 50 ms; ordinary files need a hundredth
)

// Settings are the settings for a single file. The zero value has none.
type Settings struct {
	values map[string]string
	steps  int // of matching
}

var known = map[string]bool{"end_of_line": true, "insert_final_newline": true, "charset": true}

// Add reads an .editorconfig file. name is the path of the new file, relative to the directory of
// the .editorconfig, with slashes. Add must be called for the nearest directory first: existing
// settings stay. If the file contains "root = true", Add returns true: files in parent directories
// do not apply.
func (s *Settings) Add(name string, text []byte) (root bool) {
	found := map[string]string{}
	section, applies := "", false
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		if line[0] == '[' {
			section, applies = sectionOf(line), false
			// The glob is compared at its first known setting, which most sections do not have.
			continue
		}
		key, value := pair(line)
		switch {
		case section == "":
			root = root || key == "root" && value == "true"
		case known[key]:
			if section != matched {
				applies, section = s.matches(section, name), matched
			}
			if applies {
				found[key] = value
			}
		}
	}
	for key, value := range found {
		if _, nearer := s.values[key]; !nearer {
			if s.values == nil {
				s.values = map[string]string{}
			}
			s.values[key] = value
		}
	}
	return root
}

// Two sections without a glob to match.
const (
	matched = "\x00matched" // the glob has been compared
	invalid = "\x00invalid"
)

// sectionOf returns the glob of a line such as "[*.go]".
func sectionOf(line string) string {
	end := strings.LastIndexByte(line, ']')
	if end <= 1 || end > maxGlob {
		return invalid
	}
	return line[1:end]
}

// pair returns the key and the value of a line, in small letters. A comment may follow the value.
func pair(line string) (key, value string) {
	key, value, _ = strings.Cut(line, "=")
	for _, comment := range []string{" #", " ;", "\t#", "\t;"} {
		value, _, _ = strings.Cut(value, comment)
	}
	return strings.ToLower(strings.TrimSpace(key)), strings.ToLower(strings.TrimSpace(value))
}

// matches reports whether a glob matches a path. After too much work it returns false.
func (s *Settings) matches(glob, name string) bool {
	if glob == invalid {
		return false
	}
	if s.steps += len(glob) * (len(name) + 64); s.steps > maxSteps {
		return false
	}
	return match(glob, path.Clean(name))
}

// LineEnd is "\n" or "\r\n"; empty: not set. Line ends of only "\r" count as not set: the tools
// would read such a file as one line.
func (s Settings) LineEnd() string {
	return map[string]string{"lf": "\n", "crlf": "\r\n"}[s.values["end_of_line"]]
}

// FinalLineEnd reports whether a text must end with a line end. If the setting is missing, set is
// false.
func (s Settings) FinalLineEnd() (want, set bool) {
	value := s.values["insert_final_newline"]
	return value == "true", value == "true" || value == "false"
}

// Charset is the charset as the files name it, such as "utf-8-bom"; empty: not set.
func (s Settings) Charset() string {
	if value := s.values["charset"]; value != "unset" {
		return value
	}
	return ""
}
