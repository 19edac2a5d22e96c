package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/frontmatter"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Places of a skill, in the order of their precedence.
const (
	Workspace = "workspace"
	User      = "user"
	External  = "external"
	Plugin    = "plugin"
	Bundled   = "bundled"
)

// Skill is a directory with a SKILL.md, without its text.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Place       string `json:"place"`
	Path        string `json:"path"` // of SKILL.md
	Problem     string `json:"error,omitempty"`

	Dir  string `json:"-"` // the skill's directory; empty: it is in the binary
	Tags string `json:"-"` // with spaces between them
	Meta *Meta  `json:"-"`
}

// Meta holds the parts of a frontmatter used by hermes-ls, except name and description.
type Meta struct {
	Platforms        []string `json:"platforms,omitempty"`
	Environment      []string `json:"environment,omitempty"` // required_environment_variables
	RequiresToolsets []string `json:"requires_toolsets,omitempty"`
	RequiresTools    []string `json:"requires_tools,omitempty"`
	FallbackToolsets []string `json:"fallback_toolsets,omitempty"`
	FallbackTools    []string `json:"fallback_tools,omitempty"`
	Config           []Key    `json:"config,omitempty"`
	NotForModel      bool     `json:"not_for_model,omitempty"` // disable-model-invocation
	NotForUser       bool     `json:"not_for_user,omitempty"`  // user-invocable: false
	Hint             string   `json:"hint,omitempty"`          // argument-hint
}

// Key is a setting of a skill. Its value is in skills.config of config.yaml.
type Key struct {
	Name    string `json:"name"`
	Default string `json:"default,omitempty"`
}

// Limits of a skill.
const (
	largestSkill   = 256 << 10 // bytes of SKILL.md
	maxDescription = 1024      // characters
	maxFile        = 1 << 20   // bytes of another file
)

var validName = lazyregexp.New(`^[a-z0-9-]{1,64}$`)

// parse reads a SKILL.md. dir is the name of its directory.
func parse(data []byte, dir string) (s Skill, body string, err error) {
	fields, body, err := frontmatter.Parse(data)
	if body = escape.Visible(body); err != nil {
		return Skill{Name: dir, Meta: &Meta{}}, body, err
	}
	s = Skill{Name: dir, Description: oneLine(fields.Text("description")), Meta: &Meta{}}
	switch {
	case len(fields) == 0:
		return s, body, errors.New("it has no frontmatter")
	case s.Description == "":
		return s, body, errors.New("it has no description")
	}
	if utf8.RuneCountInString(s.Description) > maxDescription {
		s.Description = string([]rune(s.Description)[:maxDescription])
	}
	hermes := fields.Sub("metadata").Sub("hermes")
	s.Tags = strings.Join(append(fields.List("tags"), hermes.List("tags")...), " ")
	s.Meta = &Meta{
		Platforms:        fields.List("platforms"),
		Environment:      environment(fields),
		RequiresToolsets: hermes.List("requires_toolsets"), RequiresTools: hermes.List("requires_tools"),
		FallbackToolsets: hermes.List("fallback_for_toolsets"), FallbackTools: hermes.List("fallback_for_tools"),
		NotForModel: fields.Bool("disable-model-invocation", false), NotForUser: !fields.Bool("user-invocable", true),
		Hint: oneLine(fields.Text("argument-hint")),
	}
	list, _ := hermes["config"].([]any)
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			if key := (frontmatter.Fields)(m); key.Text("key") != "" {
				s.Meta.Config = append(s.Meta.Config, Key{key.Text("key"), key.Text("default")})
			}
		}
	}
	return s, body, nil
}

