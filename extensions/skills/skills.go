// Package skills offers skills to the model: directories with a SKILL.md, which describes how to do
// a kind of task.
//
// [Library] finds them: in trusted workspaces, in $HERMES_HOME/skills, in configured directories,
// in plugins, and in the program. Their names and descriptions are in the system prompt; skill_view
// reads a skill, and skill_manage changes the user's skills after approval. Each skill is a slash
// command. [Scan] shows the user its findings before a skill is installed or trusted. Skills have
// the rank of project instructions and never widen permissions.
package skills

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Toolset is the toolset of the tools.
const Toolset = "skills"

// Options are the parts of the process used by the extension.
type Options struct {
	Home string
}

// Config is the configuration section.
type Config struct {
	Settings
	Plugins map[string]string // directories with skills, by the plugin's name
	// Getenv returns a variable of the environment or of .env. Reserved reports whether it must never pass to a command.
	Getenv   func(name string) string
	Reserved func(name string) bool
	// Offers reports whether the session offers the tools of a toolset.
	Offers func(toolset string) bool
}

// Extension returns the extension.
func Extension(o Options) extension.Extension { return skills{o} }

// Preload makes the input schemas of the tools, which stay in memory.
func Preload() {
	x := &Instance{}
	_, _ = x.viewTool(), x.manageTool()
}

type skills struct{ Options }

func (skills) Name() string { return "skills" }

func (e skills) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	pass := func(vars []string) { s.Extensions().PassEnv(vars) }
	return &Instance{Options: e.Options, session: s, export: pass}, nil
}

// Instance holds the skills of a session.
type Instance struct {
	Options
	session *extension.Session
	export  func(vars []string) // to the commands and scripts of the session; nil: none are passed

	mu       sync.Mutex
	settings Config
	found    Found
	at       time.Time // of found; zero: not searched yet
	noted    map[string]bool
	once     sync.Once       // restores read
	read     []string        // names of skills read by the session
	passed   map[string]bool // path and variables of skills
}

// Close stores the names of the session's read skills for the time when it is opened again.
func (x *Instance) Close(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.read) > 0 && x.session.State != nil {
		_ = x.session.State.Save(ctx, readKey, x.read) // a session without a stored prompt has no state
	}
	return nil
}

// fresh is how long the result of a search applies.
const fresh = time.Second

// all returns the skills of the session. If maxAge is 0, it searches.
func (x *Instance) all(ctx context.Context, maxAge time.Duration) Found {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.at.IsZero() && time.Since(x.at) < maxAge {
		return x.found
	}
	var c Config
	if err := x.session.Config(&c); err != nil {
		x.session.Notify(err.Error())
	}
	x.settings = c
	var folders []string
	if tools.Local(x.session.Editor) != nil {
		folders = x.session.Folders()
	}
	library := c.Library(x.Home, folders)
	library.Plugins = c.Plugins
	x.found, x.at = library.Find(ctx), time.Now()
	return x.found
}

// trustChanged lets the next use search again.
func (x *Instance) trustChanged() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at = time.Time{}
}

// notify shows the new notes of a search.
func (x *Instance) notify(f Found) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.noted == nil {
		x.noted = map[string]bool{}
	}
	for _, n := range f.Notes {
		if !x.noted[n] {
			x.noted[n] = true
			x.session.Notify(n)
		}
	}
}

// forModel returns the skills for the model: skills for this system and these tools.
func (x *Instance) forModel(f Found) (all []*Skill) {
	x.mu.Lock()
	offers := x.settings.Offers
	x.mu.Unlock()
	all = make([]*Skill, 0, len(f.Skills))
	for _, s := range f.Skills {
		if !s.Meta.NotForModel && s.Meta.here() && s.Meta.offered(offers, func(tool string) bool { return offers(toolsetOf(tool)) }) {
			all = append(all, s)
		}
	}
	return all
}

// toolsetTable lists tool names used in skills and their toolsets, a pair on each line.
//
//go:embed toolsets.txt
var toolsetTable string

