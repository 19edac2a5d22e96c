package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// probeLimit is how long finding out may take in all.
const probeLimit = 30 * time.Second

// onHost is a fact about the host, the same for every session of the process.
var onHost struct {
	sync.Mutex
	mechanism *Mechanism
}

// Detect finds the strongest working mechanism of this host. It tries each with a small script,
// which attempts to break out. The first call takes some ten milliseconds; the result is kept.
func Detect(ctx context.Context) Mechanism {
	onHost.Lock()
	defer onHost.Unlock()
	if onHost.mechanism != nil {
		return *onHost.mechanism
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	// On a host with a full disk, the sandboxes cannot be judged.
	stand, err := newTemp()
	if err != nil {
		return Mechanism{Kind: Unknown, Reason: err.Error()}
	}
	stand.dir.Remove()
	errs := map[Kind]error{}
	for _, m := range candidates() {
		err := m.Try(ctx)
		if err == nil {
			m.NoNetwork = m.NoNetwork && m.try(ctx, false) == nil
			onHost.mechanism = &m
			return m
		}
		if errs[m.Kind] == nil { // the weaker of two similar mechanisms fails for the same reason
			errs[m.Kind] = err
		}
	}
	if ctx.Err() != nil {
		return Mechanism{Kind: Unknown, Reason: "trying what this host offers was not done in time"}
	}
	m := Mechanism{Kind: None, Reason: why(errs)}
	onHost.mechanism = &m
	return m
}

// script tries to write beside the workspace and to read a secret, with builtins of the shell
// alone. Allowed writes must work.
const script = `
(echo x >"$1/new") 2>/dev/null || exit 11
(echo x >"$2/new") 2>/dev/null && exit 12
secret=; (read -r secret <"$3/secret" && [ -n "$secret" ]) 2>/dev/null && exit 13
exit 0`

var failures = map[int]string{
	11: "the workspace could not be written",
	12: "a write outside of the workspace was not stopped",
	13: "a secret could be read",
}

// Try tries a mechanism. If it enforces the policy, Try returns nil.
func (m Mechanism) Try(ctx context.Context) error { return m.try(ctx, true) }

func (m Mechanism) try(ctx context.Context, network bool) error {
	stand, err := newTemp()
	if err != nil {
		return err
	}
	defer stand.dir.Remove()
	dir := map[string]string{}
	for _, name := range []string{"in", "out", "hidden"} {
		dir[name] = stand.dir.Path(name)
		if err := os.Mkdir(dir[name], 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir["hidden"], "secret"), []byte("canary\n"), 0o600); err != nil {
		return err
	}
	c := proc.Cmd{Args: []string{"/bin/sh", "-c", script, "sh", dir["in"], dir["out"], dir["hidden"]}, Dir: "/"}
	policy := Policy{Mode: WorkspaceWrite, Roots: []string{dir["in"]}, Unreadable: []string{dir["hidden"]}, Network: network}
	if err := m.apply(policy, &c, stand); err != nil {
		return err
	}
	exit, err := proc.Run(ctx, c)
	switch {
	case err != nil:
		return err
	case exit.Code != 0 && failures[exit.Code] != "":
		return errors.New(failures[exit.Code])
	case exit.Code != 0:
		return fmt.Errorf("the trial ended with exit code %d", exit.Code)
	}
	return nil
}
