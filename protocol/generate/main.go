// Command generate writes the editor plugins' view of the wire: vscode/src/protocol.ts
// and nvim/lua/hermes/protocol.lua, from the Go source of protocol and protocol/acp.
//
// It reads the source, not the types: comments travel, and so do the words “A → B”
// behind a command or a method, which name its argument and its result. A test
// compares its output with the files.
//
//	go generate ./protocol
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(".."); err != nil { // go generate runs in protocol
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// run writes both files below root.
func run(root string) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("making a folder: %w", err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}

// generate returns the files by name relative to root.
func generate(root string) (map[string]string, error) {
	v, err := read(filepath.Join(root, "protocol", "acp"), filepath.Join(root, "protocol"))
	if err != nil {
		return nil, err
	}
	return map[string]string{
		"vscode/src/protocol.ts":       typescript(v),
		"nvim/lua/hermes/protocol.lua": lua(v),
	}, nil
}
