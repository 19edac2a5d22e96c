// Package cli is `hermes-ls plugin`: it lists, installs, enables and writes plugins.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/hooks"
	"github.com/hermes-ls/hermes-ls/extensions/plugins"
	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/spelling"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/alias"
)

// Options are the parts of the program for the commands.
type Options struct {
	cli.Home
	Outside func(home string) plugins.Options // outside of a session
}

// New returns the command.
func New(o Options) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "plugin", GroupID: cli.GroupExtend, Short: "List, install, enable and write plugins",
		Example: "  hermes-ls plugin list\n" +
			"  hermes-ls plugin create word-count\n" +
			"  hermes-ls plugin enable word-count",
	}, o.list(), o.install(), o.uninstall(), o.enable(), o.disable(), o.update(), o.create(), validate(), o.dev())
}

// loaded returns the configuration and the section of plugins.
func (o Options) loaded() (*config.Loaded, plugins.Settings) {
	l := o.Load()
	return l, config.SectionOf[plugins.Settings](l, plugins.Section().Name)
}

// line is a plugin in the output of list --json.
type line struct {
	Name        string              `json:"name"`
	Version     string              `json:"version"`
	State       plugins.State       `json:"state"`
	Tools       []string            `json:"tools"`
	Hooks       []string            `json:"hooks"`
	Permissions plugins.Permissions `json:"permissions"`
	Error       string              `json:"error,omitempty"`
}

func (o Options) list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the plugins with their states", Args: cli.NoArgs,
		Example: "  hermes-ls plugin list\n  hermes-ls plugin list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, settings := o.loaded()
			all, err := plugins.List(l.Home, settings)
			if err != nil {
				return err
			}
			lines := []line{}
			for _, p := range all {
				o := line{Name: p.Name, Version: p.Version, State: p.State, Tools: tools.OrEmpty(p.Tools()), Hooks: tools.OrEmpty(p.HookNames()), Permissions: p.Permissions.Complete()}
				if p.Err != nil {
					o.Error = p.Err.Error()
				}
				lines = append(lines, o)
			}
			if asJSON {
				return cli.JSON(cmd.OutOrStdout(), map[string]any{"plugins": lines})
			}
			return table(cmd.OutOrStdout(), lines, l.Home)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func table(out io.Writer, lines []line, home string) error {
	if len(lines) == 0 {
		_, err := fmt.Fprintf(out, "There are no plugins in %s. hermes-ls plugin create NAME makes one.\n", escape.Line(plugins.Dir(home)))
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tVERSION\tSTATE\tTOOLS")
	for _, l := range lines {
		state := string(l.State)
		if l.Error != "" {
			state += ": " + l.Error
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", escape.Line(l.Name), escape.Line(l.Version), escape.Line(state), escape.Line(strings.Join(l.Tools, ", ")))
	}
	return w.Flush()
}

func (o Options) install() *cobra.Command {
	var ref string
	var yes bool
	cmd := &cobra.Command{
		Use: "install SOURCE", Short: "Install a plugin from git or a directory", Args: cli.One("one argument"),
		Long: "SOURCE is owner/repo[/path][@ref] of GitHub, a git URL, or a directory. You see its files,\n" +
			"permissions and findings, and confirm. Nothing of it runs, and packages that it needs are not installed.",
		Example: "  hermes-ls plugin install owner/repo\n  hermes-ls plugin install https://example.com/plugin.git --ref 1a2b3c",
		RunE: func(cmd *cobra.Command, args []string) error {
			l, _ := o.loaded()
			from, err := skills.Locate(args[0], yes)
			if err != nil {
				return err
			}
			c, err := plugins.Fetch(cmd.Context(), l.Home, from, ref)
			if err != nil {
				return err
			}
			defer c.Discard()
			show(cmd, c)
			if yes && len(c.Findings) > 0 && !cli.Interactive(cmd) {
				return errors.New("nothing was installed: --yes installs only without findings. Install it on a terminal")
			}
			if err := cli.Confirm(cmd, yes && len(c.Findings) == 0, "Install it?", "nothing was installed"); err != nil {
				return err
			}
			dir, err := plugins.Install(cmd.Context(), l.Home, c)
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "Installed: %s\nIt is not enabled. hermes-ls plugin enable %s enables it.\n", escape.Line(dir), c.Name)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&ref, "ref", "", "a commit, tag or branch")
	cmd.Flags().BoolVar(&yes, "yes", false, "install without asking, if there are no findings")
	return cmd
}

// show prints a fetched plugin.
func show(cmd *cobra.Command, c plugins.Candidate) {
	out := cmd.OutOrStdout()
	describe(out, c.Plugin)
	if c.Commit != "" {
		fmt.Fprintf(out, "commit: %s\n", c.Commit)
	}
	for _, f := range c.Files {
		fmt.Fprintf(out, "  %s\n", escape.Line(f))
	}
	for _, f := range c.Findings {
		fmt.Fprintf(out, "%s: %s\n", f.Level, escape.Line(f.String()))
	}
	if len(c.Dependencies) > 0 {
		fmt.Fprintf(out, "It needs packages, which are not installed: %s\n", escape.Line(strings.Join(c.Dependencies, ", ")))
	}
}

// describe prints a manifest.
func describe(out io.Writer, p plugins.Plugin) {
	fmt.Fprintf(out, "%s %s: %s\n", escape.Line(p.Name), escape.Line(p.Version), escape.Line(p.Description))
	fmt.Fprintf(out, "permissions: %s\n", escape.Line(p.Permissions.String()))
	if names := p.Declared(); len(names) > 0 {
		fmt.Fprintf(out, "tools: %s\n", escape.Line(strings.Join(names, ", ")))
	}
	if len(p.Hooks) > 0 {
		fmt.Fprintf(out, "hooks: %s\n", escape.Line(strings.Join(p.Hooks, ", ")))
	}
	if reach := hooks.Reach(p.Hooks); len(reach) > 0 {
		fmt.Fprintf(out, "its hooks can change, whatever its permissions are: %s\n", strings.Join(reach, "; "))
	}
	for _, part := range p.Contents() {
		fmt.Fprintf(out, "%s\n", escape.Line(part))
	}
}

func (o Options) uninstall() *cobra.Command {
	return &cobra.Command{
		Use: "uninstall NAME", Short: "Disable a plugin and move it to .archive", Args: cli.One("one argument"), Example: "  hermes-ls plugin uninstall word-count",
		RunE: func(cmd *cobra.Command, args []string) error {
			l, settings := o.loaded()
			if err := plugins.Uninstall(cmd.Context(), l.Home, args[0]); err != nil {
				return err
			}
			if err := o.setEnabled(l.Home, settings, args[0], false); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is uninstalled. Its files are in %s.\n", args[0], escape.Line(filepath.Join(plugins.Dir(l.Home), ".archive")))
			return nil
		},
	}
}

// setEnabled adds a plugin to plugins.enabled, or removes it.
func (o Options) setEnabled(home string, s plugins.Settings, name string, on bool) error {
	others := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(one string) bool { return one == name })
	}
	enabled := others(s.Enabled)
	if on {
		enabled = append(enabled, name)
	}
	if !slices.Equal(enabled, s.Enabled) {
		if err := o.set(home, "plugins.enabled", enabled); err != nil {
			return err
		}
	}
	if on && slices.Contains(s.Disabled, name) {
		return o.set(home, "plugins.disabled", others(s.Disabled))
	}
	return nil
}

