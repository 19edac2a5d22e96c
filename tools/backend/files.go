package backend

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pkg/sftp"

	"github.com/hermes-ls/hermes-ls/internal/spelling"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// Files are the files on another machine, below the directory in which its commands start. They
// behave like a [workspace.Workspace], over sftp: unedited bytes stay, writes are atomic, and a
// file changed since it was read is not overwritten. A path outside of the directory is rejected.
// This is advisory: remote commands can write every file of their user.
type Files struct {
	ssh *overSSH

	mu   sync.Mutex
	root string // with its links resolved; empty: unresolved
	seen map[string][sha256.Size]byte

	writing chan struct{} // capacity 1: writes run one after another
}

// FilesOf returns the files of a backend with its own files, or nil.
func FilesOf(b Backend) *Files {
	s, ok := b.(*overSSH)
	if !ok {
		return nil
	}
	return &Files{ssh: s, seen: map[string][sha256.Size]byte{}, writing: make(chan struct{}, 1)}
}

// Fork returns the same files for another caller, which records its own reads.
func (f *Files) Fork() *Files { return FilesOf(f.ssh) }

// Close lets go of nothing: the connection is the backend's.
func (f *Files) Close() error { return nil }

// Folders is the folder there. It is known for certain after the first use.
func (f *Files) Folders() []string {
	f.mu.Lock()
	root := f.root
	f.mu.Unlock()
	f.ssh.mu.Lock()
	defer f.ssh.mu.Unlock()
	return []string{cmp.Or(root, f.ssh.place.Dir, f.ssh.Cwd, "~")}
}

// Name is a path in the model's form.
func (f *Files) Name(abs string) string {
	root := f.Folders()[0]
	if abs == root {
		return "."
	}
	return strings.TrimPrefix(path.Clean(abs), strings.TrimSuffix(root, "/")+"/")
}

// Unsaved names nothing: no editor has these files open.
func (f *Files) Unsaved(context.Context) []string { return nil }

const absLimit = 30 * time.Second

// Abs is the absolute path, links resolved.
func (f *Files) Abs(name string) (abs string, err error) {
	ctx, stop := context.WithTimeout(f.ssh.ctx, absLimit)
	defer stop()
	err = f.at(ctx, "finding", name, func(_ *sftp.Client, p string) error {
		abs = p
		return nil
	})
	return abs, err
}

// at calls do with the resolved path of name, and describes its error.
func (f *Files) at(ctx context.Context, doing, name string, do func(c *sftp.Client, p string) error) error {
	err := f.ssh.withFiles(ctx, func(c *sftp.Client) error {
		p, err := f.locate(c, name)
		if err != nil {
			return err
		}
		if err = do(c, p); errors.Is(err, fs.ErrNotExist) {
			return f.notFound(c, name, p)
		}
		return err
	})
	var known *workspace.PathError
	var status *sftp.StatusError
	switch {
	case err == nil || errors.As(err, &known) || ctx.Err() != nil:
		return err
	case errors.Is(err, sftp.ErrSSHFxConnectionLost) || errors.Is(err, io.EOF):
		return fmt.Errorf("%s %s: the connection to %s was lost; the next call connects again: %w", doing, name, f.ssh.SSH.Host, err)
	case errors.As(err, &status) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrExist):
		return &workspace.PathError{Path: name, Text: fmt.Sprintf("%s %s on %s: %v", doing, name, f.ssh.SSH.Host, err), Err: err}
	}
	return err
}

// locate follows the links on the way to name, as far as it exists.
func (f *Files) locate(c *sftp.Client, name string) (string, error) {
	root, err := f.top(c)
	if err != nil {
		return "", err
	}
	name = workspace.FromURI(name)
	switch {
	case name == "":
		return "", &workspace.PathError{Path: name, Text: "no path was given; name a file or folder, relative to " + root, Err: workspace.ErrNotFound}
	case strings.ContainsRune(name, 0):
		return "", &workspace.PathError{Path: name, Text: fmt.Sprintf("%q is no path: it holds a NUL byte", name), Err: workspace.ErrOutside}
	}
	abs := path.Clean(name)
	if !path.IsAbs(name) {
		abs = path.Join(root, name)
	}
	rest := ""
	for at := abs; ; {
		_, err := c.Lstat(at)
		if err == nil {
			if abs, err = c.RealPath(at); err != nil {
				return "", err
			}
			abs = path.Join(abs, rest)
			break
		}
		if !errors.Is(err, fs.ErrNotExist) && !isNoFolder(err) || at == "/" {
			return "", err
		}
		at, rest = path.Dir(at), path.Join(path.Base(at), rest)
	}
	if inside := abs == root || strings.HasPrefix(abs, strings.TrimSuffix(root, "/")+"/"); !inside || abs == "/proc" || strings.HasPrefix(abs, "/proc/") {
		return "", &workspace.PathError{Path: name, Text: fmt.Sprintf("%s is outside %s on %s, where the file tools work; use a path inside it, or a command", name, root, f.ssh.SSH.Host), Err: workspace.ErrOutside}
	}
	return abs, nil
}

