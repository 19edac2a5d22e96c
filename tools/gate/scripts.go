package gate

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

// scripts are the files whose content a command runs, in their judged state. An approval of
// ./deploy.sh covers only this content.
type scripts struct {
	roots []string // the workspace's folders
	temps []string // the session's own directories for temporary files, as commands see them
	temp  string   // where the host keeps their contents; "" if there is none
	files map[string]script
}

// script is the content of a file. The zero script is no file.
type script struct {
	real string // real path, links followed
	sum  string // of the whole content; for a pattern: of the names it matches
	text []byte // nil: too long to be kept, or outside of the workspace
	own  bool   // one of the session's temporary files, stored elsewhere on the host
}

const (
	scriptLimit = 16 << 20  // of a stored file; for a longer file only the sum is stored
	hashedLimit = 256 << 20 // of a file to read
	manyMatches = 200       // matches of a pattern
)

// read is [policy.Scope.Read]: judged content counts as shown.
func (s *scripts) read(path string) (string, bool) {
	if s.files == nil {
		s.files = map[string]script{}
	}
	f, ok := s.files[path]
	if !ok {
		f = s.open(path)
		s.files[path] = f
	}
	return string(f.text), f.text != nil
}

// add records the files named by a verdict that requires approval.
func (s *scripts) add(v policy.Verdict) {
	if v.Level != policy.Asks {
		return
	}
	for _, path := range v.Files {
		for _, match := range matches(path) {
			s.read(match)
		}
	}
}

// bind ties the keys of a verdict to the content of their files: if a file changes, a remembered
// approval no longer covers it.
func (s *scripts) bind(v *policy.Verdict) {
	if v.Level != policy.Asks {
		return
	}
	keys := slices.Clone(v.Keys)
	for i, key := range keys {
		sum := sha256.New()
		for _, path := range v.KeyFiles[key] {
			for _, match := range matches(path) {
				s.read(match)
				if f := s.files[match]; f.sum != "" {
					fmt.Fprintf(sum, "%q %x\n", match, f.sum)
					keys[i] = fmt.Sprintf("%s (files %x)", key, sum.Sum(nil)[:10])
				}
			}
		}
	}
	v.Keys = keys
}

// matches returns the files that match a pattern, and the pattern. Without a pattern, it returns
// the path.
func matches(path string) []string {
	if !isPattern(path) {
		return []string{path}
	}
	found, err := filepath.Glob(path)
	if err != nil || len(found) > manyMatches {
		return []string{path}
	}
	return append(found, path)
}

func isPattern(path string) bool {
	if !strings.ContainsAny(path, "*?[") {
		return false
	}
	_, err := os.Lstat(path)
	return err != nil
}

// changed returns a changed file, or "".
func (s *scripts) changed() string {
	for path, was := range s.files {
		if now := s.open(path); now.sum != was.sum || now.real != was.real {
			return path
		}
	}
	return ""
}

// frozen returns the judged content by path. It omits files changed by the command line: the
// command runs its own version of them.
func (s *scripts) frozen(v policy.Verdict) map[string][]byte {
	if v.Level != policy.Asks || v.Rewrites {
		return nil
	}
	frozen := map[string][]byte{}
	for path, f := range s.files {
		wrote := slices.Contains(v.Commands, "write "+escape.Line(path)) || slices.Contains(v.Commands, "write "+escape.Line(f.real))
		if f.text != nil && !wrote && !f.own {
			frozen[path] = f.text
		}
	}
	return frozen
}

// open reads a regular file. For any other file type it returns the zero script. It resolves
// the links of a file in the workspace now and follows no others, because the model may see
// the content. For a file outside the workspace, it returns only the checksum.
func (s *scripts) open(path string) script {
	if isPattern(path) {
		found, _ := filepath.Glob(path) // a wrong pattern matches nothing
		return script{sum: strings.Join(found, "\x00")}
	}
	real := FollowLinks(path)
	for _, root := range s.roots {
		rel, err := filepath.Rel(root, real)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		return readBelow(root, rel, real)
	}
	for _, dir := range s.temps {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			read := readBelow(s.temp, rel, path)
			read.own = true
			return read
		}
	}
	f, info, err := safefile.Open(path)
	if err != nil {
		return script{}
	}
	return readScript(f, info, real, false)
}

// readBelow reads a regular file below a folder. It follows no link.
func readBelow(dir, rel, real string) script {
	folder, err := safefile.OpenFolder(dir)
	if err != nil {
		return script{}
	}
	defer folder.Close() // only read
	f, info, err := folder.Open(rel)
	if err != nil {
		return script{}
	}
	return readScript(f, info, real, true)
}

// readScript reads a file, and closes it.
func readScript(f *os.File, info fs.FileInfo, real string, keep bool) script {
	defer f.Close() // only read
	sum := sha256.New()
	var kept bytes.Buffer
	var to io.Writer = sum
	if keep = keep && info.Size() <= scriptLimit; keep {
		to = io.MultiWriter(sum, &kept)
	}
	if _, err := io.Copy(to, io.LimitReader(f, hashedLimit)); err != nil {
		return script{}
	}
	read := script{real: real, sum: string(sum.Sum(nil))}
	if keep {
		read.text = append([]byte{}, kept.Bytes()...)
	}
	return read
}
