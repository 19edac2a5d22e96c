package delegate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // git's own names of contents
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

// state is what a file is; the zero value: it is not there.
type state struct {
	ID   string `json:"id"` // git's name of its text, or where a link leads
	Link bool   `json:"link,omitempty"`
	Exec bool   `json:"exec,omitempty"` // it may be run
	// Bad says why the text of a file is not taken, such as its size. ID tells then two
	// such files apart.
	Bad string `json:"bad,omitempty"`
}

// textLimit bounds one file of a worktree that is compared and brought back.
const textLimit = 256 << 20

// Why a text is not taken.
const (
	tooLarge   = "it is larger than 256 MB"
	otherNames = "it is a hard link to a file outside of the copy"
	unreadable = "it could not be read"
)

// states tells what files of the worktree are. Their texts are read here, and never by
// git: a command may have put links in the place of folders, or names into git's index
// that lead elsewhere.
func (t *tree) states(ctx context.Context, names []string) (map[string]state, error) {
	root, err := safefile.OpenFolder(t.root)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // only read
	seen := make(map[string]fs.FileInfo, len(names))
	inside := map[safefile.FileID]uint64{} // how many names a file has here
	for _, name := range names {
		info, err := root.Lstat(name)
		if err != nil {
			continue // nothing is there, or something that the copy does not hold
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

// stateOf is the state of a regular file.
func (t *tree) stateOf(root *safefile.Folder, name string, info fs.FileInfo) state {
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

// idOf is the name that git has for a text.
func (t *tree) idOf(text []byte) string {
	var h hash.Hash = sha1.New() //nolint:gosec // as git
	if len(t.commit) == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(text))
	h.Write(text) //nolint:errcheck // never fails
	return hex.EncodeToString(h.Sum(nil))
}

// after is the text of a file of the worktree as s says it is.
func (t *tree) after(root *safefile.Folder, name string, s state) ([]byte, error) {
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

// before is the text of a file as the task began.
func (t *tree) before(s state) ([]byte, error) {
	if s.ID == "" && s.Bad == "" || s.Link {
		return nil, nil
	}
	if s.Bad != "" {
		return nil, errors.New(s.Bad)
	}
	text, err := t.note.texts.Read(s.ID, textLimit)
	if err == nil && t.idOf(text) != s.ID {
		err = errors.New("it is damaged")
	}
	if err != nil {
		return nil, fmt.Errorf("its text as the task began is not known: %w", err)
	}
	return text, nil
}

// keepTexts keeps the texts of files as the task begins, as far as git has not got them.
func (t *tree) keepTexts(ctx context.Context, names []string) error {
	has, err := t.staged(ctx)
	if err != nil {
		return err
	}
	root, err := safefile.OpenFolder(t.root)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only read
	for _, name := range names {
		s := t.began[name]
		if s.ID == "" || s.Link || s.Bad != "" || has[name] == s.ID {
			continue
		}
		text, err := root.Read(name, textLimit)
		if err == nil {
			err = t.note.texts.Write(s.ID, text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("keeping %s as it is: %w", name, err)
		}
	}
	return nil
}

// staged are git's names of the texts that it has of files, by the files' names.
func (t *tree) staged(ctx context.Context) (map[string]string, error) {
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

// fetchTexts has the texts of files as the task began from git, where they are not kept.
// Those that git has no longer are missing afterwards. One git reads them all.
func (t *tree) fetchTexts(ctx context.Context, names []string) error {
	wanted := map[string]bool{}
	for _, name := range names {
		s := t.began[name]
		if _, err := t.note.texts.Lstat(s.ID); s.ID != "" && !s.Link && s.Bad == "" && err != nil && isHex(s.ID) {
			wanted[s.ID] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	ids := slices.Sorted(maps.Keys(wanted))
	out, into := io.Pipe()
	read := make(chan error, 1)
	go func() { // ends when git has, or nobody writes any more
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

// readTexts keeps what cat-file answers, if it is what its name says.
func (t *tree) readTexts(in *bufio.Reader, ids []string) error {
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
		if err := t.note.texts.Write(id, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

func isHex(id string) bool {
	_, err := hex.DecodeString(id)
	return err == nil && len(id) <= 2*sha256.Size
}

// mostFiles is how many files a worktree may have.
const mostFiles = 300_000

// listFiles are the files of a working folder that git does not ignore, those that it
// does not know yet included.
func (t *tree) listFiles(ctx context.Context, r gitrepo.Repo) ([]string, error) {
	out, err := t.git.run(ctx, t.call(r), "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(out, []byte{0}); n > mostFiles {
		return nil, fmt.Errorf("%s has %d files, and at most %d can be copied", r.Top, n, mostFiles)
	}
	return fields(out), nil
}

// fields are what git has ended with NUL characters.
func fields(out []byte) (names []string) {
	for name := range strings.SplitSeq(string(out), "\x00") {
		if name != "" {
			names = append(names, filepath.FromSlash(name))
		}
	}
	return names
}

// usable reports whether a name from git's index is one of a file in its working folder.
// An index is written by commands: it may name files elsewhere, or git's own.
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

// isGit reports whether some system takes a name for ".git": without regard to case,
// with dots, spaces or a stream behind it, in the short form of Windows, or with
// characters in it that macOS does not see.
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