// toolsetOf returns the toolset of a tool. If the tool is unknown, it returns the name.
func toolsetOf(tool string) string {
	if server, ok := strings.CutPrefix(tool, "mcp__"); ok {
		server, _, _ = strings.Cut(server, "__")
		return "mcp-" + server
	}
	for line := range strings.Lines(toolsetTable) {
		if name, toolset, _ := strings.Cut(strings.TrimSpace(line), " "); name == tool {
			return toolset
		}
	}
	return tool
}

const heading = "\n# Skills\n\nInstructions for kinds of tasks. If one fits, read it with skill_view first.\n\n"

// Sections returns the index of the skills.
func (x *Instance) Sections(ctx context.Context) []prompt.Section {
	f := x.all(ctx, fresh)
	x.notify(f)
	x.mu.Lock()
	c := x.settings
	x.mu.Unlock()
	if !c.Offers(Toolset) {
		return nil
	}
	all := x.forModel(f)
	order(all, readUse(x.Home))
	text := index(all, c.IndexBytes)
	if text == "" {
		return nil
	}
	return []prompt.Section{{Slot: prompt.Project, Text: heading + strings.TrimRight(text, "\n")}}
}

// order sorts skills: first the workspace's, then by last use, then by name.
func order(all []*Skill, used map[string]int64) { slices.SortStableFunc(all, byUse(used)) }