func (o Options) set(home, key string, list []string) error {
	text, err := json.Marshal(tools.OrEmpty(list))
	if err != nil {
		return err
	}
	return o.Schema().Set(home, key, string(text))
}

func (o Options) enable() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "enable NAME", Short: "Show a plugin's permissions, and enable it", Args: cli.One("one argument"),
		Long: "Shows the contents and the permissions, and asks. Then it starts the plugin once in the sandbox.\n" +
			"If a file changes, the plugin is off until you enable it again.",
		Example: "  hermes-ls plugin enable word-count\n  hermes-ls plugin enable word-count --yes",
		RunE:    func(cmd *cobra.Command, args []string) error { return o.enablePlugin(cmd, args[0], yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "enable it without asking")
	return cmd
}

func (o Options) enablePlugin(cmd *cobra.Command, name string, yes bool) error {
	l, settings := o.loaded()
	p, err := find(l.Home, name)
	if err != nil {
		return err
	}
	p = settings.Widen(p)
	sum, err := plugins.Sum(p.Dir)
	if err != nil {
		return fmt.Errorf("the plugin %s cannot be enabled: %w", name, err)
	}
	for _, v := range p.RequiresEnv {
		if l.Getenv(v) == "" {
			return fmt.Errorf("the plugin %s needs the variable %s, which is not set. Nothing was changed. Set it, or put it into %s", name, v, filepath.Join(l.Home, ".env"))
		}
	}
	out := cmd.OutOrStdout()
	describe(out, p)
	for _, gap := range plugins.NotEnforced(cmd.Context(), p) {
		fmt.Fprintf(out, "not enforced here: %s\n", escape.Line(gap))
	}
	if err := cli.Confirm(cmd, yes, "Enable it?", "nothing was changed"); err != nil {
		return err
	}
	g := plugins.Grant{Sum: sum, At: time.Now().UTC(), Permissions: p.Permissions}
	if p.Kind != plugins.Agent {
		if g.Offer, err = plugins.Initialize(cmd.Context(), o.Outside(l.Home), p, settings.Of(name), l.Getenv); err != nil {
			return fmt.Errorf("the plugin %s cannot be enabled: %w. Nothing was changed. Its log is %s", name, err, plugins.LogPath(l.Home, name))
		}
	}
	if after, err := plugins.Sum(p.Dir); err != nil || after != sum {
		return fmt.Errorf("the files of the plugin %s changed meanwhile. Nothing was changed", name)
	}
	if err := taken(l.Home, settings, p, g.Offer); err != nil {
		return err
	}
	if err := plugins.SaveGrant(cmd.Context(), l.Home, name, g); err != nil {
		return err
	}
	if err := o.setEnabled(l.Home, settings, name, true); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s is enabled, from the next session on.", name)
	for _, t := range g.Offer.Tools {
		fmt.Fprintf(out, " Tool: %s.", escape.Line(t.Name))
	}
	for _, c := range g.Offer.Commands {
		fmt.Fprintf(out, " Command: /%s.", escape.Line(c.Name))
	}
	fmt.Fprintln(out)
	if reach := hooks.Reach(undeclared(g.Offer.Hooks, p.Hooks)); len(reach) > 0 {
		fmt.Fprintf(out, "Its hooks that plugin.yaml does not name can change: %s. To disable it: hermes-ls plugin disable %s\n", strings.Join(reach, "; "), name)
	}
	return nil
}

