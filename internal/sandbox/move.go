package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/folderpath"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/gitguard"
)

// workspaceFile holds the path of the layers' workspace.
const workspaceFile = "workspace"

// Move gives the caches of commands and the journals of killed servers the new paths of a renamed
// folder. home is HERMES_HOME. Caches stay if commands use them, or if the new path has some
// already. They are made again then, and a sweep later removes the unused ones. It returns how many
// caches and journals it has moved.
func Move(home string, m folderpath.Move) (moved int, err error) {
	m = folderpath.Move{Old: folderpath.Real(m.Old), New: folderpath.Real(m.New)}
	dir := filepath.Join(home, "caches")
	entries, _ := os.ReadDir(dir) // none: there are no caches
	for _, e := range entries {
		if e.IsDir() && filepath.Ext(e.Name()) != trash && moveLayers(filepath.Join(dir, e.Name()), m) {
			moved++
		}
	}
	n, err := gitguard.Move(home, m)
	return moved + n, err
}

// moveLayers renames the folder of a workspace's layers if the workspace was renamed.
func moveLayers(dir string, m folderpath.Move) bool {
	text, err := safefile.Read(filepath.Join(dir, workspaceFile), safefile.Line)
	if err != nil {
		return false
	}
	next, ok := m.Below(strings.TrimSuffix(string(text), "\n"))
	if !ok {
		return false
	}
	to := filepath.Join(filepath.Dir(dir), workspaceName(next))
	if _, err := os.Lstat(to); err == nil {
		return false
	}
	lock, err := ownFolder(dir)
	if err != nil {
		return false
	}
	defer lock.Close() // only a lock
	if os.Rename(dir, to) != nil {
		return false
	}
	_ = noteWorkspace(to, next) // the next command writes it
	return true
}

func noteWorkspace(dir, workspace string) error {
	return os.WriteFile(filepath.Join(dir, workspaceFile), []byte(workspace+"\n"), 0o600)
}
