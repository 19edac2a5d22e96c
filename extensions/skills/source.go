package skills

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// Source is where a skill or a plugin is fetched from.
type Source struct {
	Kind    string // git, directory, url or well-known
	Address string // of a directory, its absolute path
}

const directory = "directory"

// Locate returns the source named by the user: an existing directory, else an address. Addresses
// are the https address of a SKILL.md, well-known:ADDRESS[#NAME], a git URL[#path], or
// owner/repo[/path][@ref] of GitHub. With sure, the user does not see the source before its use.
// Then a name of both a directory and a repository is an error.
func Locate(from string, sure bool) (Source, error) {
	if info, err := os.Stat(from); err != nil || !info.IsDir() {
		if strings.HasPrefix(from, ".") || filepath.IsAbs(from) {
			return Source{}, fmt.Errorf("%s is no directory", from)
		}
		return At(from), nil
	}
	if sure && ofGitHub.MatchString(from) && !strings.HasPrefix(from, ".") {
		return Source{}, fmt.Errorf("%[1]s is a directory here, and may be a repository of GitHub. Write ./%[1]s or https://github.com/%[1]s", from)
	}
	abs, err := filepath.Abs(from)
	return Source{Kind: directory, Address: abs}, err
}

// At returns the source of an address. It is never a directory with a relative path, which would
// depend on the user's working directory.
func At(address string) Source {
	if filepath.IsAbs(address) {
		return Source{Kind: directory, Address: address}
	}
	return Source{Kind: sourceOf(address), Address: address}
}

// Stored returns a source from its kind and its address in a lock file or a snapshot. Hermes Agent
// also writes github, and unsupported kinds.
func Stored(kind, address string) (Source, error) {
	if !slices.Contains([]string{"", "git", "github", directory, "url", "well-known"}, kind) {
		return Source{}, fmt.Errorf("not supported: a skill from %s", kind)
	}
	if kind == directory && !filepath.IsAbs(address) {
		return Source{}, fmt.Errorf("it was installed from %s, a relative path. Install it again", address)
	}
	return At(address), nil
}

var ofGitHub = lazyregexp.New(`^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+(/[^@]*)?(@[A-Za-z0-9_./-]+)?$`)

// abandoned is the age at which directories left in quarantine by killed commands are removed.
const abandoned = 24 * time.Hour

// Quarantine makes a directory below dir for fetched files. It removes old directories.
func Quarantine(dir string) (work string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	old, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range old {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.RemoveAll(filepath.Join(dir, e.Name())) // the next command tries again
		}
	}
	return os.MkdirTemp(dir, "")
}

func quarantine(home string) (work string, err error) {
	return Quarantine(filepath.Join(home, "skills", ".hub", "quarantine"))
}

// Download finds the directory of a source, or fetches it into work. It returns the directory, the path below it, and the commit
// of git. Nothing of it runs.
func Download(ctx context.Context, work string, s Source, ref string) (dir, sub, commit string, err error) {
	from := s.Address
	switch s.Kind {
	case directory:
		dir, err = filepath.EvalSymlinks(from)
		return dir, "", "", err
	case "url":
		dir, err = fetchFile(ctx, work, from)
		return dir, "", "", err
	case "well-known":
		dir, err = fetchPublished(ctx, work, from)
		return dir, "", "", err
	}
	var repository string
	repository, sub, _ = strings.Cut(from, "#")
	if ofGitHub.MatchString(from) {
		if at := strings.LastIndexByte(from, '@'); at > 0 {
			if ref == "" {
				ref = from[at+1:]
			}
			from = from[:at]
		}
		parts := strings.SplitN(from, "/", 3)
		repository = "https://github.com/" + parts[0] + "/" + parts[1]
		if len(parts) == 3 {
			sub = parts[2]
		}
	}
	dir = filepath.Join(work, "clone")
	commit, err = clone(ctx, repository, ref, dir)
	return dir, sub, commit, err
}

// NameOf returns the last part of an address, without .git and @ref.
func NameOf(from string) string {
	return strings.TrimSuffix(path.Base(strings.TrimSuffix(filepath.ToSlash(withoutRef(from)), "/")), ".git")
}

// Below returns a directory without links. If it is not below base, it returns an error.
func Below(base, dir string) (string, error) {
	base, err := filepath.EvalSymlinks(base)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if rel, err := filepath.Rel(base, real); err != nil || !filepath.IsLocal(rel) {
		return "", errors.New("its directory is a link that leaves the repository")
	}
	return real, nil
}

// WithoutSecrets returns an address without user, password and parameters, which may be secrets.
func WithoutSecrets(address string) string {
	kind := ""
	if rest, ok := strings.CutPrefix(address, wellKnown); ok {
		kind, address = wellKnown, rest
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.User == nil && u.RawQuery == "" {
		return kind + address
	}
	u.User, u.RawQuery = nil, ""
	return kind + u.String()
}

// SameOrigin reports whether two addresses are the same but for the ref.
func SameOrigin(a, b string) bool { return withoutRef(a) == withoutRef(b) }

func withoutRef(address string) string {
	if ofGitHub.MatchString(address) {
		address, _, _ = strings.Cut(address, "@")
	}
	return address
}