func byUse(used map[string]int64) func(a, b *Skill) int {
	return func(a, b *Skill) int {
		if aw, bw := a.Place == Workspace, b.Place == Workspace; aw != bw {
			if aw {
				return -1
			}
			return 1
		}
		if used[a.Name] != used[b.Name] {
			if used[a.Name] > used[b.Name] {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	}
}

// Tools returns skill_view and skill_manage. If there is no skill, it returns none.
func (x *Instance) Tools(ctx context.Context, stored []tools.Spec) ([]tools.Tool, error) {
	if stored == nil && len(x.forModel(x.all(ctx, fresh))) == 0 {
		return nil, nil
	}
	return []tools.Tool{x.viewTool(), x.manageTool()}, nil
}

// Derive gives subagents the skills to read. Scripts get none.
func (x *Instance) Derive(_ context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	if kind != extension.Subagent {
		return nil, nil
	}
	return &derived{Instance{Options: x.Options, session: s}}, nil
}

// derived is the instance of a subagent. It changes no skill and passes no variable.
type derived struct{ Instance }

// Tools returns skill_view.
func (x *derived) Tools(ctx context.Context, _ []tools.Spec) ([]tools.Tool, error) {
	if len(x.forModel(x.all(ctx, fresh))) == 0 {
		return nil, nil
	}
	return []tools.Tool{x.viewTool()}, nil
}

// Commands returns no commands: a subagent has no user.
func (x *derived) Commands() []extension.Command { return nil }

// Hooks names the read skills in summaries, and lists the skills.
func (x *Instance) Hooks() extension.Hooks {
	return extension.Hooks{
		Events:       []extension.Handlers{{PreCompress: x.beforeCompaction}},
		TrustChanged: x.trustChanged, Entries: x.entries, Document: x.document,
	}
}

// beforeCompaction returns the text for the summary of a compaction.
func (x *Instance) beforeCompaction(ctx context.Context, _ extension.Compression) (string, error) {
	x.restore(ctx)
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.read) == 0 {
		return "", nil
	}
	return "### Skills\nThe session has read these skills. Read them again with skill_view before you continue their tasks: " + strings.Join(x.read, ", "), nil
}

// remember records that the session has read a skill.
func (x *Instance) remember(ctx context.Context, name string) {
	x.restore(ctx)
	x.mu.Lock()
	if !slices.Contains(x.read, name) {
		x.read = append(x.read, name)
	}
	x.mu.Unlock()
	writeUse(ctx, x.Home, name)
}

const readKey = "read"

// restore adds the skills read before the session was opened again.
func (x *Instance) restore(ctx context.Context) {
	x.once.Do(func() {
		var before []string
		if x.session.New || x.session.State == nil {
			return
		}
		if ok, err := x.session.State.Load(ctx, readKey, &before); err == nil && ok {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.read = append(before, x.read...)
		}
	})
}

const useName = "skills-used.json"

// readUse returns when each skill was used last, in seconds.
func readUse(home string) map[string]int64 {
	used := map[string]int64{}
	if data, err := safefile.Read(filepath.Join(home, "cache", useName), 1<<20); err == nil {
		_ = json.Unmarshal(data, &used) // without it, the order is by name
	}
	return used
}

// writeUse stores the use of a skill. If it fails, the order of the index stays.
func writeUse(ctx context.Context, home, name string) {
	path := filepath.Join(home, "cache", useName)
	ctx, stop := context.WithTimeout(ctx, time.Second)
	defer stop()
	unlock, err := filelock.Lock(ctx, path+".lock")
	if err != nil {
		return
	}
	defer unlock()
	used := readUse(home)
	used[name] = time.Now().Unix()
	data, err := json.Marshal(used)
	if err != nil || len(used) > 2*maxSkills {
		return
	}
	if dir, err := safefile.OpenFolder(filepath.Dir(path)); err == nil {
		_ = dir.Write(useName, data, 0o600)
		dir.Close() // written
	}
}

// installed reports whether a skill of the user was installed. If the lock file cannot be read, it returns true.
func (x *Instance) installed(s *Skill) bool {
	all, err := Installed(x.Home)
	if err != nil {
		return true
	}
	for name, e := range all {
		if name == s.Name || e.InstallPath != "" && filepath.Join(x.Home, "skills", filepath.FromSlash(e.InstallPath)) == s.Dir {
			return true
		}
	}
	return false
}

// pass gives the variables of a skill to the commands of the session. It returns the unset names.
func (x *Instance) pass(ctx context.Context, s *Skill, call tools.Call) (missing []string) {
	if len(s.Meta.Environment) == 0 || x.export == nil {
		return nil
	}
	x.mu.Lock()
	c := x.settings
	x.mu.Unlock()
	vars := map[string]string{}
	for _, name := range s.Meta.Environment {
		switch value := c.Getenv(name); {
		case c.Reserved(name):
			missing = append(missing, name)
		case value == "":
			missing = append(missing, name)
		default:
			vars[name] = value
		}
	}
	names := strings.Join(slices.Sorted(maps.Keys(vars)), ", ")
	passed := s.Path + " " + names
	x.mu.Lock()
	done := x.passed[passed]
	x.mu.Unlock()
	if len(vars) == 0 || done {
		return missing
	}
	if s.Place != Bundled && (s.Place != User || x.installed(s)) {
		err := x.session.Ask.Approve(ctx, extension.Request{
			Kind: tools.KindOther, Title: "Give " + names + " to the commands of this session", EveryMode: true, Call: call,
			Reason: fmt.Sprintf("gives variables to commands, as the skill %s (%s) wants", s.Name, s.Path),
			Keys:   []string{"skill environment " + s.Name + "@" + s.sum()},
		})
		if err != nil {
			return slices.Sorted(slices.Values(s.Meta.Environment))
		}
	} else {
		x.session.Notify(fmt.Sprintf("The skill %s gets %s in the commands of this session.", s.Name, names))
	}
	var list []string
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	x.export(list)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.passed == nil {
		x.passed = map[string]bool{}
	}
	x.passed[passed] = true
	return missing
}

// sum identifies the content of a skill.
func (s *Skill) sum() string {
	sum, err := Hash(s.Dir)
	if err != nil {
		return fmt.Sprint(time.Now().UnixNano()) // it matches no other
	}
	return sum
}

// linked returns the other files of a skill by their directory.
func (s *Skill) linked() map[string][]string {
	files := map[string][]string{}
	if s.Dir == "" {
		return files
	}
	count := 0
	for _, dir := range fileDirs {
		_ = filepath.WalkDir(filepath.Join(s.Dir, dir), func(path string, e os.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return nil
			}
			if count++; count > 200 {
				return filepath.SkipAll
			}
			if rel, err := filepath.Rel(s.Dir, path); err == nil {
				files[dir] = append(files[dir], filepath.ToSlash(rel))
			}
			return nil
		})
	}
	return files
}

// fileDirs are the directories of a skill's files.
var fileDirs = []string{"references", "templates", "scripts", "assets", "examples"}
