package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// The kinds of errors; each is wrapped by a [*PathError] whose text is a
// sentence for the model.
var (
	ErrOutside    = errors.New("outside the workspace")
	ErrStale      = errors.New("changed since it was read")
	ErrNotRegular = safefile.ErrNotRegular
	ErrTooLarge   = safefile.ErrTooLarge
	ErrNotFound   = errors.New("not found")
	ErrRefused    = errors.New("refused by the editor")
)

// PathError describes a problem with a path and the next step.
type PathError struct {
	Path string // as it was asked for
	Text string // the problem
	// Advice is the next step of the model, with the punctuation before it. [Reason] leaves it out.
	Advice string
	Err    error // an error of this package, or the system's
}

func (e *PathError) Error() string { return e.Text + e.Advice }

// Reason returns the text of an error for people, without the model's next step.
func Reason(err error) string {
	var e *PathError
	if errors.As(err, &e) {
		return e.Text
	}
	return err.Error()
}

func (e *PathError) Unwrap() error { return e.Err }

// NotSaved is the error of a change made in an open document that the editor could not save.
type NotSaved struct {
	Name string // of the file
	Why  string // the editor's reason, or ""
	Lost bool   // the save has destroyed the file: it has neither the old text nor the new one
}

func (e *NotSaved) Error() string {
	reason := ""
	if e.Why != "" {
		reason = " (" + e.Why + ")"
	}
	disk := "the disk has the old text"
	if e.Lost {
		disk = "the disk has neither the old text nor the new one, so ask the user to save it"
	}
	return fmt.Sprintf("%s is changed in the editor, but it was not saved%s: %s", e.Name, reason, disk)
}

// EditRefused is the error of an editor after it refused an edit, with its reason. It is an
// [ErrStale]: most editors refuse an edit because the text has changed.
type EditRefused struct{ Reason string }

func (e *EditRefused) Error() string { return "the editor refused the edit: " + e.Reason }

func (*EditRefused) Unwrap() error { return ErrStale }

// plain drops the operation and the path of an error from package os, because our sentences already
// name the path.
func plain(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}

// escapes reports whether an os.Root refused to follow a link. The error has no
// exported name.
func escapes(err error) bool {
	return err != nil && strings.HasSuffix(err.Error(), "path escapes from parent")
}

// missing reports whether there is nothing at a path: no such entry, or a file
// where a folder would have to be.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