// undeclared returns a plugin's hooks missing in its manifest.
func undeclared(offered, declared []string) []string {
	return slices.DeleteFunc(slices.Clone(offered), func(one string) bool { return slices.Contains(declared, one) })
}

// taken returns an error if a tool has the name of a tool of this program or of another plugin.
func taken(home string, s plugins.Settings, p plugins.Plugin, o plugins.Offer) error {
	owners := map[string]string{}
	all, err := plugins.List(home, s)
	if err != nil {
		return err
	}
	for _, other := range all {
		if other.Name != p.Name && other.State == plugins.Enabled {
			for _, name := range other.Tools() {
				owners[name] = other.Name
			}
		}
	}
	for _, t := range o.Tools {
		if alias.Ours(t.Name) && !slices.Contains(p.Permissions.Override, t.Name) {
			return fmt.Errorf("the plugin %s cannot be enabled: its tool %s has the name of a tool of hermes-ls, and permissions.override does not list it. Nothing was changed", p.Name, t.Name)
		}
		if owner := owners[t.Name]; owner != "" && !slices.Contains(p.Permissions.Override, t.Name) {
			return fmt.Errorf("the plugin %s cannot be enabled: its tool %s has the name of a tool of the plugin %s, and permissions.override does not list it. Nothing was changed", p.Name, t.Name, owner)
		}
	}
	return nil
}

// find returns a plugin by its name.
func find(home, name string) (plugins.Plugin, error) {
	all, problems := plugins.All(home)
	at := slices.IndexFunc(all, func(p plugins.Plugin) bool { return p.Name == name })
	if at < 0 {
		var names []string
		for _, p := range all {
			names = append(names, p.Name)
		}
		text := fmt.Sprintf("there is no plugin %q", name)
		if near := spelling.Likely(name, names); len(near) > 0 {
			text += fmt.Sprintf("; did you mean %s?", near[0])
		}
		return plugins.Plugin{}, errors.New(text)
	}
	if err := problems[name]; err != nil {
		return plugins.Plugin{}, fmt.Errorf("the plugin %s cannot be loaded: %w", name, err)
	}
	return all[at], nil
}

