package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// reader reads the sources of a configuration. An unreadable source is a problem and sets nothing.
type reader struct {
	kept     bool              // see Options.Kept
	env      map[string]string // of the process, for references in .env
	problems []Problem
	broken   bool // see Loaded.Broken
	lost     bool // the user's file is broken, so its settings are unknown
}

func (r *reader) problem(source string, line int, text string) {
	r.problems = append(r.problems, Problem{Source: source, Line: line, Text: text})
}

// repository reads a repository's settings. It does not follow a link out of the folder.
func (r *reader) repository(folder, file string) source {
	data, err := textfile.ReadBelow(folder, filepath.FromSlash(WorkspaceFile), fileLimit)
	return r.decode(file, data, err, false)
}

func (r *reader) yaml(file string, trusted bool) source {
	data, err := textfile.Read(file, fileLimit)
	return r.decode(file, data, err, trusted)
}

func (r *reader) decode(file string, data []byte, err error, trusted bool) source {
	if errors.Is(err, fs.ErrNotExist) {
		return source{}
	}
	if err != nil {
		r.broken = r.broken || trusted
		r.problem(file, unreadableLine(err), fmt.Sprintf("cannot be read: %v; %s", unreadable(err), r.instead(trusted)))
		return source{}
	}
	s, err := parseYAML(file, data)
	if err != nil {
		r.broken = r.broken || trusted
		problem, instead := "is no YAML", r.instead(trusted)
		if complex := (*complexError)(nil); errors.As(err, &complex) {
			problem = "is too complex"
		} else if trusted && !r.kept {
			r.lost = true
			instead = "nothing of it applies. Until you fix it, no request is sent and commands are rejected"
		}
		r.problem(file, errorLine(err), fmt.Sprintf("%s: %s; %s", problem, errorText(err), instead))
		return source{}
	}
	if s.trusted = trusted; trusted {
		translate(s.tree)
	}
	return s
}

// instead describes the settings that apply while a file is broken.
func (r *reader) instead(trusted bool) string {
	if r.kept && trusted {
		return "the last valid settings stay in effect"
	}
	return "nothing of it applies"
}

func (r *reader) json(name string, data json.RawMessage, trusted bool) source {
	if len(data) == 0 || string(data) == "null" {
		return source{}
	}
	tree := map[string]any{}
	if err := json.Unmarshal(data, &tree); err != nil {
		r.problem(name, 0, "is no JSON object; nothing of it applies")
		return source{}
	}
	return source{name: name, tree: nested(tree), trusted: trusted}
}

// unreadable returns err with a text to follow "cannot be read:".
func unreadable(err error) error {
	var kind *safefile.KindError
	if errors.As(err, &kind) {
		return fmt.Errorf("it %w", kind)
	}
	return err
}

// unreadableLine returns the line named by a read error. If it names none, it returns 0.
func unreadableLine(err error) int {
	var encoding *textfile.EncodingError
	if errors.As(err, &encoding) {
		return encoding.Line
	}
	return 0
}

// environ returns the variables of .env in home, overridden by the process environment. lines holds
// the lines of variables set by .env.
func (r *reader) environ(home string, environ []string) (out map[string]string, lines map[string]int) {
	file := EnvPath(home)
	data, err := textfile.Read(file, fileLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.problem(file, unreadableLine(err), fmt.Sprintf("cannot be read: %v; nothing of it applies", unreadable(err)))
	}
	r.env = environMap(environ)
	found := r.dotenv(file, string(data))
	for name, value := range r.env {
		found.values[name] = value
		delete(found.lines, name)
	}
	return found.values, found.lines
}
