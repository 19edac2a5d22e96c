// Package memory keeps facts between sessions: MEMORY.md (notes), USER.md (the user's profile) and
// a file for each project. The files have the form of Hermes Agent, so both programs can use them.
//
// The system prompt of a session contains the entries as of the session's start. The tool memory
// writes them. A write requires approval, unless the user has typed the entry. Every write is
// shown, and can be undone. Subagents and scripts have no memory.
package memory

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/markup"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Toolset is the toolset of the tool.
const Toolset = "memory"

// Settings is the section memory of config.yaml.
type Settings struct {
	Memory        bool   `json:"memory_enabled" doc:"Keep notes in MEMORY.md."`
	User          bool   `json:"user_profile_enabled" doc:"Keep facts about the user in USER.md."`
	Project       bool   `json:"project_enabled" doc:"Keep notes for each project, outside of it."`
	MemoryLimit   int    `json:"memory_char_limit" doc:"Most characters of MEMORY.md."`
	UserLimit     int    `json:"user_char_limit" doc:"Most characters of USER.md."`
	ProjectLimit  int    `json:"project_char_limit" doc:"Most characters of the notes of a project."`
	WriteApproval string `json:"write_approval" enum:"auto,true,false" doc:"Whether writes ask: auto (not if the user typed the entry), true (always) or false (never)."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "memory", Doc: "Facts that are kept between sessions.", Defaults: Settings{
		Memory: true, User: true, Project: true, MemoryLimit: 2200, UserLimit: 1375, ProjectLimit: 2200, WriteApproval: "auto",
	}}
}

// New returns the extension. Home is $HERMES_HOME.
func New(home string) extension.Extension { return memory{home} }

type memory struct{ home string }

func (memory) Name() string { return "memory" }

func (e memory) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{home: e.home, session: s}, nil
}

type instance struct {
	home    string
	session *extension.Session
	typed   typed
	once    sync.Once // restores typed
}

// typedKey is the key of the user's typed prompts.
const typedKey = "prompts"

// Close stores the user's typed prompts for the time when the session is opened again. If they are
// lost, as after a kill, writes ask more often.
func (x *instance) Close(ctx context.Context) error {
	all := x.typed.stored()
	for i := range all {
		all[i] = x.session.Redact(all[i])
	}
	if len(all) > 0 && x.session.State != nil {
		_ = x.session.State.Save(ctx, typedKey, all) // a session without a stored prompt has no state
	}
	return nil
}

func (x *instance) config() (c Settings) {
	if err := x.session.Config(&c); err != nil {
		x.session.Notify(err.Error())
	}
	return c
}

// dir is the directory of the files.
func dir(home string) string { return filepath.Join(home, "memories") }

// Files returns the files enabled by a configuration, starting with the files for all projects.
// Folder selects the project; empty: there is none.
func Files(home, folder string, c Settings) map[Target]File {
	all := map[Target]File{}
	if c.Memory {
		all["memory"] = File{"MEMORY.md", filepath.Join(dir(home), "MEMORY.md"), c.MemoryLimit}
	}
	if c.User {
		all["user"] = File{"USER.md", filepath.Join(dir(home), "USER.md"), c.UserLimit}
	}
	if c.Project && folder != "" {
		id := projectID(folder)
		all["project"] = File{"the notes of this project", filepath.Join(dir(home), "projects", id+".md"), c.ProjectLimit}
	}
	return all
}

func (x *instance) files() map[Target]File {
	folder := ""
	if all := x.session.Folders(); len(all) > 0 {
		folder = all[0]
	}
	return Files(x.home, folder, x.config())
}

func (x *instance) file(t Target) (File, error) {
	if t == "" {
		t = "memory"
	}
	f, ok := x.files()[t]
	if !ok {
		return File{}, fmt.Errorf("the target %s is turned off in the configuration", t)
	}
	return f, nil
}

// Tools returns memory, unless all files are turned off.
func (x *instance) Tools(context.Context, []tools.Spec) ([]tools.Tool, error) {
	if c := x.config(); !c.Memory && !c.User && !c.Project {
		return nil, nil
	}
	return []tools.Tool{x.tool()}, nil
}

// targets is the order of the files.
var targets = []Target{"user", "memory", "project"}

var headings = map[Target]string{"memory": "Notes (MEMORY.md)", "user": "The user (USER.md)", "project": "Notes about this project"}

// Sections returns the entries. If there are none, it returns none.
func (x *instance) Sections(context.Context) []prompt.Section {
	var b strings.Builder
	files := x.files()
	for _, t := range targets {
		f, ok := files[t]
		if !ok {
			continue
		}
		c, err := f.read()
		if err != nil {
			x.session.Notify(err.Error())
			continue
		}
		if len(c.entries) > 0 {
			entries := f.cut(c.entries)
			if n := utf8.RuneCountInString(joined(c.entries)); n > f.Limit {
				x.session.Notify(fmt.Sprintf("%s has %s of %s characters. The model gets only its beginning. Shorten it: `/memory` shows the file.", f.Name, thousands(n), thousands(f.Limit)))
			}
			text := shown(entries)
			fence := markup.Fence(text)
			fmt.Fprintf(&b, "\n## %s (%s)\n\n%s\n%s\n%s\n", headings[t], f.usage(c.entries), fence, text, fence)
		}
	}
	if b.Len() == 0 {
		return nil
	}
	return []prompt.Section{{Slot: prompt.Project, Text: "\n# Memory\n\nFrom earlier sessions, with the rank of project instructions. They may be out of date: check before you rely on them.\n" + b.String()}}
}

// shown returns entries for the model. Entries that try to command it are blocked.
func shown(entries []string) string {
	all := make([]string, len(entries))
	for i, e := range entries {
		if all[i] = e; poisoned(e) != "" {
			all[i] = "[blocked: " + poisoned(e) + "]"
		}
	}
	return joined(all)
}

// Hooks records the user's typed prompts, and lists the files.
func (x *instance) Hooks() extension.Hooks {
	record := func(ctx context.Context, p extension.Prompt) (extension.PromptDecision, error) {
		x.once.Do(func() { x.restore(ctx) })
		if !p.Note {
			x.typed.add(p.Typed)
		}
		return extension.PromptDecision{}, nil
	}
	return extension.Hooks{
		Events:  []extension.Handlers{{Limit: extension.NoLimit, PreLLMCall: record}},
		Entries: x.entries, Document: x.document,
	}
}

// restore reads the prompts typed before the session was opened again.
func (x *instance) restore(ctx context.Context) {
	if x.session.New || x.session.State == nil {
		return
	}
	var all []string
	if ok, err := x.session.State.Load(ctx, typedKey, &all); err == nil && ok {
		for _, prompt := range all {
			x.typed.add(prompt)
		}
	}
}
