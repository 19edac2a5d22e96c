// Package toolsearch keeps requests small if servers and plugins have many tools.
//
// Tools of servers and plugins are in the requests' list of tools while their definitions fit the
// budget. Others are deferred: the model finds them with tool_search and calls them with tool_call,
// or by their own names. Tools added during the session are deferred, too, so the sent prefix does
// not change. The next request names them.
package toolsearch

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Settings is the section mcp of config.yaml.
type Settings struct {
	DirectBytes  int    `json:"direct_bytes" doc:"Most bytes of tool definitions of servers and plugins in each request. Further tools are found with tool_search."`
	ListingBytes int    `json:"listing_bytes" doc:"Most bytes in the description of tool_search that list the other tools."`
	TokenStore   string `json:"token_store" enum:"file,keyring" doc:"Where tokens of logins at MCP servers are: in files of $HERMES_HOME/mcp-auth, or in the system's store for passwords."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "mcp", Doc: "Tools of MCP servers and plugins, and tokens of logins.", Defaults: Settings{DirectBytes: 6000, ListingBytes: 4000, TokenStore: "file"}}
}

// Config is the configuration of the extension.
type Config struct {
	Settings
	Deferred []string // built-in tools to defer
}

// Of returns the configuration.
func Of(c *config.Loaded) (any, error) {
	return Config{Settings: config.SectionOf[Settings](c, "mcp"), Deferred: c.Agent.Tools.Deferred}, nil
}

// New returns the extension.
func New() extension.Extension { return search{} }

type search struct{}

func (search) Name() string { return "toolsearch" }

func (search) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &Instance{session: s, extensions: s.Extensions}, nil
}

// Instance is the extension in a session.
type Instance struct {
	session    *extension.Session
	extensions func() *extension.Set // nil: no tools come late, as in a subagent

	mu      sync.Mutex
	set     *tools.Set      // of the session; nil: its tools were not listed yet
	stored  bool            // the tools of the set belong to a stored session
	known   map[string]int  // versions of the late tools, by extension
	listed  map[uint32]bool // hashes of the names reported to the model
	saved   bool            // listed is stored with the session
	loaded  bool            // listed was read from the session
	index   *index          // of the deferred tools; nil: they have changed since the last search
	waiting []string        // names of tools not yet reported to the model
}

// Close does nothing: the instance has started nothing.
func (x *Instance) Close(context.Context) error { return nil }

// Derive gives a subagent a search of the subagent's tools.
func (x *Instance) Derive(_ context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent {
		return nil, nil
	}
	return &Instance{session: s}, nil
}

// Hooks arranges the tools of requests.
func (x *Instance) Hooks() extension.Hooks {
	return extension.Hooks{Arrange: x.arrange, ToolsListed: x.toolsListed}
}

// arrange defers tools and adds the two tools of this extension if they are needed. In a stored
// session, tools not stored with it are deferred.
func (x *Instance) arrange(_ context.Context, set *tools.Set, stored []tools.Spec) error {
	var c Config
	if err := x.session.Config(&c); err != nil {
		return err
	}
	x.mu.Lock()
	x.stored = stored != nil
	x.mu.Unlock()
	needed, listing := false, ""
	if stored != nil {
		offered := map[string]bool{}
		for _, t := range stored {
			offered[t.Name] = true
		}
		set.Defer(namesOf(set.List(), func(t tools.Tool) bool {
			return !offered[t.Name] && (t.Group != nil || slices.Contains(c.Deferred, t.Name))
		}))
		needed = offered[searchName]
	} else {
		all := set.List()
		set.Defer(deferred(all, c))
		all = slices.DeleteFunc(described(set), func(t tools.Tool) bool { return !t.Deferred })
		needed = len(all) > 0 || x.extensions != nil && x.extensions().Expects()
		listing = list(all, c.ListingBytes)
	}
	if !needed {
		return nil
	}
	for _, t := range []tools.Tool{x.searchTool(set, listing), x.callTool(set)} {
		t.Owner = "toolsearch"
		if err := set.Add(t); err != nil {
			return fmt.Errorf("adding %s: %w", t.Name, err)
		}
	}
	return nil
}

func namesOf(list []tools.Tool, has func(tools.Tool) bool) map[string]bool {
	names := map[string]bool{}
	for _, t := range list {
		if has(t) {
			names[t.Name] = true
		}
	}
	return names
}

// deferred returns the names of the tools beyond the budget. The largest groups are deferred first,
// then by name.
func deferred(all []tools.Tool, c Config) map[string]bool {
	type group struct {
		*tools.Group
		bytes int
		names []string
	}
	groups, total := map[string]*group{}, 0
	names := map[string]bool{}
	for _, t := range all {
		if t.Group == nil {
			if slices.Contains(c.Deferred, t.Name) {
				names[t.Name] = true
			}
			continue
		}
		g := groups[t.Group.Name]
		if g == nil {
			g = &group{Group: t.Group}
			groups[t.Group.Name] = g
		}
		g.bytes += sizeOf(t)
		g.names = append(g.names, t.Name)
	}
	for _, g := range groups {
		if g.Defer != deferAlways {
			total += g.bytes
		}
	}
	for _, g := range slices.SortedFunc(maps.Values(groups), func(a, b *group) int { return cmp.Or(b.bytes-a.bytes, cmp.Compare(a.Name, b.Name)) }) {
		switch {
		case g.Defer == deferAlways:
		case g.Defer == deferNever || total <= c.DirectBytes:
			continue
		default:
			total -= g.bytes
		}
		for _, name := range g.names {
			names[name] = true
		}
	}
	return names
}

const (
	deferAlways = "always"
	deferNever  = "never"
)

// sizeOf returns the bytes of a tool's definition in a request.
func sizeOf(t tools.Tool) int {
	description, err := tools.Marshal(t.Description)
	if err != nil {
		return len(t.Description) + len(t.Schema)
	}
	const around = len(`{"type":"function","function":{"name":"","description":,"parameters":}},`)
	return around + len(t.Name) + len(description) + len(t.Schema)
}

// toolsListed stores the set for tools that come late.
func (x *Instance) toolsListed(env *tools.Env) {
	if x.extensions == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.set, x.known, x.index, x.waiting = env.Dispatch.Set, map[string]int{}, nil, nil
	x.listed, x.saved, x.loaded = map[uint32]bool{}, false, !x.stored
	for _, t := range x.set.List() {
		if t.Group != nil {
			x.listed[hashOf(t.Name)] = true
		}
	}
	x.set.Missing = x.missing
}

// missing adds a tool that came late, or a stand-in for a tool of an unconnected server.
func (x *Instance) missing(name string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.extensions == nil || x.set == nil {
		return
	}
	x.update()
	if _, there := x.set.Get(name); there {
		return
	}
	for _, t := range x.extensions().Placeholders(name) {
		if x.set.Admits(t) {
			t.Deferred = true
			_ = x.set.Add(t) // an uncallable tool stays unknown
		}
	}
}

const toldKey = "told"

// Notices returns a line with the tools not yet reported to the model.
func (x *Instance) Notices(ctx context.Context, _ extension.When) []string {
	if x.extensions == nil {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.set == nil {
		return nil
	}
	if _, offered := x.set.Get(searchName); !offered {
		x.update()
		return nil
	}
	if !x.loaded {
		x.loaded, x.saved = true, true
		var told []uint32
		_, _ = x.session.State.Load(ctx, toldKey, &told) // if it cannot be read, the model gets the names again
		for _, hash := range told {
			x.listed[hash] = true
		}
	}
	x.update()
	fresh := slices.DeleteFunc(x.waiting, func(name string) bool { return x.listed[hashOf(name)] })
	x.waiting = nil
	for _, name := range fresh {
		x.listed[hashOf(name)] = true
	}
	if len(fresh) > 0 || !x.saved {
		told := slices.Sorted(maps.Keys(x.listed))
		x.saved = x.session.State.Save(ctx, toldKey, told[:min(len(told), mostTold)]) == nil
	}
	if len(fresh) == 0 {
		return nil
	}
	return []string{"New tools, which tool_search finds: " + namesWithin(fresh, lineBytes)}
}

const (
	lineBytes = 2000 // of names in a notice
	mostTold  = 5000 // stored hashes
)

func hashOf(name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(name)) // never fails
	return h.Sum32()
}

// namesWithin joins names. If they take more than limit bytes, it leaves some out and counts them.
func namesWithin(names []string, limit int) string {
	size := 0
	for i, name := range names {
		if size += len(name) + 2; size > limit {
			return strings.Join(names[:i], ", ") + fmt.Sprintf(" and %d more", len(names)-i)
		}
	}
	return strings.Join(names, ", ")
}

// update adds late tools to the set, and replaces changed deferred tools. The caller holds mu.
func (x *Instance) update() {
	if x.extensions == nil || x.set == nil {
		return
	}
	for _, t := range x.extensions().LateTools(x.known) {
		have, there := x.set.Get(t.Name)
		switch {
		case !x.set.Admits(t), there && !have.Deferred:
			continue // the model keeps its current definition
		case !there:
			x.waiting = append(x.waiting, t.Name)
		}
		t.Deferred, t.Override = true, true
		if x.set.Add(t) == nil { // an uncallable tool is not found
			x.index = nil
		}
	}
}