// isNoFolder reports whether sftp rejected a path because a part of it is a file.
func isNoFolder(err error) bool {
	var status *sftp.StatusError
	return errors.As(err, &status) && status.FxCode() == sftp.ErrSSHFxFailure
}

// top returns the top directory.
func (f *Files) top(c *sftp.Client) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.root != "" {
		return f.root, nil
	}
	f.ssh.mu.Lock()
	dir := f.ssh.place.Dir
	f.ssh.mu.Unlock()
	real, err := c.RealPath(dir)
	if err != nil {
		return "", fmt.Errorf("the folder %s on %s cannot be opened (terminal.cwd): %w", dir, f.ssh.SSH.Host, err)
	}
	f.root = real
	return real, nil
}

func (f *Files) notFound(c *sftp.Client, name, p string) error {
	text := name + " does not exist on " + f.ssh.SSH.Host
	var near []string
	if entries, err := c.ReadDir(path.Dir(p)); err == nil {
		names := make([]string, len(entries))
		for i, e := range entries {
			names[i] = e.Name()
		}
		for _, name := range spelling.Near(path.Base(p), names) {
			near = append(near, f.Name(path.Join(path.Dir(p), name)))
		}
	}
	if len(near) > 0 {
		text += "; did you mean " + strings.Join(near, " or ") + "?"
	} else {
		text += "; look for it with a file search, or list the folder"
	}
	return &workspace.PathError{Path: name, Text: text, Err: workspace.ErrNotFound}
}

// Stat describes the file at name.
func (f *Files) Stat(ctx context.Context, name string) (info fs.FileInfo, err error) {
	err = f.at(ctx, "looking at", name, func(c *sftp.Client, p string) error {
		info, err = c.Stat(p)
		return err
	})
	return info, err
}

// List lists the folder dir, by name.
func (f *Files) List(ctx context.Context, dir string) (entries []fs.DirEntry, err error) {
	err = f.at(ctx, "listing", dir, func(c *sftp.Client, p string) error {
		found, err := c.ReadDir(p)
		for _, info := range found {
			entries = append(entries, fs.FileInfoToDirEntry(info))
		}
		return err
	})
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}

// openFile opens a regular file. It never opens a file on which a read could block.
func openFile(c *sftp.Client, name, p string) (*sftp.File, fs.FileInfo, error) {
	info, err := c.Stat(p)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		kind := "is not a regular file"
		if info.IsDir() {
			kind = "is a folder, not a file"
		}
		return nil, nil, &workspace.PathError{Path: name, Text: name + " " + kind, Err: workspace.ErrNotRegular}
	}
	file, err := c.Open(p)
	return file, info, err
}

// Read returns the whole text at name.
func (f *Files) Read(ctx context.Context, name string) (file *workspace.File, err error) {
	err = f.at(ctx, "reading", name, func(c *sftp.Client, p string) error {
		text, info, err := readWhole(c, name, p)
		if err != nil {
			return err
		}
		f.remember(p, text)
		file = &workspace.File{Path: p, Name: f.Name(p), Text: text, Mode: info.Mode()}
		return nil
	})
	return file, err
}

func readWhole(c *sftp.Client, name, p string) ([]byte, fs.FileInfo, error) {
	file, info, err := openFile(c, name, p)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close() // only read
	if info.Size() > workspace.MaxWhole {
		return nil, nil, &workspace.PathError{Path: name, Text: fmt.Sprintf("%s is too large to be taken whole (%d MiB, the limit is %d)", name, info.Size()>>20, workspace.MaxWhole>>20), Advice: "; read a window of it, or change it with a command", Err: workspace.ErrTooLarge}
	}
	text := bytes.NewBuffer(make([]byte, 0, info.Size()))
	if _, err := file.WriteTo(text); err != nil {
		return nil, nil, err
	}
	return append([]byte{}, text.Bytes()...), info, nil
}

// readAhead is the size of a request; responses to a request arrive together.
const readAhead = 1 << 20

// Lines returns limit lines from line offset on.
func (f *Files) Lines(ctx context.Context, name string, offset, limit int) (win *workspace.Window, err error) {
	err = f.at(ctx, "reading", name, func(c *sftp.Client, p string) error {
		file, info, err := openFile(c, name, p)
		if err != nil {
			return err
		}
		defer file.Close() // only read
		sum := sha256.New()
		read, err := textenc.ReadWindow(ctx, io.TeeReader(bufio.NewReaderSize(file, readAhead), sum), info.Size(), offset, limit)
		if err != nil {
			return err
		}
		win = &workspace.Window{Path: p, Name: f.Name(p), Window: *read}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.seen[p] = [sha256.Size]byte(sum.Sum(nil))
		return nil
	})
	return win, err
}

