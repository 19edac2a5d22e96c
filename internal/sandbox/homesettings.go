package sandbox

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

var (
	// secretLine matches a line that sets a probable secret.
	secretLine = lazyregexp.New(`(?i)(_auth\b|_authtoken|token|passw|passph|passwd|secret|api[-_]?key|authorization|extraheader|private[-_]?key)[^=:>]*[=:>]\s*(\S.*)`)
	// fromEnvironment matches a value taken from the environment.
	fromEnvironment = lazyregexp.New(`^["']?\$(\{\w+\}|\w+)["']?$`)
	// withPassword and withToken match addresses with a password or token.
	withPassword = lazyregexp.New(`://[^/\s:@]*:[^/\s@]*@`)
	withToken    = lazyregexp.New(`://[^/\s:@]{20,}@`)
)

// withoutSecrets returns settings without values resembling secrets, and whether there were any. It
// leaves out lines with passwords and tokens, and passwords and tokens in addresses.
func withoutSecrets(text []byte) (clean []byte, found bool) {
	if bytes.Contains(text, []byte("-----BEGIN")) {
		return nil, true
	}
	for line := range bytes.Lines(text) {
		if m := secretLine.FindSubmatch(line); m != nil && !fromEnvironment.Match(bytes.TrimSpace(m[2])) {
			found = true
			continue
		}
		safe := withToken.ReplaceAll(withPassword.ReplaceAll(line, []byte("://")), []byte("://"))
		found = found || len(safe) != len(line)
		clean = append(clean, safe...)
	}
	return clean, found
}

// gitNames are the git settings naming a file, without their section.
var gitNames = []string{"path", "excludesfile", "attributesfile", "template", "hookspath", "templatedir", "file", "allowedsignersfile", "ignorerevsfile"}

// gitFiles returns the files of the home named in the user's git configuration and the files it
// includes. The names are relative to the home.
func (s *search) gitFiles() (names []string) {
	todo := []string{".gitconfig", ".config/git/config"}
	for i := 0; i < len(todo) && i < 20; i++ {
		text, err := safefile.Read(filepath.Join(s.home, todo[i]), safefile.Settings)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			key, value, ok := strings.Cut(line, "=")
			if !ok || !slices.Contains(gitNames, strings.ToLower(strings.TrimSpace(key))) {
				continue
			}
			path := fspath.Expand(strings.Trim(strings.TrimSpace(value), `"`), s.home)
			if !filepath.IsAbs(path) {
				path = filepath.Join(s.home, filepath.Dir(todo[i]), path)
			}
			name, err := filepath.Rel(s.home, path)
			if err == nil && filepath.IsLocal(name) && !slices.Contains(todo, name) && !secret(name) {
				todo = append(todo, name)
			}
		}
	}
	return todo[2:]
}

// secret reports whether a name in a home belongs to a file or folder with secrets.
func secret(name string) bool {
	return fspath.UnderAny(name, secrets) || fspath.UnderAny(name, toolSecrets)
}
