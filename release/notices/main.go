// Command notices prints the names, versions and license texts of all modules in a release's
// programs, for all platforms. It includes the Go standard library.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Each platform can have other modules.
var systems = []string{"linux", "darwin", "windows"}

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

// module is a part of the output of `go list -json`.
type module struct {
	Path, Version, Dir string
	Main               bool
	Replace            *module
}

func run(out io.Writer) error {
	found := map[string]module{}
	for _, system := range systems {
		if err := list(system, found); err != nil {
			return err
		}
	}
	paths := make([]string, 0, len(found))
	for path := range found {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	fmt.Fprintf(out, "hermes-ls contains parts of these projects.\n")
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	if err := notice(out, "The Go standard library", runtime.Version(), strings.TrimSpace(string(root))); err != nil {
		return err
	}
	for _, path := range paths {
		m := found[path]
		if err := notice(out, m.Path, m.Version, m.Dir); err != nil {
			return err
		}
	}
	return nil
}

// list adds the modules of the program for a system to found.
func list(system string, found map[string]module) error {
	cmd := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/hermes-ls")
	cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	data, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list for %s: %w", system, err)
	}
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var p struct{ Module *module }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		m := p.Module
		if m == nil || m.Main {
			continue
		}
		if m.Replace != nil {
			m.Dir, m.Version = m.Replace.Dir, m.Replace.Version
		}
		found[m.Path] = *m
	}
}

var isLicense = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|patents)([.-].*)?$`)

// notice prints the license texts in a folder. A folder without a license is an error.
func notice(out io.Writer, name, version, folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n%s %s\n", strings.Repeat("=", 72), name, version)
	texts := 0
	for _, e := range entries {
		if e.IsDir() || !isLicense.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%s\n", bytes.TrimSpace(text))
		texts++
	}
	if texts == 0 {
		return fmt.Errorf("%s %s: no license text in %s", name, version, folder)
	}
	return nil
}
