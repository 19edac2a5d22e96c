package markdown

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Settings is the section commands of config.yaml.
type Settings struct {
	ExternalDirs []string `json:"external_dirs" guard:"their commands apply" doc:"More directories with commands, such as ~/.claude/commands."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "commands", Doc: "Slash commands that are Markdown files.", Defaults: Settings{ExternalDirs: []string{}}}
}

// Config is the configuration section of a session.
type Config struct {
	Home     string
	External []string
	Store    trust.Store
	// Plugins returns the directories commands or agents of enabled plugins, by the plugins' names.
	Plugins func(kind string) map[string]string
	// Delegate returns the prompt and the calls for an agent's task.
	Delegate func(goal, agent string) (text string, calls []tools.Call, err error)
}

// Extension returns the extension.
func Extension() extension.Extension { return markdown{} }

type markdown struct{}

func (markdown) Name() string { return "commands" }

func (markdown) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &Instance{session: s}, nil
}

// Instance holds the commands of a session.
type Instance struct {
	session *extension.Session

	mu   sync.Mutex
	env  *tools.Env // of calls of the session; nil: there are no tools yet
	list []File
	at   time.Time       // of list
	told map[string]bool // paths of omitted files
}

// Close does nothing.
func (*Instance) Close(context.Context) error { return nil }

// Hooks lists the commands and the agents.
func (x *Instance) Hooks() extension.Hooks {
	return extension.Hooks{ToolsListed: x.toolsListed, TrustChanged: x.trustChanged, Entries: x.entries}
}

// toolsListed keeps the Env of calls.
func (x *Instance) toolsListed(env *tools.Env) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.env = env
}

// trustChanged lets the next use search again.
func (x *Instance) trustChanged() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.at = time.Time{}
}

// files returns the commands of the session.
func (x *Instance) files() []File {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.at.IsZero() && time.Since(x.at) < time.Second {
		return x.list
	}
	var c Config
	if err := x.session.Config(&c); err != nil {
		x.session.Notify(err.Error())
	}
	x.list, x.at = slices.DeleteFunc(x.find(c, "commands", c.External), func(f File) bool {
		return f.Body == "" && x.leftOut("command", f)
	}), time.Now()
	return x.list
}

// find returns the files of a kind: first the results of [Find], then plugins' files.
func (x *Instance) find(c Config, kind string, more []string) []File {
	all := Find(c.Home, c.Store, x.folders(), kind, more)
	if c.Plugins != nil {
		dirs := c.Plugins(kind)
		for _, plugin := range slices.Sorted(maps.Keys(dirs)) {
			all = append(all, OfPlugin(plugin, dirs[plugin])...)
		}
	}
	return all
}

// Order is the order of the commands: after built-in commands and before skills.
const Order = 550

// Commands returns a command for each file.
func (x *Instance) Commands() (all []extension.Command) {
	for _, f := range x.files() {
		hint := clean(f.Fields.Text("argument-hint"))
		if hint == "" {
			hint = "arguments"
		}
		c := extension.Command{Name: f.Name, Description: f.Description, Hint: hint, Order: Order}
		c.Run = func(context.Context, string) (string, error) { return "", nil }
		c.Send = func(ctx context.Context, args string) (extension.Sent, error) { return x.send(ctx, f, args) }
		all = append(all, c)
	}
	return all
}

// send returns the prompt of a command. If the file names an agent, its text is the agent's task.
func (x *Instance) send(ctx context.Context, f File, args string) (sent extension.Sent, err error) {
	sent = x.prompt(ctx, f, args)
	if ctx.Err() != nil {
		return sent, ctx.Err()
	}
	if agent := clean(f.Fields.Text("agent")); agent != "" {
		var c Config
		if err := x.session.Config(&c); err != nil {
			return sent, err
		}
		sent.Text, sent.Calls, err = c.Delegate(sent.Text, agent)
	}
	sent.Route = clean(f.Fields.Text("model"))
	return sent, err
}

// Agents returns the agents of the session.
func (x *Instance) Agents() []File {
	var c Config
	if err := x.session.Config(&c); err != nil {
		x.session.Notify(err.Error())
	}
	return slices.DeleteFunc(x.find(c, "agents", nil), x.broken)
}

// broken reports whether the frontmatter of an agent is unreadable. Its limits are then unknown, so
// it is left out. The user is notified once.
func (x *Instance) broken(f File) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return f.Problem != "" && x.leftOut("agent", f)
}

// leftOut notifies the user once of an omitted file. It returns true.
func (x *Instance) leftOut(kind string, f File) bool {
	if x.told == nil {
		x.told = map[string]bool{}
	}
	if !x.told[f.Path] {
		x.told[f.Path] = true
		x.session.Notify(fmt.Sprintf("The %s %s is left out: %s", kind, f.Path, f.Problem))
	}
	return true
}

// folders returns the workspace folders with usable files. On another machine, there are none.
func (x *Instance) folders() []string {
	if tools.Local(x.session.Editor) == nil {
		return nil
	}
	return x.session.Folders()
}

var (
	shellCommand = lazyregexp.New("!`([^`\n]+)`")
	argument     = lazyregexp.New(`\$(ARGUMENTS\b|[1-9]\b)`)
	mention      = lazyregexp.New(`(^|[\s(])@([A-Za-z0-9_./-]+)`)
)

// prompt returns the prompt of a command. The commands and mentions of the file are found before arguments
// are replaced, and neither arguments nor outputs are expanded again.
func (x *Instance) prompt(ctx context.Context, f File, args string) extension.Sent {
	words, used := strings.Fields(args), false
	replace := func(text string) string {
		return argument.ReplaceAllStringFunc(text, func(name string) string {
			if name == "$ARGUMENTS" {
				used = true
				return args
			}
			if n := int(name[1] - '1'); n < len(words) {
				used = true
				return words[n]
			}
			return name
		})
	}
	var all, own strings.Builder // own is without outputs
	add := func(text string) {
		text = replace(mention.ReplaceAllStringFunc(text, asFile))
		all.WriteString(text)
		own.WriteString(text)
	}
	at := 0
	for _, m := range shellCommand.FindAllStringSubmatchIndex(f.Body, -1) {
		add(f.Body[at:m[0]])
		own.WriteString("!")
		all.WriteString(x.run(ctx, replace(f.Body[m[2]:m[3]])))
		at = m[1]
	}
	rest := f.Body[at:]
	if add(strings.TrimRight(rest, "\n")); args != "" && !used {
		all.WriteString("\n\n" + args)
		own.WriteString("\n\n" + args)
	}
	return extension.Sent{Text: strings.TrimSpace(all.String()), Own: own.String()}
}

// asFile returns a mention of a file in the form of prompts. Other words after @ stay.
func asFile(text string) string {
	m := mention.FindStringSubmatch(text)
	if name := strings.TrimRight(m[2], "."); filepath.IsLocal(name) && strings.ContainsAny(name, "./") {
		return m[1] + "@file:" + m[2]
	}
	return text
}

const maxOutput = 16 << 10 // bytes per command

// run runs a shell command by the session's tool, with its gate and events. It returns the output,
// or a line with the reason for its absence.
func (x *Instance) run(ctx context.Context, command string) string {
	x.mu.Lock()
	env := x.env
	x.mu.Unlock()
	output, err := output(ctx, env, command)
	switch {
	case err != nil:
		return fmt.Sprintf("[`%s` was not run: %s]", command, tools.OneLine(err.Error(), 500))
	case len(output) > maxOutput:
		return strings.ToValidUTF8(output[:maxOutput], "") + "\n[cut]"
	}
	return strings.TrimRight(output, "\n")
}

func output(ctx context.Context, env *tools.Env, command string) (string, error) {
	if env == nil {
		return "", errors.New("this session has no tools")
	}
	list := env.Dispatch.List()
	at := slices.IndexFunc(list, func(t tools.Tool) bool { return t.RunsCommands })
	if at < 0 {
		return "", errors.New("this session runs no commands")
	}
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return "", err
	}
	r, err := env.Dispatch.Set.Call(ctx, env, tools.Call{ID: "command-" + list[at].Name, Name: list[at].Name, Args: args})
	if err != nil {
		return "", err
	}
	var out struct {
		Output string `json:"output"`
		Error  string `json:"error"`
	}
	if err := json.Unmarshal(r.JSON, &out); err != nil {
		return "", err
	}
	if out.Output == "" && out.Error != "" {
		return "", errors.New(out.Error)
	}
	return out.Output, nil
}
