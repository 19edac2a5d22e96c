package skills

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/extension"
)

// entries lists the skills, including skills left out with an error.
func (x *Instance) entries(ctx context.Context) (map[string]any, error) {
	f := x.all(ctx, fresh)
	return map[string]any{"skills": append(append([]*Skill{}, f.Skills...), f.LeftOut...)}, nil
}

// document returns the SKILL.md of a skill. For a bundled skill, it is a read-only copy in
// $HERMES_HOME/cache.
func (x *Instance) document(ctx context.Context, command, name string) (path string, ok bool, err error) {
	if command != Table[1].Execute {
		return "", false, nil
	}
	f := x.all(ctx, fresh)
	s, found := find(f.Skills, name)
	if !found {
		return "", true, extension.BadInput("name", "there is no skill %q", name)
	}
	if s.Dir != "" {
		return s.Path, true, nil
	}
	text, err := bundled.ReadFile(s.Path)
	if err != nil {
		return "", true, err
	}
	path = filepath.Join(x.Home, "cache", "skills", s.Name, "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", true, err
	}
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return "", true, err
	}
	return path, true, os.WriteFile(path, text, 0o400)
}
