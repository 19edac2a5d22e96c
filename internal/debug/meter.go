package debug

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/debug/tap"
)

// maxNames bounds the names that a client or a model can add to the meter.
const maxNames = 1000

// Meter counts messages and records the open calls. It keeps only names and ids, and no contents.
// It is safe for concurrent use.
type Meter struct {
	mu     sync.Mutex
	counts map[string]count
	open   map[callKey]call
}

type count struct{ n, bytes int }

type callKey struct{ kind, id string }

type call struct {
	name  string
	since time.Time
}

// Kinds of calls.
const (
	FromClient   = "request of the client"
	ToClient     = "request to the client"
	ToolCall     = "tool call"
	ModelRequest = "model request"
	Subagent     = "subagent"
)

// NewMeter returns an empty meter.
func NewMeter() *Meter { return &Meter{counts: map[string]count{}, open: map[callKey]call{}} }

// Frame counts a frame; it is a [tap.Observer].
func (m *Meter) Frame(f tap.Frame) {
	var head struct {
		ID     json.RawMessage
		Method string
		Error  json.RawMessage
	}
	if f.Stray || json.Unmarshal(f.Body, &head) != nil {
		m.Count("from the client: no message", len(f.Body))
		return
	}
	from, ours, theirs := "to the client: ", ToClient, FromClient
	if f.FromClient {
		from, ours, theirs = "from the client: ", FromClient, ToClient
	}
	switch {
	case head.Method == "" && head.Error != nil:
		m.Count(from+"error responses", len(f.Body))
		m.End(theirs, string(head.ID))
	case head.Method == "":
		m.Count(from+"responses", len(f.Body))
		m.End(theirs, string(head.ID))
	default:
		m.Count(from+plain(head.Method), len(f.Body))
		if head.ID != nil {
			m.Begin(ours, string(head.ID), head.Method)
		}
	}
}

// Begin records an open call. The id distinguishes calls of a kind.
func (m *Meter) Begin(kind, id, name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.open) < maxNames {
		m.open[callKey{kind, id}] = call{plain(name), time.Now()}
	}
}

// End forgets an open call.
func (m *Meter) End(kind, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.open, callKey{kind, id})
}

// Count counts an event, and its size if relevant.
func (m *Meter) Count(name string, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, known := m.counts[name]
	if !known && len(m.counts) >= maxNames {
		name = "all others"
		c = m.counts[name]
	}
	m.counts[name] = count{c.n + 1, c.bytes + bytes}
}

// Add adds to a counter.
func (m *Meter) Add(name string, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts[name]
	m.counts[name] = count{c.n + n, c.bytes}
}

// plainName is compiled at its first use: it is large, and each start of the server would pay.
var plainName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_$][A-Za-z0-9_/$.:-]{0,79}$`)
})

// plain returns a name without text of a session.
func plain(name string) string {
	if plainName().MatchString(name) {
		return name
	}
	return "(other)"
}

func (m *Meter) writeCalls(w io.Writer) {
	m.mu.Lock()
	open := maps.Clone(m.open)
	m.mu.Unlock()
	if len(open) == 0 {
		fmt.Fprintln(w, "No call is open.")
		return
	}
	keys := slices.SortedFunc(maps.Keys(open), func(a, b callKey) int {
		return cmp.Or(open[a].since.Compare(open[b].since), cmp.Compare(a.kind, b.kind), cmp.Compare(a.id, b.id))
	})
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "for\tkind\tname\tid")
	for _, k := range keys {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", time.Since(open[k].since).Round(time.Millisecond), k.kind, open[k].name, plainID(k.id))
	}
	_ = t.Flush() // the reader has gone
}

// plainID shortens an id of a client.
func plainID(id string) string {
	if len(id) > 2 && id[0] == '"' {
		id = id[1 : len(id)-1]
	}
	return plain(id)
}

func (m *Meter) writeCounters(w io.Writer) {
	m.mu.Lock()
	counts := maps.Clone(m.counts)
	m.mu.Unlock()
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tcount\tbytes")
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(t, "%s\t%d\t%d\n", name, counts[name].n, counts[name].bytes)
	}
	_ = t.Flush() // the reader has gone
}
