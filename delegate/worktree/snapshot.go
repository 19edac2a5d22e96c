package worktree

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" // git's own names of contents
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/gitrepo"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// state describes a file. The zero value means there is none.
type state struct {
	ID   string `json:"id"` // git's hash of its text, or the target of a link
	Link bool   `json:"link,omitempty"`
	Exec bool   `json:"exec,omitempty"` // it is executable
	// Bad is the reason for not merging the text, such as its size. Then ID is used only to
	// detect changes of the file.
	Bad string `json:"bad,omitempty"`
}

// textLimit limits the size of a file to compare and merge.
const textLimit = 256 << 20

// Values of [state].Bad.
const (
	tooLarge   = "it is larger than 256 MB"
	otherNames = "it is a hard link to a file outside of the copy"
	unreadable = "it could not be read"
)

// states returns the states of files of the worktree. It reads their texts without git, because
// a command may have replaced folders by links. It may also have written names into git's index
// that lead out of the worktree.
func (t *Tree) states(ctx context.Context, names []string) (map[string]state, error) {
	root, err := safefile.OpenFolder(t.root)
	if err != nil {
		return nil, err
	}
	defer root.Close() // only read
	seen := make(map[string]fs.FileInfo, len(names))
	inside := map[safefile.FileID]uint64{} // number of the file's names here
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil {
			continue // missing, or outside the worktree
		}
		seen[name] = info
		if id, count, known := safefile.Links(info); known && count > 1 {
			inside[id]++
		}
	}
	all := make(map[string]state, len(seen))
	for name, info := range seen {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id, count, known := safefile.Links(info)
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			if target, err := root.Readlink(name); err == nil {
				all[name] = state{ID: target, Link: true}
			}
		case !info.Mode().IsRegular():
		case known && count > 1 && count > inside[id]:
			all[name] = state{ID: fmt.Sprint(info.Size(), info.ModTime()), Bad: otherNames}
		default:
			all[name] = t.stateOf(root, name, info)
		}
	}
	return all, nil
}

// stateOf returns the state of a regular file.
func (t *Tree) stateOf(root *safefile.Folder, name string, info fs.FileInfo) state {
	s := state{Exec: info.Mode()&0o100 != 0}
	if info.Size() > textLimit {
		return state{ID: fmt.Sprint(info.Size(), info.ModTime()), Exec: s.Exec, Bad: tooLarge}
	}
	text, err := root.Read(name, textLimit)
	if err != nil {
		return state{Exec: s.Exec, Bad: unreadable}
	}
	s.ID = t.idOf(text)
	return s
}

// idOf returns git's hash of a text.
func (t *Tree) idOf(text []byte) string {
	var h hash.Hash = sha1.New() // as git
	if len(t.commit) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(text))
	h.Write(text) // never fails
	return hex.EncodeToString(h.Sum(nil))
}

// textNow returns the text of a file of the worktree in state s.
func (t *Tree) textNow(root *safefile.Folder, name string, s state) ([]byte, error) {
	if s.ID == "" && s.Bad == "" || s.Link {
		return nil, nil
	}
	if s.Bad != "" {
		return nil, errors.New(s.Bad)
	}
	text, err := root.Read(name, textLimit)
	if err != nil {
		return nil, err
	}
	if t.idOf(text) != s.ID {
		return nil, errors.New("it was still being written")
	}
	return text, nil
}

// textBefore returns the text of a file in state s at the start of the task.
func (t *Tree) textBefore(s state) ([]byte, error) {
	if s.ID == "" && s.Bad == "" || s.Link {
		return nil, nil
	}
	if s.Bad != "" {
		return nil, errors.New(s.Bad)
	}
	text, err := t.record.texts.Read(s.ID, textLimit)
	if err == nil && t.idOf(text) != s.ID {
		err = errors.New("it is damaged")
	}
	if err != nil {
		return nil, fmt.Errorf("its text as the task began is not known: %w", err)
	}
	return text, nil
}