func (o Options) disable() *cobra.Command {
	return &cobra.Command{
		Use: "disable NAME", Short: "Disable a plugin", Args: cli.One("one argument"), Example: "  hermes-ls plugin disable word-count",
		RunE: func(cmd *cobra.Command, args []string) error {
			l, settings := o.loaded()
			grants, err := plugins.Grants(l.Home)
			if err != nil {
				return err
			}
			if _, granted := grants[args[0]]; !granted && !slices.Contains(settings.Enabled, args[0]) {
				if _, err := find(l.Home, args[0]); err != nil {
					return err
				}
			}
			if err := o.setEnabled(l.Home, settings, args[0], false); err != nil {
				return err
			}
			if err := plugins.RemoveGrant(cmd.Context(), l.Home, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is disabled, from the next session on.\n", escape.Line(args[0]))
			return nil
		},
	}
}

func (o Options) update() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "update NAME", Short: "Update an installed plugin that was not edited", Args: cli.One("one argument"),
		Long:    "An updated plugin is off until you enable it again.",
		Example: "  hermes-ls plugin update word-count",
		RunE: func(cmd *cobra.Command, args []string) error {
			l, _ := o.loaded()
			all, err := plugins.Origins(l.Home)
			if err != nil {
				return err
			}
			o, ok := all[args[0]]
			if !ok {
				return fmt.Errorf("no plugin %q was installed; installed are: %s", args[0], strings.Join(slices.Sorted(maps.Keys(all)), ", "))
			}
			from, err := skills.Stored(o.Source, o.Identifier)
			if err != nil {
				return err
			}
			c, err := plugins.Fetch(cmd.Context(), l.Home, from, o.Ref)
			if err != nil {
				return err
			}
			defer c.Discard()
			if c.Sum == o.Sum {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is up to date.\n", args[0])
				return nil
			}
			show(cmd, c)
			if err := cli.Confirm(cmd, yes, "Update it?", "nothing was changed"); err != nil {
				return err
			}
			if _, err := plugins.Install(cmd.Context(), l.Home, c); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is updated. hermes-ls plugin enable %[1]s enables it again.\n", args[0])
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "update without asking")
	return cmd
}

func (o Options) create() *cobra.Command {
	flags := map[string]*bool{}
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a plugin with a tool and a test", Args: cli.One("one argument"),
		Long:    "Makes a plugin in Python that counts words, to begin with. --command makes one as a program of any language, in shell.",
		Example: "  hermes-ls plugin create word-count\n  hermes-ls plugin create word-count --go",
		RunE: func(cmd *cobra.Command, args []string) error {
			language := "python"
			for _, flag := range slices.Sorted(maps.Keys(flags)) {
				if *flags[flag] {
					language = strings.Replace(flag, "command", "shell", 1)
				}
			}
			home := config.Home(os.Environ())
			dir, err := plugins.Create(home, args[0], language)
			if err != nil {
				return err
			}
			build := ""
			if language == "go" {
				build = "go build -o " + args[0] + " in it, then "
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s\nNext: %[3]shermes-ls plugin dev %[2]s, then hermes-ls plugin enable %[2]s. See docs/plugins.md.\n", escape.Line(dir), args[0], build)
			return nil
		},
	}
	for flag, text := range map[string]string{
		"python": "in Python (the default)", "command": "as a program, in shell", "go": "as a program, in Go", "typescript": "as a program, in TypeScript",
	} {
		flags[flag] = cmd.Flags().Bool(flag, false, text)
	}
	cmd.MarkFlagsMutuallyExclusive("python", "command", "go", "typescript")
	return cmd
}

func validate() *cobra.Command {
	return &cobra.Command{
		Use: "validate [PATH]", Short: "Check a plugin without running it", Args: cobra.MaximumNArgs(1),
		Example: "  hermes-ls plugin validate\n  hermes-ls plugin validate ./word-count",
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			problems, warnings := plugins.Validate(dir)
			for _, w := range warnings {
				fmt.Fprintf(cmd.OutOrStdout(), "warning: %s\n", escape.Line(w))
			}
			if len(problems) > 0 {
				return fmt.Errorf("%s is not a valid plugin: %s", escape.Line(dir), escape.Line(strings.Join(problems, "; ")))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s is valid.\n", escape.Line(dir))
			return nil
		},
	}
}

// Doctor says which enabled plugins are not loaded. If no plugin is enabled, it returns nil.
func Doctor(_ context.Context, _ cli.Home, l *config.Loaded) []cli.Finding {
	settings := config.SectionOf[plugins.Settings](l, plugins.Section().Name)
	if len(settings.Enabled) == 0 {
		return nil
	}
	all, err := plugins.List(l.Home, settings)
	if err != nil {
		return []cli.Finding{{State: cli.Note, What: "plugins", Text: err.Error()}}
	}
	n := 0
	var problems []string
	for _, p := range all {
		if text := p.Problem(); text != "" && settings.Enables(p.Name) {
			problems = append(problems, text)
		} else if p.State == plugins.Enabled {
			n++
		}
	}
	switch {
	case len(problems) > 0:
		return []cli.Finding{{State: cli.Note, What: "plugins", Text: strings.Join(problems, " ")}}
	case n == 0:
		return nil
	}
	return []cli.Finding{{State: cli.OK, What: "plugins", Text: fmt.Sprintf("%d enabled", n)}}
}
