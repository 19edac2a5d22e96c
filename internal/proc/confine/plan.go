// Package confine bounds a supervisor or its next child process, so a program and all its
// descendants reach no more than a [Plan] allows. It decides nothing: package sandbox makes the
// plan, and package proc sends it to the supervisor.
//
// [Enter] changes the calling thread and process for good and is called once, in a process with no
// other purpose.
package confine

import (
	"errors"
	"slices"
	"strconv"
	"strings"
)

// Plan bounds a child. The zero plan bounds nothing. Paths are absolute and free of symbolic links;
// missing paths are skipped.
type Plan struct {
	// Namespaces puts the child into new user, mount, IPC and process namespaces, in which
	// everything is read-only, except for the lists below.
	Namespaces bool
	Processes  bool // with Namespaces or Prefix: a process namespace, too
	Network    bool // with Namespaces: a separate network with only a loopback

	// Prefix is a program, with arguments, to make the namespaces instead of us (bubblewrap). Our
	// own binary follows.
	Prefix []string

	Writable []string // folders and files
	Hidden   []string // folders become empty, files Blank
	Visible  []string // read-only; may lie within Hidden
	ReadOnly []string // may lie within Writable
	Pinned   []string // writable, but neither to be renamed nor removed
	Links    []string // links that cannot be replaced or removed
	Copies   []Copy   // read-only, over existing files
	Folders  []Copy   // read-only, in place of folders; may contain Visible paths, like Hidden
	Binds    []Copy   // writable, in place of folders
	Temp     string   // a host's folder to replace each of TempAt
	TempAt   []string
	Blank    string // replaces hidden files
	Nothing  string // replaces hidden folders

	// Layers are folders whose changes are written to a layer of ours instead. From is the layer's
	// name in LayerDir.
	Layers   []Copy
	LayerDir string

	ShmMB int // the limit of shared memory; 0: the system's default

	// Landlock bounds access to Reads and Writes by the kernel's Landlock.
	Landlock bool
	Reads    []string
	Writes   []string
	// Scoped keeps signals and abstract sockets within, where the kernel can.
	Scoped bool
	// Sockets bounds the allowed kinds of sockets: see the constants.
	Sockets int
}

// Copy is a host's file or folder shown in place of another.
type Copy struct{ From, At string }

// Values of [Plan.Sockets].
const (
	AnySocket      = iota
	InternetSocket // sockets of programs: local, TCP, UDP, and the kernel's
	LocalSocket    // Unix sockets alone
)

// Apply reports whether the plan asks for anything.
func (p *Plan) Apply() bool { return p.Apart() || p.Landlock || p.Sockets != AnySocket }

// Apart reports whether the child has separate namespaces.
func (p *Plan) Apart() bool { return p.Namespaces || len(p.Prefix) > 0 }

// Hides reports whether a file or folder, by its path without links, is known to be out of the
// child's sight.
func (p *Plan) Hides(path string) bool {
	deepest := func(lists ...[]string) (n int) {
		for _, list := range lists {
			for _, dir := range list {
				if dir == "/" || path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") {
					n = max(n, len(dir))
				}
			}
		}
		return n
	}
	if p.Landlock && len(p.Reads) > 0 && deepest(p.Reads, p.Writes) == 0 {
		return true
	}
	hidden := slices.Concat(p.Hidden, p.TempAt, places(p.Folders))
	shown := slices.Concat(p.Visible, p.Writable, places(p.Layers), places(p.Binds))
	more, seen := p.prefixed()
	return deepest(hidden, more) > deepest(shown, seen)
}

// prefixed returns what the mounts of bubblewrap hide and show.
func (p *Plan) prefixed() (hidden, shown []string) {
	for i, word := range p.Prefix {
		switch rest := p.Prefix[i+1:]; {
		case word == "--tmpfs" && len(rest) > 0:
			hidden = append(hidden, rest[0])
		case (word == "--bind" || word == "--ro-bind") && len(rest) > 1 && rest[0] == rest[1]:
			shown = append(shown, rest[1])
		case (word == "--bind" || word == "--ro-bind") && len(rest) > 1: // another is mounted in its place
			hidden = append(hidden, rest[1])
		}
	}
	return hidden, shown
}

// places are where copies stand.
func places(copies []Copy) (at []string) {
	for _, c := range copies {
		at = append(at, c.At)
	}
	return at
}

func (p *Plan) bools() []*bool {
	return []*bool{&p.Namespaces, &p.Processes, &p.Network, &p.Landlock, &p.Scoped}
}

func (p *Plan) texts() []*string { return []*string{&p.Temp, &p.Blank, &p.Nothing, &p.LayerDir} }

func (p *Plan) lists() []*[]string {
	return []*[]string{
		&p.Prefix, &p.Writable, &p.Hidden, &p.Visible, &p.ReadOnly, &p.Pinned,
		&p.TempAt, &p.Reads, &p.Writes, &p.Links,
	}
}

func (p *Plan) copies() []*[]Copy { return []*[]Copy{&p.Copies, &p.Folders, &p.Binds, &p.Layers} }

// Fields returns the plan as plain strings, so a supervisor starts without the cost of a real
// format.
func (p *Plan) Fields() []string {
	flags := ""
	for _, b := range p.bools() {
		flags += strconv.FormatBool(*b)[:1]
	}
	out := []string{flags, strconv.Itoa(p.Sockets), strconv.Itoa(p.ShmMB)}
	for _, s := range p.texts() {
		out = append(out, *s)
	}
	for _, l := range p.lists() {
		out = append(append(out, strconv.Itoa(len(*l))), *l...)
	}
	for _, l := range p.copies() {
		out = append(out, strconv.Itoa(2*len(*l)))
		for _, c := range *l {
			out = append(out, c.From, c.At)
		}
	}
	return out
}

var errFields = errors.New("what bounds the child cannot be read")

// FromFields is the other way round.
func FromFields(fields []string) (*Plan, error) {
	p := &Plan{}
	next := func() (s string, ok bool) {
		if len(fields) == 0 {
			return "", false
		}
		s, fields = fields[0], fields[1:]
		return s, true
	}
	flags, _ := next()
	sockets, _ := next()
	shm, _ := next()
	if len(flags) != len(p.bools()) {
		return nil, errFields
	}
	for i, b := range p.bools() {
		*b = flags[i] == 't'
	}
	p.Sockets, _ = strconv.Atoi(sockets)
	p.ShmMB, _ = strconv.Atoi(shm)
	for _, s := range p.texts() {
		*s, _ = next()
	}
	list := func() (l []string, err error) {
		text, _ := next()
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > len(fields) {
			return nil, errFields
		}
		l, fields = fields[:n:n], fields[n:]
		return l, nil
	}
	for _, l := range p.lists() {
		var err error
		if *l, err = list(); err != nil {
			return nil, err
		}
	}
	for _, l := range p.copies() {
		pairs, err := list()
		if err != nil {
			return nil, err
		}
		for ; len(pairs) > 1; pairs = pairs[2:] {
			*l = append(*l, Copy{pairs[0], pairs[1]})
		}
	}
	return p, nil
}
