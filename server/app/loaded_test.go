package app_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/protected"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

const loadedFile = "../../internal/protected/loaded.txt"

// loaded returns the workspace paths loaded by the features and the configuration.
func loaded(t *testing.T) (all []string) {
	t.Helper()
	svc := app.New(server.Options{Home: t.TempDir()})
	t.Cleanup(func() { _ = svc.Close() })
	for _, f := range app.Features(svc) {
		all = append(all, f.Loads...)
	}
	all = append(all, config.WorkspaceFile)
	slices.Sort(all)
	return slices.Compact(all)
}

// TestLoaded compares the list of protected names with the features.
func TestLoaded(t *testing.T) {
	t.Parallel()
	var folders, files []string
	for _, name := range loaded(t) {
		if folder, ok := strings.CutSuffix(name, "/"); ok {
			folders = append(folders, folder)
		} else {
			files = append(files, name)
		}
	}
	want := fmt.Sprintf("# The files and folders that hermes-ls loads from a workspace. `go test ./server/app -run TestLoaded -update` writes this file.\n\n"+
		"folder: changes what agents obey or run\n  %s\n\npath: changes what agents obey or run\n  %s\n", strings.Join(folders, "\n  "), strings.Join(files, "\n  "))
	if *update {
		if err := os.WriteFile(loadedFile, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(loadedFile); err != nil || string(got) != want {
		t.Errorf("internal/protected/loaded.txt differs from what is loaded (write it with -update): %v\n%s", err, want)
	}
	for _, name := range loaded(t) {
		checkProtected(t, name)
	}
}

// checkProtected checks that the gate requires approval for a path, and that the sandbox reviews
// it.
func checkProtected(t *testing.T, name string) {
	t.Helper()
	file := strings.TrimSuffix(name, "/")
	if strings.HasSuffix(name, "/") {
		file += "/x/SKILL.md"
	}
	for _, dir := range []string{"/ws/", "/ws/sub/"} {
		if v := policy.Write(dir+file, []string{"/ws"}, "/h", nil); v.Level != policy.Blocked && (v.Level != policy.Asks || !v.EveryMode) {
			t.Errorf("a file tool writes %s%s: %v (%s)", dir, file, v.Level, v.Reason)
		}
	}
	reviewed := false
	for place := strings.TrimSuffix(name, "/"); place != "."; place = filepath.Dir(place) {
		is, _ := protected.Is(filepath.Base(filepath.Dir(place)), filepath.Base(place))
		reviewed = reviewed || is
	}
	if !reviewed {
		t.Errorf("the sandbox does not review %s", name)
	}
}

// paths matches texts of the program with a path in a folder of an agent, an editor or GitHub.
var paths = regexp.MustCompile(`^\.[a-z][a-z-]*/[\w.*/-]+$`)

// notLoaded are prefixes of such texts, for paths that no session loads from a workspace. The
// server writes them, GitHub runs them, or the home or a project keeps programs there, which run in
// the sandbox.
var notLoaded = []string{".hermes/chats", ".github/workflows", ".pixi/", ".direnv/", ".local/", ".cache/", ".config/", ".venv/"}

// TestNamedPlaces checks that each such text is protected: a loader with undeclared paths fails
// here.
func TestNamedPlaces(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"agent", "builder", "codeexec", "config", "delegate", "extensions", "internal/trust", "server"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(lit.Value)
				if err == nil && paths.MatchString(text) && !slices.ContainsFunc(notLoaded, func(begin string) bool { return strings.HasPrefix(text, begin) }) {
					checkProtected(t, strings.NewReplacer("*.md", "x.md", "*", "x").Replace(text))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
