package plugins

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed all:templates
var templates embed.FS

// Languages are the languages in which Create makes a plugin.
var Languages = []string{"python", "shell", "go", "typescript"}

// Create creates an example plugin with a test, in a language of [Languages]. The plugin counts
// words. Create returns the directory.
func Create(home, name, language string) (dir string, err error) {
	if !ValidName(name) {
		return "", fmt.Errorf("the name %q must have 1 to 64 letters, digits, dashes and underscores", name)
	}
	dir = filepath.Join(Dir(home), name)
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s exists already", dir)
	}
	values := strings.NewReplacer("{{.Name}}", name, "{{.Tool}}", strings.ReplaceAll(strings.ToLower(name), "-", "_")+"_words")
	from := path.Join("templates", language)
	entries, err := templates.ReadDir(from)
	if err != nil {
		return "", fmt.Errorf("there is no template for %s; there are %s", language, strings.Join(Languages, ", "))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, e := range entries {
		data, err := templates.ReadFile(path.Join(from, e.Name()))
		if err != nil {
			return "", err
		}
		text := values.Replace(string(data))
		mode := fs.FileMode(0o644)
		if strings.HasPrefix(text, "#!") {
			mode = 0o755
		}
		if err := os.WriteFile(filepath.Join(dir, strings.TrimSuffix(e.Name(), ".tmpl")), []byte(text), mode); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// Validate returns the reasons why the plugin in dir is unusable, and warnings about likely
// mistakes. It runs nothing.
func Validate(dir string) (problems, warnings []string) {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	p, err := Load(dir)
	if err != nil {
		return []string{err.Error()}, nil
	}
	if _, err := Sum(dir); err != nil {
		problems = append(problems, err.Error())
	}
	if p.Kind == Command && strings.ContainsRune(p.command[0], '/') {
		program := p.command[0]
		if !filepath.IsAbs(program) {
			program = filepath.Join(dir, program)
		}
		info, err := os.Stat(program)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("command: %v", err))
		case info.IsDir() || info.Mode()&0o111 == 0:
			problems = append(problems, fmt.Sprintf("command: %s is not an executable file", program))
		}
	}
	warnings = p.agentWarnings()
	if p.Description == "" {
		warnings = append(warnings, "it has no description")
	}
	if p.Version == "" {
		warnings = append(warnings, "it has no version")
	}
	if (p.Kind == Python || p.Kind == Command) && !p.only {
		warnings = append(warnings, "provides_tools is missing, so all tools that it offers when it is enabled are loaded")
	}
	return problems, warnings
}
