package sandbox

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// insideLimit is the timeout for the server's programs in the sandbox.
const insideLimit = 30 * time.Second

// insideOutput bounds its output, in bytes.
const insideOutput = 16 << 20

// shell runs the scripts of this package.
const shell = "/bin/sh"

// inside runs a script of the server in a sandbox. The script can write only some folders, and has
// no network. Links are not followed to the folders.
func (b *Box) inside(ctx context.Context, script string, input []byte, writable []string, args ...string) (out string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), insideLimit)
	defer cancel()
	text, failed := &proc.Bounded{Limit: insideOutput}, &proc.Bounded{Limit: insideOutput}
	c := proc.Cmd{
		Args: append([]string{shell, "-c", script, "sh"}, args...), Dir: "/", Stdin: bytes.NewReader(input), Stdout: text, Stderr: failed,
		Env: []string{
			"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C",
			"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_DIR=" + os.DevNull,
		},
	}
	if m := b.mechanism(ctx); m.Kind != None {
		temp, err := b.tempFolder()
		if err != nil {
			return "", err
		}
		policy := b.basePolicy()
		policy.Mode, policy.Network, policy.temp = ReadOnly, false, temp
		policy.Writable, policy.exact = nil, writable
		if err := m.apply(policy, &c, temp); err != nil {
			return "", err
		}
	}
	exit, err := proc.Run(ctx, c)
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("exit code %d: %s", exit.Code, strings.TrimSpace(failed.String()))
	}
	return text.String(), err
}