func (f *Files) remember(p string, text []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen[p] = sha256.Sum256(text)
}

// known rejects a file changed since it was read.
func (f *Files) known(p string, text []byte) error {
	f.mu.Lock()
	seen, ok := f.seen[p]
	f.mu.Unlock()
	if !ok || seen == sha256.Sum256(text) {
		return nil
	}
	return f.stale(p)
}

func (f *Files) stale(p string) error {
	name := f.Name(p)
	return &workspace.PathError{Path: name, Text: name + " has changed on " + f.ssh.SSH.Host + " since it was read", Advice: "; read it again", Err: workspace.ErrStale}
}

func (f *Files) lockWrites(ctx context.Context) (unlock func(), err error) {
	select {
	case f.writing <- struct{}{}:
		return func() { <-f.writing }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write writes text as the whole content of name. If name is missing, Write creates it and its
// parents.
func (f *Files) Write(ctx context.Context, name string, text []byte) (*workspace.Written, error) {
	change := func([]byte) ([]byte, error) { return text, nil }
	written, err := f.Edit(ctx, name, change)
	if !errors.Is(err, workspace.ErrNotFound) {
		return written, err
	}
	all, err := f.Batch(ctx, []workspace.Action{{Path: name, Text: append([]byte{}, text...)}})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Edit changes the file at name, which must exist. If change returns an error, Edit returns
// it and writes nothing.
func (f *Files) Edit(ctx context.Context, name string, change func(old []byte) ([]byte, error)) (written *workspace.Written, err error) {
	return f.edit(ctx, name, func(p string, old []byte) ([]byte, error, error) {
		if err := f.known(p, old); err != nil {
			return nil, nil, err
		}
		text, refused := change(old)
		return text, refused, nil
	})
}

// EditPresent is Edit of the current text, even if it has changed since it was read. Texts are not
// kept, so change does not receive the text that was read.
func (f *Files) EditPresent(ctx context.Context, name string, change func(old []byte, since workspace.Since) ([]byte, error)) (*workspace.Written, error) {
	return f.edit(ctx, name, func(p string, old []byte) ([]byte, error, error) {
		text, refused := change(old, f.since(p, old))
		return text, refused, nil
	})
}

func (f *Files) since(p string, text []byte) workspace.Since {
	return workspace.Since{Changed: f.known(p, text) != nil}
}

// edit changes the file at name. change returns the new text, the caller's refusal, or an error.
func (f *Files) edit(ctx context.Context, name string, change func(p string, old []byte) (text []byte, refused, err error)) (written *workspace.Written, err error) {
	unlock, err := f.lockWrites(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var refused error // from the caller's function: not ours to reword
	err = f.at(ctx, "changing", name, func(c *sftp.Client, p string) error {
		old, info, err := readWhole(c, name, p)
		if err != nil {
			return err
		}
		text, reason, err := change(p, old)
		if refused = reason; err != nil || reason != nil {
			return err
		}
		if !bytes.Equal(text, old) {
			if err := f.replace(c, p, text, info); err != nil {
				return err
			}
		}
		f.remember(p, text)
		written = &workspace.Written{Path: p, Name: f.Name(p), Old: old, New: append([]byte{}, text...)}
		return nil
	})
	if refused != nil {
		return nil, refused
	}
	return written, err
}

// replace writes text to p atomically. before describes the earlier file; nil: none.
func (f *Files) replace(c *sftp.Client, p string, text []byte, before fs.FileInfo) (err error) {
	if before != nil && before.Mode().Perm()&0o222 == 0 {
		return &workspace.PathError{Path: p, Text: fmt.Sprintf("%s is read-only (mode %04o); make it writable first", f.Name(p), before.Mode().Perm()), Err: fs.ErrPermission}
	}
	temp := path.Join(path.Dir(p), ".hermes-"+rand.Text()[:12]+".tmp")
	file, err := c.Create(temp)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = c.Remove(temp) // the first error is reported
		}
	}()
	mode := fs.FileMode(0o644)
	if before != nil {
		mode = before.Mode().Perm()
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Chmod(mode)
	}
	if _, can := c.HasExtension("fsync@openssh.com"); err == nil && can {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	now, err := c.Lstat(p)
	switch {
	case before == nil && err == nil:
		return f.stale(p)
	case before == nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case before != nil && (err != nil || now.Size() != before.Size() || !now.ModTime().Equal(before.ModTime())):
		return errors.Join(f.stale(p), err)
	}
	return c.PosixRename(temp, p)
}

// Readings returns nil: a path on another machine is spelled as it is meant.
func (*Files) Readings(string) []string { return nil }
