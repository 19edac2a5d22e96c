package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/config/catalog"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// EnvPath returns the path of the user's file of secrets in home.
func EnvPath(home string) string { return filepath.Join(home, ".env") }

// KeyName returns the environment variable of a provider's key. If the provider needs no key, it
// returns "".
func KeyName(provider string) string {
	if provider == "custom" {
		return "HERMES_API_KEY"
	}
	p, _ := catalog.Find(provider)
	if len(p.Keys) == 0 {
		return ""
	}
	return p.Keys[0]
}

// quoted returns a value in the syntax of .env. The file is shared with Hermes Agent, which reads
// escapes in quotes, so a text that needs escapes is an error.
func quoted(name, value string) (string, error) {
	switch {
	case value == "":
		return "", fmt.Errorf("%s cannot hold an empty value", name)
	case strings.ContainsAny(value, "\r\n"):
		return "", fmt.Errorf("%s cannot hold more than one line", name)
	case !strings.ContainsAny(value, "\"' \t#"):
		return value, nil
	case !strings.ContainsAny(value, `'\`):
		return "'" + value + "'", nil
	case !strings.ContainsAny(value, "\"\\$"):
		return `"` + value + `"`, nil
	}
	return "", fmt.Errorf("%s cannot hold quotes of both kinds, or a backslash beside white space, quotes or #", name)
}

// SetKey writes a provider's key to .env, without characters added by pasting. Keys have no white
// space: if some is left, the key was not copied correctly.
func SetKey(home, name, key string) error {
	key, odd := CleanKey(key)
	if odd != 0 {
		return fmt.Errorf("a key has no %q (U+%04X): copy %s again", odd, odd, name)
	}
	if strings.ContainsAny(key, " \t\r\n\"'#") {
		return fmt.Errorf("a key has no white space, quotes or #: copy %s again", name)
	}
	return SetEnv(home, name, key)
}

// SetEnv writes a variable to .env and sets the file's mode to 0600. The other lines do not change.
func SetEnv(home, name, value string) error {
	value, err := quoted(name, value)
	if err != nil {
		return err
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

// RemoveEnv removes a variable from .env. If the file does not set it, it returns false.
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

// without returns the lines except the variable's, and the index of the variable's first line, or
// -1.
func without(lines []string, name string) (left []string, at int) {
	at = -1
	for _, line := range lines {
		set, _, ok := assignment(trimPasted(line))
		if !ok || set != name {
			left = append(left, line)
		} else if at < 0 {
			at = len(left)
		}
	}
	return left, at
}

// editEnv changes the lines of .env. If change returns nil, the file does not change.
func editEnv(home string, change func(lines []string) []string) error {
	file := EnvPath(home)
	data, err := textfile.Read(file, fileLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	lines := change(splitLines(string(data)))
	if lines == nil {
		return nil
	}
	if err == nil { // before a secret is in it
		if err := os.Chmod(file, 0o600); err != nil {
			return fmt.Errorf("closing %s to others: %w", file, err)
		}
	}
	return writeFile(file, []byte(strings.Join(lines, "")))
}
