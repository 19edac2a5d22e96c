// Package checkpoint keeps what a turn of a session is about to change, so that it
// can be brought back.
//
// A [Store] is the place of all checkpoints, a folder in the user's home: contents
// under their hash, and one small file for each checkpoint that names them. Several
// processes share it; whatever is killed at whatever moment leaves it whole, since
// contents are there before the file that names them. Nothing is ever written into a
// repository: its index, HEAD, refs, stash and objects are only read.
//
// A [Keeper] belongs to one session. What tools write is told to it by the
// workspace's journal, file by file. What commands and scripts write nobody can tell
// in advance: so the whole workspace is surveyed as the turn begins, beside the
// model's first request, and contents that exist nowhere else are kept before the
// first command runs. What git has in its objects is taken from there, when it turns
// out that it is needed.
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
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

// ErrUnknown says that a session has no checkpoint of that name.
var ErrUnknown = errors.New("there is no such checkpoint")

// ErrUnchanged says that a file which was named is as it was.
var ErrUnchanged = errors.New("not changed since the checkpoint")

// Info is a checkpoint as it is listed.
type Info struct {
	ID      string
	Created time.Time
	Title   string
	Files   []string // absolute; what was changed between this checkpoint and the next
	Restore bool     // made by a restore, of the state that it replaced
}

// Kinds of checkpoints.
const (
	kindTurn       = "turn"       // before a turn
	kindBackground = "background" // before work that goes on after a turn
	kindNamed      = "named"      // somebody wanted it
	kindRestore    = "restore"    // before a restore
)

// State is what was at a path.
type State struct {
	Kind   string `json:"kind,omitempty"`   // file, link or folder; empty: nothing
	Mode   uint32 `json:"mode,omitempty"`   // permissions
	Sum    string `json:"sum,omitempty"`    // SHA-256 of a file's content, in hexadecimal
	Size   int64  `json:"size,omitempty"`   // of a file
	Link   string `json:"link,omitempty"`   // where a link leads
	Editor bool   `json:"editor,omitempty"` // the text of a document that was open: Mode says nothing
	Lost   string `json:"lost,omitempty"`   // why the content is not kept
}

const (
	kindFile   = "file"
	kindLink   = "link"
	kindFolder = "folder"
)

// same reports whether two states are the same to a person.
func (s State) same(t State) bool {
	if s.Kind != t.Kind || s.Sum != t.Sum || s.Link != t.Link {
		return false
	}
	if s.Sum == "" && s.Kind == kindFile && (s.Size != t.Size || s.Lost != t.Lost) {
		return false
	}
	return s.Editor || t.Editor || s.Mode == t.Mode
}

// stateOf is the state that an image shows.
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

// imageOf is what a state looks like; text is a file's.
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

// Why a content is not kept.
const (
	tooLarge   = "it is larger than checkpoints.max_file_mb"
	tooMuch    = "checkpoints.max_mb has no room for it"
	unread     = "it could not be read"
	notInTime  = "a command began before it was kept"
	goneInGit  = "git has it no longer"
	notStored  = "it could not be written to the checkpoints' folder"
	changedFor = "it was being written while it was looked at"
)

// Change is what became of a path between one checkpoint and the next.
type Change struct {
	Path   string `json:"path"` // absolute
	Before State  `json:"before"`
	After  State  `json:"after"`
	// Unsure: somebody else may have made it. A restore leaves it alone unless the
	// file is named.
	Unsure bool `json:"unsure,omitempty"`
	// Begun: whether the change was made is not known yet.
	Begun bool `json:"begun,omitempty"`

	noted int64 // when a tool made it
	late  bool  // a command had run before: the tree of the beginning knows better what was there
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Names of files need not be text, and JSON knows nothing else: such a name is kept
// as a NUL character, which no name has, and its bytes in hexadecimal.

// encode is the change as it can be written down.
func (c Change) encode() Change {
	for _, name := range c.names() {
		if !utf8.ValidString(*name) {
			*name = "\x00" + hex.EncodeToString([]byte(*name))
		}
	}
	return c
}

func (c *Change) disarm() {
	for _, name := range c.names() {
		if coded, ok := strings.CutPrefix(*name, "\x00"); ok {
			if plain, err := hex.DecodeString(coded); err == nil {
				*name = string(plain)
			}
		}
	}
}

func (c *Change) names() []*string { return []*string{&c.Path, &c.Before.Link, &c.After.Link} }
