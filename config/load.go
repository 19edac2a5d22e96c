package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
)

// fileLimit is the most bytes of a settings file. Parsing YAML needs hundreds of times its size.
const fileLimit = 256 << 10

// mostProblems limits the reported problems of a source.
const mostProblems = 30

// Options are the sources beside the files in the home directory. All are optional.
type Options struct {
	Environ []string        // the process environment, "NAME=value"
	Init    json.RawMessage // the editor's initializationOptions: the user's
	Editor  json.RawMessage // workspace/configuration, section hermes: perhaps the repository's
	Folders []string        // workspace folders, for their .hermes/config.yaml
	Kept    bool            // an earlier configuration stays in effect if the user's file is broken
}

// Problem is a part of a source that does not apply.
type Problem struct {
	Source string // a file's path, or the name of another source
	Line   int    // 1-based; 0 if the source has no lines
	Text   string // the mistake and its effect
}

func (p Problem) String() string {
	if p.Line > 0 {
		return fmt.Sprintf("%s:%d: %s", p.Source, p.Line, p.Text)
	}
	return p.Source + ": " + p.Text
}

// Loaded is a configuration with its source data.
type Loaded struct {
	*Config
	Home     string
	Problems []Problem
	// Broken: the user's file could not be parsed. If there is an earlier configuration, keep it.
	Broken   bool
	schema   *Schema
	tree     map[string]any    // the values set by the sources
	environ  map[string]string // the process's, over .env
	envLines map[string]int    // the lines of the variables in .env
	detached Keys              // of endpoints replaced by a higher source
	line     func(key string) (source string, line int)
}

// LineOf returns the line of a key in the highest source with this key. If the source is no file,
// it returns 0.
func LineOf(l *Loaded, key string) int {
	_, line := l.placeOf(key)
	return line
}

// placeOf returns the source of a key, and its line. If the line is not known yet, it is 0.
func (l *Loaded) placeOf(key string) (source string, line int) {
	if l.line == nil {
		return "", 0
	}
	return l.line(key)
}

// Home returns the directory of settings and sessions: $HERMES_HOME, or ~/.hermes.
func Home(environ []string) string {
	env := environMap(environ)
	if home := env["HERMES_HOME"]; home != "" {
		return filepath.Clean(home)
	}
	if home := env["HOME"]; home != "" {
		return filepath.Join(home, ".hermes")
	}
	if home, err := os.UserHomeDir(); err == nil {
		return filepath.Join(home, ".hermes")
	}
	return ".hermes"
}

// Path returns the path of config.yaml in home.
func Path(home string) string { return filepath.Join(home, "config.yaml") }

// WorkspaceFile is the file for a repository's settings, in a workspace folder.
const WorkspaceFile = ".hermes/config.yaml"

// Load reads all sources. It does not fail: unusable sources and keys are reported in Problems, and
// a lower source or the default applies.
func (s *Schema) Load(home string, o Options) *Loaded {
	r := &reader{kept: o.Kept}
	l := &Loaded{Config: Default(), Home: home, schema: s}
	l.environ, l.envLines = r.environ(home, o.Environ)

	var repo []source
	for _, folder := range o.Folders {
		if file := filepath.Join(folder, filepath.FromSlash(WorkspaceFile)); file != Path(home) {
			repo = append(repo, r.repository(folder, file))
		}
	}
	repo = append(repo, r.json("workspace/configuration", o.Editor, false))

	// In rising precedence. A repository never overrides a setting of the user.
	sources := append(repo,
		r.yaml(Path(home), true),
		environSource(s.root, o.Environ),
		r.json("initializationOptions", o.Init, true))
	l.Problems, l.Broken = r.problems, r.broken
	tree := map[string]any{}
	for _, from := range sources {
		clean, problems := from.check(s.root)
		if more := len(problems) - mostProblems; more > 0 {
			problems = append(problems[:mostProblems], Problem{Source: from.name, Text: fmt.Sprintf("has %d more problems", more)})
		}
		l.Problems = append(l.Problems, problems...)
		l.detachKeys(tree, from, clean)
		merge(tree, clean)
	}
	l.fill(tree)
	if r.lost && !sets(tree, "sandbox.mode") {
		l.Sandbox.Mode = lostMode
	}
	if r.lost && !sets(tree, "model.provider") && !sets(tree, "model.base_url") {
		l.Model.Provider = lostProvider
	}
	checkRepoModels(l, sources)
	l.line = func(key string) (string, int) { return written(sources, key) }
	l.checkProvider(tree, l.line)
	l.checkRoutes(l.line)
	return l
}