// saveTexts saves the texts of files at the start of the task, unless git stores them.
func (t *Tree) saveTexts(ctx context.Context, names []string) error {
	has, err := t.staged(ctx)
	if err != nil {
		return err
	}
	root, err := safefile.OpenFolder(t.root)
	if err != nil {
		return err
	}
	defer root.Close() // only read
	for _, name := range names {
		s := t.before[name]
		if s.ID == "" || s.Link || s.Bad != "" || has[name] == s.ID {
			continue
		}
		text, err := root.Read(name, textLimit)
		if err == nil {
			err = t.record.texts.Write(s.ID, text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("keeping %s as it is: %w", name, err)
		}
	}
	return nil
}

// staged returns the hashes of files in git's index, by the names of the files.
func (t *Tree) staged(ctx context.Context) (map[string]string, error) {
	out, err := t.git.run(ctx, t.call(t.Repo), "ls-files", "-z", "--stage")
	if err != nil {
		return nil, err
	}
	staged := map[string]string{}
	for _, entry := range fields(out) {
		info, name, _ := strings.Cut(entry, "\t")
		if words := strings.Fields(info); len(words) == 3 {
			staged[name] = words[1]
		}
	}
	return staged, nil
}

// fetchTexts saves the texts of files at the start of the task, from git. It skips saved texts
// and texts missing in git. A single git process reads them all.
func (t *Tree) fetchTexts(ctx context.Context, names []string) error {
	wanted := map[string]bool{}
	for _, name := range names {
		s := t.before[name]
		if _, err := t.record.texts.Lstat(s.ID); s.ID != "" && !s.Link && s.Bad == "" && err != nil && isHex(s.ID) {
			wanted[s.ID] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(wanted))
	out, into := io.Pipe()
	read := make(chan error, 1)
	go func() { // ends when git has exited, or at a failure
		err := t.readTexts(bufio.NewReaderSize(out, 64<<10), ids)
		_ = out.CloseWithError(err) // always nil
		read <- err
	}()
	call := t.call(t.Repo)
	call.stdin, call.stdout = strings.NewReader(strings.Join(ids, "\n")+"\n"), into
	_, err := t.git.run(ctx, call, "cat-file", "--batch")
	_ = into.Close() // always nil
	return errors.Join(err, <-read)
}

// readTexts saves the answers of cat-file, if each text matches its requested hash.
func (t *Tree) readTexts(in *bufio.Reader, ids []string) error {
	for _, id := range ids {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		words := strings.Fields(line)
		if len(words) != 3 {
			continue // missing
		}
		size, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil || size < 0 || size > textLimit || words[1] != "blob" {
			return fmt.Errorf("git answered %q for %s", line, id)
		}
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			return err
		}
		if _, err := in.Discard(1); err != nil {
			return err
		}
		if t.idOf(text) != id {
			continue
		}
		if err := t.record.texts.Write(id, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func isHex(id string) bool {
	_, err := hex.DecodeString(id)
	return err == nil && len(id) <= 2*sha256.Size
}

// mostFiles limits the files of a worktree.
const mostFiles = 300_000

// listFiles returns the files of a worktree not ignored by git, including untracked files.
func (t *Tree) listFiles(ctx context.Context, r gitrepo.Repo) ([]string, error) {
	out, err := t.git.run(ctx, t.call(r), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(out, []byte{0}); n > mostFiles {
		return nil, fmt.Errorf("%s has %d files, and at most %d can be copied", r.Top, n, mostFiles)
	}
	return fields(out), nil
}

// fields splits git's NUL-separated output.
func fields(out []byte) (names []string) {
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name != "" {
			names = append(names, filepath.FromSlash(name))
		}
	}
	return names
}

// usable reports whether a name from git's index names a file in the worktree. A command may
// have written an index with names of other files, or git's own.
func usable(name string) bool {
	if !filepath.IsLocal(name) || strings.ContainsRune(name, 0) {
		return false
	}
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if isGit(part) {
			return false
		}
	}
	return true
}

// isGit reports whether any system treats a name as ".git": in other case, with dots, spaces or
// a stream after it, in the short form of Windows, or with characters ignored by macOS.
func isGit(name string) bool {
	visible := strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
	before, _, _ := strings.Cut(visible, ":")
	plain := strings.ToLower(strings.TrimRight(before, ". "))
	return plain == ".git" || plain == "git~1"
}
