package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// Kind is the format of a plugin.
type Kind string

// Kinds.
const (
	Python   Kind = "python"   // plugin.yaml, and Python code with register(ctx)
	Command  Kind = "command"  // plugin.yaml with command: a program in any language
	Agent    Kind = "agent"    // plugin.json: skills, MCP servers, hooks, commands and agents, but no main program
	Observer Kind = "observer" // HOOK.yaml, and handler.py with handle(event, context)
)

// Access is a plugin's access to files of the workspace.
type Access string

// Values of permissions.files.
const (
	None  Access = "none"
	Read  Access = "read"
	Write Access = "write"
)

// Permissions are the rights of a plugin. The zero value grants nothing.
type Permissions struct {
	Files    Access   `json:"files"`
	Network  bool     `json:"network"`
	Env      []string `json:"env"`      // variables passed to it
	Tools    []string `json:"tools"`    // tools it may call
	Override []string `json:"override"` // tools it may replace
}

// Plugin is a directory with a plugin, as its manifest describes it.
type Plugin struct {
	Name        string
	Version     string
	Description string
	Dir         string
	Kind        Kind
	Permissions Permissions
	Hooks       []string // provides_hooks
	RequiresEnv []string
	// Dependencies are the packages named by the plugin. Nothing installs them.
	Dependencies []string

	tools   []string       // provides_tools
	only    bool           // provides_tools is present, so other tools are not loaded
	command []string       // of kind Command
	entry   string         // the Python file of kinds Python and Observer
	hooks   map[string]any // of kind Agent: the section of its hooks
	ignored []string       // of kind Agent: texts about ignored hooks
}

// ValidName reports whether name is a valid name of a plugin.
func ValidName(name string) bool { return validName.MatchString(name) }

var validName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// largestManifest limits plugin.yaml, plugin.json and HOOK.yaml, in bytes.
const largestManifest = 256 << 10

// manifest is plugin.yaml. Unknown keys are ignored, as Hermes Agent does.
type manifest struct {
	Name        string    `yaml:"name"`
	Version     any       `yaml:"version"`
	Description string    `yaml:"description"`
	Format      int       `yaml:"manifest_version"`
	Command     words     `yaml:"command"`
	Permissions rights    `yaml:"permissions"`
	Tools       *[]string `yaml:"provides_tools"`
	Hooks       []string  `yaml:"provides_hooks"`
	OtherHooks  []string  `yaml:"hooks"`
	RequiresEnv []named   `yaml:"requires_env"`
	Pip         []string  `yaml:"pip_dependencies"`
	Events      []string  `yaml:"events"` // of HOOK.yaml
}

type rights struct {
	Files    Access   `yaml:"files"`
	Network  bool     `yaml:"network"`
	Env      []string `yaml:"env"`
	Tools    []string `yaml:"tools"`
	Override []string `yaml:"override"`
}

// words is a list of words, or a text to be split at spaces.
type words []string

func (w *words) UnmarshalYAML(data []byte) error {
	var text string
	if yaml.Unmarshal(data, &text) == nil {
		*w = strings.Fields(text)
		return nil
	}
	return yaml.Unmarshal(data, (*[]string)(w))
}

// named is a name, or a mapping with a name.
type named string

func (n *named) UnmarshalYAML(data []byte) error {
	var text string
	if yaml.Unmarshal(data, &text) == nil {
		*n = named(text)
		return nil
	}
	var m struct {
		Name string `yaml:"name"`
	}
	err := yaml.Unmarshal(data, &m)
	*n = named(m.Name)
	return err
}

// Load reads the manifest in dir. The plugin is named after the directory. Nothing of the plugin
// runs.
func Load(dir string) (Plugin, error) {
	p := Plugin{Name: filepath.Base(dir), Dir: dir}
	for _, one := range []struct {
		file string
		read func(*Plugin, []byte) error
	}{
		{"plugin.yaml", (*Plugin).readYAML}, {"plugin.yml", (*Plugin).readYAML}, {"plugin.json", (*Plugin).readJSON}, {"HOOK.yaml", (*Plugin).readYAML},
	} {
		data, err := textfile.Read(filepath.Join(dir, one.file), largestManifest)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return p, fmt.Errorf("%s: %w", one.file, err)
		}
		if one.file == "HOOK.yaml" {
			p.Kind = Observer
		}
		if err := one.read(&p, data); err != nil {
			return p, inFile(one.file, err)
		}
		if p.Kind == Agent {
			if err := p.readHooks(); err != nil {
				return p, err
			}
		}
		return p, p.check()
	}
	return p, errors.New("there is no plugin.yaml, plugin.json or HOOK.yaml")
}

