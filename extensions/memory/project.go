package memory

import (
	"net/url"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// projectID returns the name of a folder's project, from the remote of its git repository, so all
// clones share it. Without a remote, the path is used. The name is a readable part and a hash.
func projectID(folder string) string {
	source := folder
	if repo, err := gitrepo.Find(folder); err == nil {
		source = repo.Top
		if data, err := safefile.Read(filepath.Join(repo.Common, "config"), safefile.Settings); err == nil {
			if remote := remoteOf(string(data)); remote != "" {
				source = remote
			}
		}
	} else if real, err := filepath.EvalSymlinks(folder); err == nil {
		source = real
	}
	return pathID(source)
}

var section = lazyregexp.New(`^\s*\[\s*remote\s+"([^"]*)"\s*\]`)

// remoteOf returns the address of a git configuration's remote origin, else of its first remote,
// as host/path. If there is none, it returns "".
func remoteOf(config string) string {
	name, first := "", ""
	for line := range strings.Lines(config) {
		if strings.HasPrefix(strings.TrimSpace(line), "[") {
			name = ""
			if m := section.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if name == "" || !found || !strings.EqualFold(strings.TrimSpace(key), "url") {
			continue
		}
		address := hostAndPath(strings.Trim(strings.TrimSpace(value), `"`))
		if name == "origin" {
			return address
		}
		if first == "" {
			first = address
		}
	}
	return first
}

var scp = lazyregexp.New(`^(?:[^@/]+@)?([^:/]+):([^/].*)$`)

// hostAndPath returns a git address without protocol, user and password. The addresses for HTTPS
// and SSH are then equal.
func hostAndPath(address string) string {
	host, path := "", address
	if m := scp.FindStringSubmatch(address); m != nil && !strings.Contains(address, "://") {
		host, path = m[1], m[2]
	} else if u, err := url.Parse(address); err == nil && u.Host != "" {
		host, path = u.Hostname(), u.Path
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if host == "" {
		return path
	}
	return strings.ToLower(host) + "/" + path
}

var unusual = lazyregexp.New(`[^a-z0-9]+`)

// slug returns the end of a path or address, as part of a file name.
func slug(source string) string {
	parts := strings.Split(filepath.ToSlash(source), "/")
	name := unusual.ReplaceAllString(strings.ToLower(strings.Join(parts[max(0, len(parts)-2):], "-")), "-")
	return strings.Trim(name[max(0, len(name)-40):], "-")
}