var validVariable = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`)

// environment returns the names in required_environment_variables (texts, or mappings with a name),
// and the equivalent names in prerequisites.env_vars and setup.collect_secrets.
func environment(fields frontmatter.Fields) (names []string) {
	names = append(fields.List("required_environment_variables"), fields.Sub("prerequisites").List("env_vars")...)
	list, _ := fields["required_environment_variables"].([]any)
	secrets, _ := fields.Sub("setup")["collect_secrets"].([]any)
	for _, item := range slices.Concat(list, secrets) {
		if m, ok := item.(map[string]any); ok {
			one := frontmatter.Fields(m)
			if name := one.Text("name"); name != "" {
				names = append(names, name)
			} else {
				names = append(names, one.Text("env_var"))
			}
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(names, func(name string) bool {
		double := seen[name]
		seen[name] = true
		return double || !validVariable.MatchString(name)
	})
}

// oneLine cleans a text for a list.
func oneLine(text string) string {
	text = escape.Visible(tools.WithoutControls(text))
	last := ' '
	odd := strings.ContainsFunc(text, func(r rune) bool {
		before := last
		last = r
		return unicode.IsSpace(r) && (r != ' ' || before == ' ')
	})
	if odd || last == ' ' {
		return strings.Join(strings.Fields(text), " ")
	}
	return text // most texts are on a single line
}

// here reports whether a skill is for this system. Unknown names of platforms do not hide a skill.
func (m *Meta) here() bool {
	known := false
	for _, p := range m.Platforms {
		for name, goos := range map[string]string{"macos": "darwin", "darwin": "darwin", "linux": "linux", "windows": "windows"} {
			if strings.HasPrefix(strings.ToLower(p), name) {
				if known = true; goos == runtime.GOOS {
					return true
				}
			}
		}
	}
	return !known
}

// offered reports whether the skill is for a session with these toolsets and tools.
func (m *Meta) offered(toolset, tool func(string) bool) bool {
	not := func(f func(string) bool) func(string) bool { return func(name string) bool { return !f(name) } }
	return !slices.ContainsFunc(m.RequiresToolsets, not(toolset)) && !slices.ContainsFunc(m.RequiresTools, not(tool)) &&
		!slices.ContainsFunc(m.FallbackToolsets, toolset) && !slices.ContainsFunc(m.FallbackTools, tool)
}

// command returns the name of the slash command.
func (s *Skill) command() string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '_':
			return '-'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == ':':
			return r
		}
		return -1
	}, strings.ToLower(s.Name))
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	return strings.Trim(name, "-")
}

// standard are the keys of agentskills.io.
var standard = []string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}

// standardName returns the reason why a name violates agentskills.io. Letters and digits of every
// script are allowed.
func standardName(name string) (problem string) {
	name = norm.NFKC.String(name)
	odd := strings.ContainsFunc(name, func(r rune) bool { return r != '-' && !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	switch {
	case utf8.RuneCountInString(name) > 64, odd, name != strings.ToLower(name):
		return fmt.Sprintf("the name %q must have 1 to 64 lower-case letters, digits and single hyphens", name)
	case strings.HasPrefix(name, "-"), strings.HasSuffix(name, "-"), strings.Contains(name, "--"):
		return fmt.Sprintf("the name %q must have single hyphens, and none at its ends", name)
	}
	return ""
}

// newName matches names for new skills.
var newName = lazyregexp.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// ValidNew reports whether a new skill can have a name.
func ValidNew(name string) bool { return len(name) <= 64 && newName.MatchString(name) }

// skillFile returns the path of the SKILL.md in dir. Its name can be in lower case.
func skillFile(dir string) string {
	upper := filepath.Join(dir, "SKILL.md")
	if _, err := os.Lstat(upper); err == nil {
		return upper
	}
	if lower := filepath.Join(dir, "skill.md"); isThere(lower) {
		return lower
	}
	return upper
}

func isThere(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Strict returns violations of agentskills.io in a SKILL.md.
func Strict(data []byte, dir string) (problems []string) {
	fields, _, err := frontmatter.Parse(data)
	if err != nil {
		return []string{err.Error()}
	}
	if err := frontmatter.Check(data); err != nil {
		problems = append(problems, err.Error())
	}
	for name := range fields {
		if !slices.Contains(standard, name) {
			problems = append(problems, fmt.Sprintf("the field %q is not in the specification", name))
		}
	}
	name, description := fields.Text("name"), fields.Text("description")
	switch {
	case name == "":
		problems = append(problems, "it has no name")
	case standardName(name) != "":
		problems = append(problems, standardName(name))
	case norm.NFKC.String(name) != norm.NFKC.String(dir):
		problems = append(problems, fmt.Sprintf("the name %q differs from the directory %q", name, dir))
	}
	switch n := len([]rune(description)); {
	case n == 0:
		problems = append(problems, "it has no description")
	case n > maxDescription:
		problems = append(problems, fmt.Sprintf("the description has %d characters, at most %d are allowed", n, maxDescription))
	}
	if n := len([]rune(fields.Text("compatibility"))); n > 500 {
		problems = append(problems, fmt.Sprintf("compatibility has %d characters, at most 500 are allowed", n))
	}
	slices.Sort(problems)
	return problems
}

// settings returns the values of the skill's configuration. If there is none, it returns nil.
func (m *Meta) settings(values map[string]json.RawMessage) map[string]any {
	out := map[string]any{}
	for _, k := range m.Config {
		if v, ok := valueOf(values, k.Name); ok {
			out[k.Name] = v
		} else if k.Default != "" {
			out[k.Name] = k.Default
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// valueOf returns the value of a key such as wiki.path, which can also be a mapping path in a mapping wiki.
func valueOf(values map[string]json.RawMessage, name string) (value json.RawMessage, ok bool) {
	if value, ok = values[name]; ok {
		return value, true
	}
	for i := range len(name) {
		if name[i] != '.' {
			continue
		}
		var inner map[string]json.RawMessage
		if outer, found := values[name[:i]]; found && json.Unmarshal(outer, &inner) == nil {
			if value, ok = valueOf(inner, name[i+1:]); ok {
				return value, true
			}
		}
	}
	return nil, false
}

// fill replaces the variables of Hermes Agent and Claude Code in the text of a skill. Others stay.
func (s *Skill) fill(body, session string) string {
	if !strings.Contains(body, "${") {
		return body
	}
	list := []string{"${HERMES_SESSION_ID}", session, "${CLAUDE_SESSION_ID}", session}
	if s.Dir != "" {
		list = append(list, "${HERMES_SKILL_DIR}", s.Dir, "${CLAUDE_SKILL_DIR}", s.Dir)
	}
	return strings.NewReplacer(list...).Replace(body)
}