var yamlPlace = lazyregexp.New(`(?s)^\[(\d+):\d+\] ([^\n]*).*`)

// inFile returns an error of a file, with the line from a YAML error.
func inFile(file string, err error) error {
	if m := yamlPlace.FindStringSubmatch(err.Error()); m != nil {
		return fmt.Errorf("%s:%s: %s", file, m[1], m[2])
	}
	return fmt.Errorf("%s: %w", file, err)
}

func (p *Plugin) readYAML(data []byte) error {
	var m manifest
	if err := yaml.Unmarshal(data, &m); err != nil {
		return err
	}
	if m.Format > 1 {
		return fmt.Errorf("manifest_version is %d; this program reads 1", m.Format)
	}
	p.Description = strings.TrimSpace(m.Description)
	if m.Version != nil {
		p.Version = fmt.Sprint(m.Version)
	}
	p.Permissions = Permissions{Files: m.Permissions.Files, Network: m.Permissions.Network, Env: m.Permissions.Env, Tools: m.Permissions.Tools, Override: m.Permissions.Override}
	if m.Tools != nil {
		p.tools, p.only = *m.Tools, true
	}
	p.Hooks, p.Dependencies, p.command = append(m.Hooks, m.OtherHooks...), m.Pip, m.Command
	for i, word := range p.command {
		p.command[i] = program.InHome(word)
	}
	for _, v := range m.RequiresEnv {
		p.RequiresEnv = append(p.RequiresEnv, string(v))
	}
	if p.Kind == Observer {
		p.Hooks = m.Events
		return p.find("handler.py")
	}
	if len(p.command) > 0 {
		p.Kind = Command
		return nil
	}
	p.Kind = Python
	return p.find("__init__.py", "handler.py")
}

// find sets the Python file: the first existing file of names.
func (p *Plugin) find(names ...string) error {
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(p.Dir, name)); err == nil && info.Mode().IsRegular() {
			p.entry = name
			return nil
		}
	}
	return fmt.Errorf("there is no %s beside it", strings.Join(names, " and no "))
}

// check returns an error if a part of the manifest cannot be used. It completes the defaults.
func (p *Plugin) check() error {
	switch p.Permissions.Files {
	case "":
		p.Permissions.Files = None
	case None, Read, Write:
	default:
		return fmt.Errorf("permissions.files is %q; it is none, read or write", p.Permissions.Files)
	}
	if !ValidName(p.Name) {
		return fmt.Errorf("the directory %q must have 1 to 64 letters, digits, dashes and underscores", p.Name)
	}
	for _, name := range slices.Concat(p.Permissions.Env, p.RequiresEnv) {
		if strings.ContainsAny(name, "= \t\n") || name == "" {
			return fmt.Errorf("%q is not the name of a variable", name)
		}
	}
	// A required variable would never reach the plugin if it were missing from its permissions.
	for _, name := range p.RequiresEnv {
		if !slices.Contains(p.Permissions.Env, name) {
			p.Permissions.Env = append(p.Permissions.Env, name)
		}
	}
	return nil
}

// Declared returns the names of the tools in provides_tools.
func (p Plugin) Declared() []string { return p.tools }

// Complete returns the permissions with empty lists in place of missing lists.
func (p Permissions) Complete() Permissions {
	for _, list := range []*[]string{&p.Env, &p.Tools, &p.Override} {
		if *list == nil {
			*list = []string{}
		}
	}
	if p.Files == "" {
		p.Files = None
	}
	return p
}

// All returns the plugins in the directory plugins of home, by name. For each unreadable directory,
// problems contains the error.
func All(home string) (all []Plugin, problems map[string]error) {
	problems = map[string]error{}
	entries, err := os.ReadDir(Dir(home))
	if err != nil {
		return nil, problems
	}
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		p, err := Load(filepath.Join(Dir(home), e.Name()))
		if err != nil {
			problems[e.Name()] = err
		}
		all = append(all, p)
	}
	return all, problems
}

// Dir returns the directory of all plugins.
func Dir(home string) string { return filepath.Join(home, "plugins") }

// Data returns the writable directory of a plugin.
func Data(home, name string) string { return filepath.Join(home, "plugin-data", name) }
