package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// overwrite writes text into the file base of dir, which cannot be replaced: it is a mount point,
// or no other file can be made beside it. old is the file as read before. Both texts are kept until
// the new text is on the disk. If overwrite fails, the file keeps its old text.
func (w *Workspace) overwrite(p place, dir *os.Root, base string, old before, text []byte) (err error) {
	if old.text == nil {
		return fmt.Errorf("%w for a file that can only be written in place, and nothing was changed; use a command", ErrTooLarge)
	}
	f, err := dir.OpenFile(base, os.O_WRONLY|safefile.Flags, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if !sameStat(now, old.info) {
		return w.staleError(p.abs(), "on disk")
	}
	if _, names, known := safefile.Links(now); known && names > 1 {
		return &PathError{Path: p.abs(), Text: fmt.Sprintf("%s: %v. Nothing was changed. To separate it from the others, move a copy of it over it where that is possible", p.abs(), safefile.ErrNames), Err: safefile.ErrNames}
	}
	done, err := w.keepTexts(p, old.text, text)
	if err != nil {
		return fmt.Errorf("the text could not be kept for the case of a crash, and nothing was changed: %w", plain(err))
	}
	defer done()
	return safefile.Overwrite(f, old.text, text)
}

// overwriteByImage is overwrite for [PutBack].
func (w *Workspace) overwriteByImage(p place, dir *os.Root, want Image) error {
	base := filepath.Base(p.rel)
	old, err := readBefore(p, false)
	if err != nil {
		return err
	}
	if err := w.overwrite(p, dir, base, old, want.Text); err != nil {
		return err
	}
	if !want.Open && want.Mode.Perm() != old.info.Mode().Perm() {
		return chmodInPlace(dir, base, old.info, want.Mode.Perm())
	}
	return nil
}

// chmodInPlace changes the mode of a file after it was written in place, if it is still the same
// file.
func chmodInPlace(dir *os.Root, base string, was fs.FileInfo, mode fs.FileMode) error {
	f, err := dir.OpenFile(base, os.O_WRONLY|safefile.Flags, 0)
	if err != nil {
		return err
	}
	defer f.Close() // nothing was written
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if _, names, known := safefile.Links(now); !os.SameFile(was, now) || known && names > 1 {
		return fmt.Errorf("the text of %s was written, and its mode was not changed: another file has taken its place", base)
	}
	return f.Chmod(mode)
}

// keepTexts keeps both texts of a file during a write in place, in a folder of ours, and records
// the write: if this process is killed while it writes, [Sweep] completes the file.
func (u *unfinished) keepTexts(p place, old, text []byte) (done func(), err error) {
	if u.Unfinished == "" {
		return func() {}, nil
	}
	dir, name := textsIn(u.Unfinished), tempName()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	remove := func() { removeTexts(dir, name) }
	for suffix, text := range map[string][]byte{oldSuffix: old, newSuffix: text} {
		if err := writeSynced(filepath.Join(dir, name+suffix), text); err != nil {
			remove()
			return nil, err
		}
	}
	noted := u.add(u.Unfinished, leftover{Folder: p.folder.path, Temp: name, Into: p.rel})
	return func() {
		remove()
		noted()
	}, nil
}

const oldSuffix, newSuffix = ".old", ".new"

// textsIn returns the folder with the texts of writes in place.
func textsIn(notes string) string { return filepath.Join(notes, "texts") }

func removeTexts(dir, name string) {
	_ = os.Remove(filepath.Join(dir, name+newSuffix)) // a remaining file does no harm
	_ = os.Remove(filepath.Join(dir, name+oldSuffix))
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// complete writes the rest of a text into a file after a killed process's write in place. A file
// with any other content was changed since, and stays as it is.
func (l leftover) complete(notes string) {
	dir := textsIn(notes)
	defer removeTexts(dir, l.Temp)
	old, err := safefile.Read(filepath.Join(dir, l.Temp+oldSuffix), MaxWhole)
	if err != nil {
		return
	}
	text, err := safefile.Read(filepath.Join(dir, l.Temp+newSuffix), MaxWhole)
	if err != nil {
		return
	}
	folder, err := safefile.OpenFolder(l.Folder)
	if err != nil {
		return
	}
	defer folder.Close() // only read
	// On an error, the file stays as it is: it is no longer the half-written file.
	_ = folder.Overwrite(l.Into, MaxWhole, func(now []byte) ([]byte, bool) { return text, halfWritten(now, old, text) })
}

// halfWritten reports whether now is the beginning of text and then the rest of old.
func halfWritten(now, old, text []byte) bool {
	if bytes.Equal(now, old) || bytes.Equal(now, text) {
		return false
	}
	n := 0
	for n < min(len(now), len(text)) && now[n] == text[n] {
		n++
	}
	return bytes.Equal(now[n:], old[min(n, len(old)):])
}

// mountPoint returns the error for removing or renaming a mount point.
func mountPoint(path string, err error) error {
	return &PathError{Path: path, Text: path + " is a mount point: its text can be changed, but it cannot be removed or moved here", Err: errors.Join(fs.ErrInvalid, err)}
}
