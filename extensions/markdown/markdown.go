package markdown

import (
	"context"
	"encoding/json"
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
	// Delegate returns the prompt and the call that give a task to an agent.
	Delegate func(goal, agent string) (text string, calls []tools.Call, err error)
}

// Extension returns the extension.
func Extension() extension.Extension { return markdown{} }

type markdown struct{}

func (markdown) Name() string { return "commands" }

func (markdown) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &Instance{session: s, sent: map[string][]string{}}, nil
}

// Instance has the commands of a session.
type Instance struct {
	session *extension.Session

	mu   sync.Mutex
	env  *tools.Env          // of calls of the session; nil: there are no tools yet
	sent map[string][]string // prompts of commands that are not sent yet, with their shell commands
	list []File
	at   time.Time // of list
}

// Close does nothing.
func (*Instance) Close(context.Context) error { return nil }

// Begun keeps the Env of calls.
func (x *Instance) Begun(env *tools.Env) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.env = env
}

// TrustChanged lets the next use search again.
func (x *Instance) TrustChanged() {
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
	x.list, x.at = x.find(c, "commands", c.External), time.Now()
	return x.list
}

// find returns the files of a kind: those of [Find], then those of plugins.
func (x *Instance) find(c Config, kind string, more []string) []File {
	all := Find(c.Home, c.Store, x.folders(), kind, more)
	if c.Plugins == nil {
		return all
	}
	dirs := c.Plugins(kind)
	for _, plugin := range slices.Sorted(maps.Keys(dirs)) {
		all = append(all, OfPlugin(plugin, dirs[plugin])...)
	}
	return all
}

// Order is the order of the commands: after built-in ones and before those of skills.
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
		c.Prompt = func(args string) string { return x.prompt(f, args) }
		if agent := clean(f.Fields.Text("agent")); agent != "" {
			c.Calls = func(args string) (string, []tools.Call, error) { return x.delegate(f, agent, args) }
		}
		all = append(all, c)
	}
	return all
}

// delegate gives the text of a command to an agent.
func (x *Instance) delegate(f File, agent, args string) (text string, calls []tools.Call, err error) {
	var c Config
	if err := x.session.Config(&c); err != nil {
		return "", nil, err
	}
	return c.Delegate(x.prompt(f, args), agent)
}

// Agents returns the agents of the session.
func (x *Instance) Agents() []File {
	var c Config
	if err := x.session.Config(&c); err != nil {
		x.session.Notify(err.Error())
	}
	return x.find(c, "agents", nil)
}

// folders returns the workspace folders whose files may be used: those of this machine.
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

// prompt returns the text of a command. Shell commands run when it is sent. Arguments are not expanded again: the
// commands and mentions of the file are found before they are replaced.
func (x *Instance) prompt(f File, args string) string {
	var commands []string
	words := strings.Fields(args)
	replace := func(text string) string {
		return argument.ReplaceAllStringFunc(text, func(name string) string {
			if name == "$ARGUMENTS" {
				return args
			}
			if n := int(name[1] - '1'); n < len(words) {
				return words[n]
			}
			return name
		})
	}
	body := mention.ReplaceAllStringFunc(f.Body, func(text string) string {
		m := mention.FindStringSubmatch(text)
		if name := strings.TrimRight(m[2], "."); filepath.IsLocal(name) && strings.ContainsAny(name, "./") {
			return m[1] + "@file:" + m[2]
		}
		return text
	})
	var b strings.Builder
	at := 0
	for _, m := range shellCommand.FindAllStringSubmatchIndex(body, -1) {
		b.WriteString(replace(body[at:m[0]]))
		command := replace(body[m[2]:m[3]])
		commands = append(commands, command)
		fmt.Fprintf(&b, "`%s` (its output follows)", command)
		at = m[1]
	}
	b.WriteString(replace(body[at:]))
	text := strings.TrimSpace(b.String())
	if args != "" && !argument.MatchString(f.Body) {
		text += "\n\n" + args
	}
	if len(commands) > 0 {
		x.mu.Lock()
		x.sent[text] = commands
		x.mu.Unlock()
	}
	return text
}

// Events runs the shell commands of a command's prompt before it is sent.
func (x *Instance) Events() []extension.Handlers {
	return []extension.Handlers{{Limit: extension.NoLimit, PreLLMCall: x.expand}}
}

func (x *Instance) expand(ctx context.Context, p extension.Prompt) (d extension.PromptDecision, err error) {
	x.mu.Lock()
	commands := x.sent[p.Text]
	delete(x.sent, p.Text)
	env := x.env
	x.mu.Unlock()
	for _, command := range commands {
		d.Attached = append(d.Attached, extension.Attachment{Name: "!`" + command + "`", Text: run(ctx, env, command)})
	}
	return d, nil
}

const maxOutput = 16 << 10 // bytes of one command

// run runs a shell command by the session's tool, with its gate and events. It returns the output, or why there is none.
func run(ctx context.Context, env *tools.Env, command string) string {
	if env == nil {
		return "Not run: this session has no tools."
	}
	list := env.Dispatch.List()
	at := slices.IndexFunc(list, func(t tools.Tool) bool { return t.RunsCommands })
	if at < 0 {
		return "Not run: this session runs no commands."
	}
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		return "Not run: " + err.Error()
	}
	r, err := env.Dispatch.Set.Call(ctx, env, tools.Call{ID: "command-" + list[at].Name, Name: list[at].Name, Args: args})
	if err != nil {
		return "Not run: " + err.Error()
	}
	var out struct {
		Output string `json:"output"`
		Error  string `json:"error"`
	}
	if json.Unmarshal(r.JSON, &out) != nil || out.Output == "" && out.Error != "" {
		return "Not run: " + out.Error
	}
	if len(out.Output) > maxOutput {
		out.Output = strings.ToValidUTF8(out.Output[:maxOutput], "") + "\n[cut]"
	}
	return out.Output
}
