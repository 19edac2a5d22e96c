package memory

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/tools"
)

// entry is a file in the result of hermes.extensions.
type entry struct {
	Target  Target   `json:"target"`
	Heading string   `json:"heading"`
	Usage   string   `json:"usage"`
	Path    string   `json:"path"`
	Entries []string `json:"entries"`
}

// entries lists the files with their entries.
func (x *instance) entries(context.Context) (map[string]any, error) {
	files, err := List(x.files())
	if err != nil {
		return nil, err
	}
	all := []entry{}
	for _, k := range files {
		all = append(all, entry{k.Target, k.Heading, k.Usage, k.Path, tools.OrEmpty(k.Entries)})
	}
	return map[string]any{"memory": all}, nil
}

// document returns a file of the memory. If it does not exist, document creates it.
func (x *instance) document(_ context.Context, command, name string) (path string, ok bool, err error) {
	if command != Table[1].Execute {
		return "", false, nil
	}
	f, err := x.file(Target(name))
	if err != nil {
		return "", true, err
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return "", true, err
	}
	file, err := os.OpenFile(f.Path, os.O_CREATE|os.O_RDONLY, 0o600)
	if err != nil {
		return "", true, err
	}
	return f.Path, true, file.Close()
}
