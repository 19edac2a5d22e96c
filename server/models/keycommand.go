package models

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
)

const (
	keyWithin = 30 * time.Second
	mostKey   = 16 << 10 // bytes
)

// printKey runs the command of providers.NAME.key_command, which the user has configured,
// and returns the printed key. It runs in the home directory of the user, outside of the
// workspace and of the sandbox.
func printKey(ctx context.Context, command string, path userpath.Finder) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, keyWithin)
	defer cancel()
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	out, errs := proc.Bounded{Limit: mostKey}, proc.Bounded{Limit: mostKey}
	env := path.Environ(ctx, os.Environ())
	exit, err := proc.Run(ctx, proc.Cmd{Args: []string{"/bin/sh", "-c", command}, Dir: home, Env: env, Stdout: &out, Stderr: &errs, Trusted: true})
	if err != nil {
		return "", fmt.Errorf("key_command: %w", err)
	}
	key, odd := config.CleanKey(out.String())
	if exit.Code != 0 || key == "" || odd != 0 || strings.ContainsAny(key, " \n\r\t") {
		first, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return "", fmt.Errorf("key_command ended with code %d and did not print a key on one line: %s", exit.Code, first)
	}
	return key, nil
}
