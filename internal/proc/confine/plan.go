// Package confine is what a supervisor does to itself, or to the process that it
// is about to start, so that a program and all it starts reach no more than a
// [Plan] says. It decides nothing: package sandbox makes the plan, and package
// proc carries it to the supervisor.
//
// [Enter] changes the calling thread and process for good and is called once, in
// a process that exists for nothing else.
package confine

import (
	"errors"
	"strconv"
)

// Plan is what bounds a child. The zero plan bounds nothing. Paths are absolute
// and free of symbolic links; those that do not exist are passed over.
type Plan struct {
	// Namespaces puts the child into user, mount, IPC and process namespaces of its
	// own, in which everything is read-only but what the lists below say.
	Namespaces bool
	Processes  bool // with Namespaces or Prefix: a process namespace, too
	Network    bool // with Namespaces: a network of its own, with nothing but a loopback

	// Prefix is a program with arguments that makes the namespaces instead of us
	// (bubblewrap). It is followed by our own binary.
	Prefix []string

	Writable []string // folders and files
	Hidden   []string // folders become empty ones, files Blank
	Visible  []string // read-only; may lie within Hidden
	ReadOnly []string // may lie within Writable
	Pinned   []string // writable, but neither to be renamed nor removed
	Copies   []Copy   // read-only, over files that exist
	Temp     string   // a folder of the host's that stands in for each of TempAt
	TempAt   []string
	Blank    string // what stands in for hidden files
	Nothing  string // what stands in for hidden folders
	ShmMB    int    // the most that shared memory holds; 0: the system's default

	// Landlock bounds access to Reads and Writes by the kernel's Landlock.
	Landlock bool
	Reads    []string
	Writes   []string
	// Scoped keeps signals and abstract sockets within, where the kernel can.
	Scoped bool
	// Sockets bounds the kinds of sockets that can be made: see the constants.
	Sockets int
}

// Copy is a file of the host's that stands in for another, which has to exist.
type Copy struct{ From, At string }

// What sockets may be made.
const (
	AnySocket   = iota
	OurNetwork  // those that a network namespace bounds
	LocalSocket // Unix ones alone
)

// Apply reports whether the plan asks for anything.
func (p *Plan) Apply() bool { return p.Apart() || p.Landlock || p.Sockets != AnySocket }

// Apart reports whether the child has namespaces of its own.
func (p *Plan) Apart() bool { return p.Namespaces || len(p.Prefix) > 0 }

func (p *Plan) bools() []*bool {
	return []*bool{&p.Namespaces, &p.Processes, &p.Network, &p.Landlock, &p.Scoped}
}

func (p *Plan) texts() []*string { return []*string{&p.Temp, &p.Blank, &p.Nothing} }

func (p *Plan) lists() []*[]string {
	return []*[]string{
		&p.Prefix, &p.Writable, &p.Hidden, &p.Visible, &p.ReadOnly, &p.Pinned,
		&p.TempAt, &p.Reads, &p.Writes,
	}
}

// Fields is the plan as plain strings, for a supervisor that has to start without
// the cost of a real format.
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
	for _, c := range p.Copies {
		out = append(out, c.From, c.At)
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
	for _, l := range p.lists() {
		text, _ := next()
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 || n > len(fields) {
			return nil, errFields
		}
		*l, fields = fields[:n:n], fields[n:]
	}
	for ; len(fields) > 1; fields = fields[2:] {
		p.Copies = append(p.Copies, Copy{fields[0], fields[1]})
	}
	return p, nil
}
