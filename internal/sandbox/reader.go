package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/gitguard"
)

// ConfineReader bounds a program that reads the workspace and may run its code, such as a language
// server. The program has the limits of a command, but it cannot write in the workspace, so code
// run by it leaves nothing there. It writes to own, its private folder for this workspace. If
// nothing bounds the program, own is "". name names the folder. If ConfineReader returns an error,
// the program must not be started.
func (b *Box) ConfineReader(ctx context.Context, c *proc.Cmd, name string) (own string, err error) {
	m, temp, err := b.bounds(ctx)
	if temp == nil || err != nil {
		return "", err
	}
	if own, err = b.privateFolder(temp, name); err != nil {
		return "", fmt.Errorf("making a folder for %s: %w", name, err)
	}
	programs := b.views.startsAll(c)
	policy := b.basePolicy() // nothing of the workspace is writable, so nothing in it is held
	policy.Mode, policy.Pinned, policy.temp = ReadOnly, nil, temp
	policy.Writable = []string{own}
	policy.Visible = append(policy.Visible, gitguard.Outside(policy.Roots)...)
	policy.Visible = append(policy.Visible, policy.view.entries...)
	policy.Visible = append(policy.Visible, inTemp(programs, b.cfg, policy.Roots)...)
	return own, b.enforce(ctx, m, policy, c)
}

// privateFolder makes the folder of a program without write access to the workspace. It lies beside
// the caches of the workspace. If commands write only temporary files, it is a temporary folder.
func (b *Box) privateFolder(temp *Temp, name string) (dir string, err error) {
	dir = temp.dir.Path("private")
	if b.wanted() == WorkspaceWrite {
		if dir, err = b.layerDir(temp); err != nil {
			return "", err
		}
	}
	dir = filepath.Join(dir, "private", workspaceName(name))
	return dir, os.MkdirAll(dir, 0o700)
}