// lostProvider is the model.provider if the user's file is no YAML: no key of the environment decides where prompts go.
const lostProvider = "unknown, because config.yaml is no YAML"

// lostMode is the sandbox.mode if the user's file is no YAML. Its settings for the sandbox, the
// backend and denied commands are unknown, so commands are rejected.
const lostMode = "unknown, because config.yaml is no YAML"

// written returns the highest source with key, and the line.
func written(sources []source, key string) (name string, line int) {
	for _, s := range slices.Backward(sources) {
		if sets(s.tree, key) {
			return s.name, s.lines[key]
		}
	}
	return "configuration", 0
}

func sets(tree map[string]any, key string) bool {
	if _, whole := tree[key]; whole { // names may have dots in them
		return true
	}
	head, rest, more := strings.Cut(key, ".")
	value, there := tree[head]
	inner, deeper := value.(map[string]any)
	return there && (!more || deeper && sets(inner, rest))
}

// fill decodes the merged tree over the defaults. The tree has been checked, so a failure is a
// defect of the program. It is reported as a problem.
func (l *Loaded) fill(tree map[string]any) {
	l.tree = tree
	data, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(data, l.Config)
	}
	if err != nil {
		l.problem("configuration", 0, fmt.Sprintf("cannot be used: %v; the defaults apply", err))
		l.Config = Default()
	}
}

// Section decodes the section of a feature into a pointer to its settings. Unset keys keep their
// defaults. If the schema lacks the section, or into is of another type, it panics.
func (l *Loaded) Section(name string, into any) {
	defaults, ok := l.schema.defaults[name]
	if !ok {
		panic(fmt.Sprintf("config.yaml has no section %s", name))
	}
	settings := reflect.New(reflect.TypeOf(defaults))
	copyJSON(defaults, settings.Interface())
	if set, ok := l.tree[name]; ok {
		copyJSON(set, settings.Interface())
	}
	reflect.ValueOf(into).Elem().Set(settings.Elem())
}

// SectionOf returns the settings of a feature's section.
func SectionOf[T any](l *Loaded, name string) (settings T) {
	l.Section(name, &settings)
	return settings
}

// copyJSON decodes the JSON of a value over another. Both have been checked.
func copyJSON(from, into any) {
	data, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		panic(fmt.Sprintf("settings that were checked cannot be decoded: %v", err))
	}
}

// Values returns the value of each key as it applies now, as JSON values.
func (l *Loaded) Values() map[string]any {
	tree := treeOf(l.Config)
	sections := map[string]any{}
	for name, defaults := range l.schema.defaults {
		settings := reflect.New(reflect.TypeOf(defaults))
		l.Section(name, settings.Interface())
		sections[name] = settings.Interface()
	}
	for name, value := range treeOf(sections) {
		tree[name] = value
	}
	return tree
}

// valueAt returns the value of a dotted key. If there is none, it returns false.
func valueAt(tree map[string]any, key string) (value any, ok bool) {
	value = tree
	for name := range strings.SplitSeq(key, ".") {
		section, _ := value.(map[string]any)
		if value, ok = section[name]; !ok {
			return nil, false
		}
	}
	return value, true
}

// Getenv returns a variable of the process environment, else of .env. If neither sets it, it
// returns "".
func (l *Loaded) Getenv(name string) string { return l.environ[name] }

// Persona returns the text of the chosen personality. If none is chosen, it returns "".
func (l *Loaded) Persona() string { return l.Agent.Personalities[l.Agent.Personality] }

func (l *Loaded) problem(source string, line int, text string) {
	l.Problems = append(l.Problems, Problem{Source: source, Line: line, Text: text})
}

// nested converts dotted keys, which settings editors send, to nested objects.
func nested(tree map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range tree {
		if inner, ok := value.(map[string]any); ok {
			value = nested(inner)
		}
		head, rest, dotted := strings.Cut(key, ".")
		if dotted && strings.Count(key, ".") < mostNested {
			key, value = head, nested(map[string]any{rest: value})
		}
		merge(out, map[string]any{key: value})
	}
	return out
}

// merge copies src over dst. Objects are merged key by key, other values are replaced.
func merge(dst, src map[string]any) {
	for key, value := range src {
		if from, ok := value.(map[string]any); ok {
			if to, ok := dst[key].(map[string]any); ok {
				merge(to, from)
				continue
			}
		}
		dst[key] = value
	}
}

// Problems returns the parts of a joined error as problems of a source.
func Problems(source string, err error) []Problem {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []Problem
		for _, one := range joined.Unwrap() {
			all = append(all, Problems(source, one)...)
		}
		return all
	}
	return []Problem{{Source: source, Text: err.Error()}}
}
