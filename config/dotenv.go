package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// EnvPath is the user's file of secrets in home.
func EnvPath(home string) string { return filepath.Join(home, ".env") }

// KeyName is the environment variable of a provider's key; empty: it needs none.
func KeyName(provider string) string { return providerOf(provider).keyName }

// SetEnv writes a variable into .env, which is then readable for its owner alone. The
// rest of the file stays as it is.
func SetEnv(home, name, value string) error {
	if value == "" || strings.ContainsAny(value, "\r\n\"' \t#") {
		return fmt.Errorf("%s cannot hold an empty value, white space, quotes or #", name)
	}
	return editEnv(home, func(lines []string) []string {
		lines, at := without(lines, name)
		if at < 0 {
			at = len(lines)
		}
		rest := append([]string{name + "=" + value + "\n"}, lines[at:]...)
		return append(lines[:at:at], rest...)
	})
}

// RemoveEnv takes a variable out of .env; false: it is not there.
func RemoveEnv(home, name string) (removed bool, err error) {
	err = editEnv(home, func(lines []string) []string {
		left, at := without(lines, name)
		if removed = at >= 0; !removed {
			return nil
		}
		return append([]string{}, left...) // empty, not nil
	})
	return removed, err
}

// without leaves the lines out that set a variable; at is where the first one was.
func without(lines []string, name string) (left []string, at int) {
	at = -1
	for _, line := range lines {
		set, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
		if !ok || strings.TrimSpace(set) != name {
			left = append(left, line)
		} else if at < 0 {
			at = len(left)
		}
	}
	return left, at
}

// editEnv changes .env; nil leaves it as it is.
func editEnv(home string, change func(lines []string) []string) error {
	file := EnvPath(home)
	data, err := safefile.Read(file, fileLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	lines := change(splitLines(string(data)))
	if lines == nil {
		return nil
	}
	if err == nil { // before there is a secret in it
		if err := os.Chmod(file, 0o600); err != nil {
			return fmt.Errorf("closing %s to others: %w", file, err)
		}
	}
	return writeFile(file, []byte(strings.Join(lines, "")))
}
