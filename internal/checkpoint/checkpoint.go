// Package checkpoint records the files changed by a session's turns, so they can be restored.
//
// A [Store] holds all checkpoints of a user, in a folder in the user's home: file contents under
// their hash, and a small file for each checkpoint with the hashes. Several processes share it. If
// a process is killed at any time, the store stays consistent, because contents are written before
// the checkpoint's file. The package never writes into a repository: it only reads its index, HEAD,
// refs, stash and objects.
//
// A [Keeper] belongs to one session. The workspace's journal reports each write of a tool. The
// writes of commands and scripts are not known in advance. For them, the keeper scans the whole
// workspace when the turn begins, in parallel with the model's first request. It saves contents
// that exist nowhere else before the first command runs. Contents stored in git are read from git's
// objects if they are needed later.
//
//	k := store.Keeper(checkpoint.Config{Session: id, Files: ws})
//	k.Begin("Make it faster")
//	done := k.BeginCommand(ctx) // before a command
//	…
//	done()
//	k.End()
//	outcome, err := k.Restore(ctx, id, checkpoint.Choice{})
package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// ErrUnknown is returned if a session has no checkpoint with the given id.
var ErrUnknown = errors.New("there is no such checkpoint")

// ErrUnchanged is returned if a file named by the caller has not changed.
var ErrUnchanged = errors.New("not changed since the checkpoint")

// Info describes a checkpoint in a list.
type Info struct {
	ID      string
	Created time.Time
	Title   string
	Files   []string // absolute paths of the files changed between this checkpoint and the next
	Restore bool     // made by a restore, of the replaced state
}

// Kinds of checkpoints.
const (
	kindTurn       = "turn"       // before a turn
	kindBackground = "background" // before work after a turn
	kindNamed      = "named"      // on request
	kindRestore    = "restore"    // before a restore
)

// State describes a file, link or folder at a path.
type State struct {
	Kind   string `json:"kind,omitempty"`   // file, link or folder; empty: the path does not exist
	Mode   uint32 `json:"mode,omitempty"`   // permissions
	Sum    string `json:"sum,omitempty"`    // SHA-256 of a file's content, in hexadecimal
	Size   int64  `json:"size,omitempty"`   // of a file
	Link   string `json:"link,omitempty"`   // the target of a link
	Editor bool   `json:"editor,omitempty"` // the text of an open document: Mode is not used
	Lost   string `json:"lost,omitempty"`   // why the content is not saved
}

const (
	kindFile   = "file"
	kindLink   = "link"
	kindFolder = "folder"
)

// same reports whether two states look the same to the user. It ignores the mode if either is the
// text of an open document.
func (s State) same(t State) bool {
	if s.Kind != t.Kind || s.Sum != t.Sum || s.Link != t.Link {
		return false
	}
	if s.Sum == "" && s.Kind == kindFile && (s.Size != t.Size || s.Lost != t.Lost) {
		return false
	}
	return s.Editor || t.Editor || s.Mode == t.Mode
}

// stateOf returns the state of an image.
func stateOf(i workspace.Image) State {
	s := State{Mode: uint32(i.Mode.Perm())}
	switch {
	case !i.There():
		return State{}
	case i.Mode.IsDir():
		s.Kind = kindFolder
	case i.Mode&fs.ModeSymlink != 0:
		return State{Kind: kindLink, Link: i.Link}
	default:
		s.Kind, s.Size, s.Editor = kindFile, i.Size, i.Open
		if i.Text == nil {
			s.Lost = tooLarge
		} else {
			s.Sum = sumOf(i.Text)
		}
	}
	return s
}

// imageOf returns the image of a state; text is the content of a file.
func imageOf(s State, text []byte) workspace.Image {
	i := workspace.Image{Mode: fs.FileMode(s.Mode), Size: s.Size}
	switch s.Kind {
	case "":
		return workspace.NoImage
	case kindFolder:
		i.Mode |= fs.ModeDir
	case kindLink:
		i.Mode, i.Link = fs.ModeSymlink, s.Link
	default:
		i.Text, i.Open = text, s.Editor
	}
	return i
}

// Reasons why a content is not saved.
const (
	tooLarge   = "it is larger than checkpoints.max_file_mb"
	tooMuch    = "checkpoints.max_mb has no room for it"
	unread     = "it could not be read"
	notInTime  = "a command began before it was kept"
	goneInGit  = "git has it no longer"
	notStored  = "it could not be written to the checkpoints' folder"
	changedFor = "it was being written while it was looked at"
)

// Change is the difference of a path between a checkpoint and the next.
type Change struct {
	Path   string `json:"path"` // absolute
	Before State  `json:"before"`
	After  State  `json:"after"`
	// Unsure: the user or another program may have made the change. A restore skips it, unless
	// the caller forces it.
	Unsure bool `json:"unsure,omitempty"`
	// Steps are the earlier parts of the change, if the user changed the file in between, and From is
	// the state before the last part. Nil: Before is.
	Steps []Step `json:"steps,omitempty"`
	From  *State `json:"from,omitempty"`
	// Begun: it is not known yet whether the change was made.
	Begun bool `json:"begun,omitempty"`

	noted int64 // when a tool made it
	first int64 // when a tool first changed the path
	late  bool  // a command had run before: the initial tree holds the correct Before
}

// Step is a part of a change, made by the session and not the user.
type Step struct {
	Before State `json:"before"`
	After  State `json:"after"`
}

// steps returns all parts of the change, oldest first.
func (c *Change) steps() []Step {
	last := Step{c.Before, c.After}
	if c.From != nil {
		last.Before = *c.From
	}
	return append(slices.Clone(c.Steps), last)
}

// next begins a new part, because the user has left the file in the state now.
func (c *Change) next(now State) {
	c.Steps, c.From, c.After = c.steps(), &now, now
}

// none reports whether nothing was changed.
func (c *Change) none() bool { return !c.Begun && c.From == nil && c.Before.same(c.After) }

// sums returns the sums of all contents of the change.
func (c *Change) sums() (sums []string) {
	for _, s := range c.steps() {
		for _, sum := range []string{s.Before.Sum, s.After.Sum} {
			if sum != "" && !slices.Contains(sums, sum) {
				sums = append(sums, sum)
			}
		}
	}
	return sums
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Names of files may be invalid UTF-8, which JSON cannot represent. Such a name is stored as a
// NUL character, which no name contains, and its bytes in hexadecimal.

// encode returns the change in a form valid in JSON.
func (c Change) encode() Change {
	c.Steps = slices.Clone(c.Steps)
	if c.From != nil {
		from := *c.From
		c.From = &from
	}
	for _, name := range c.names() {
		if !utf8.ValidString(*name) {
			*name = "\x00" + hex.EncodeToString([]byte(*name))
		}
	}
	return c
}

// decode restores the names of an encoded change.
func (c *Change) decode() {
	for _, name := range c.names() {
		if coded, ok := strings.CutPrefix(*name, "\x00"); ok {
			if plain, err := hex.DecodeString(coded); err == nil {
				*name = string(plain)
			}
		}
	}
}

func (c *Change) names() []*string {
	names := []*string{&c.Path, &c.Before.Link, &c.After.Link}
	for i := range c.Steps {
		names = append(names, &c.Steps[i].Before.Link, &c.Steps[i].After.Link)
	}
	if c.From != nil {
		names = append(names, &c.From.Link)
	}
	return names
}
