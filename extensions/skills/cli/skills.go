// Package cli is `hermes-ls skills`: it lists, writes, checks and installs skills.
package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/internal/escape"
)

// program makes the commands.
type program struct{ cli.Home }

// New returns the command.
func New(h cli.Home) *cobra.Command {
	o := program{h}
	return cli.Group(&cobra.Command{
		Use: "skills", GroupID: cli.GroupExtend, Short: "List, write, check and install skills",
		Example: "  hermes-ls skills list\n  hermes-ls skills install anthropics/skills/skills/pdf",
	}, o.list(), o.search(), o.view(), o.create(), o.validate(), o.install(), o.update(), o.audit(), o.uninstall(), o.publish(), o.snapshot(), o.tap())
}

func (o program) find(cmd *cobra.Command) (home string, found skills.Found) {
	loaded := o.LoadHere()
	return loaded.Home, find(cmd.Context(), loaded)
}

// find returns the skills of the user and of the working directory.
func find(ctx context.Context, loaded *config.Loaded) skills.Found {
	cwd, err := os.Getwd()
	var folders []string
	if err == nil {
		folders = []string{cwd}
	}
	return config.SectionOf[skills.Settings](loaded, "skills").Library(loaded.Home, folders).Find(ctx)
}

// Doctor describes the omitted skills, except the program's. If there are none, it returns nil.
func Doctor(ctx context.Context, _ cli.Home, loaded *config.Loaded) []cli.Finding {
	var problems []string
	for _, s := range find(ctx, loaded).LeftOut {
		if s.Place != skills.Bundled {
			problems = append(problems, escape.Line(s.Path+": "+s.Problem))
		}
	}
	n := len(problems)
	if n == 0 {
		return nil
	}
	text := fmt.Sprintf("%d left out: %s", n, strings.Join(problems[:min(n, 5)], "; "))
	if n > 5 {
		text += "; hermes-ls skills list shows all"
	}
	return []cli.Finding{{State: cli.Note, What: "skills", Text: text}}
}

func (o program) print(cmd *cobra.Command, all []*skills.Skill) {
	for _, s := range all {
		text := s.Description
		if s.Problem != "" {
			text = "left out: " + s.Problem + " (" + s.Path + ")"
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%-24s %-10s %s\n", cli.Plain(s.Name), s.Place, cli.Plain(text))
	}
}

func (o program) list() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the skills, and those that are left out", Args: cli.NoArgs, Example: "  hermes-ls skills list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, f := o.find(cmd)
			all := append(append([]*skills.Skill{}, f.Skills...), f.LeftOut...)
			if asJSON {
				return cli.JSON(cmd.OutOrStdout(), map[string]any{"skills": all})
			}
			o.print(cmd, all)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (o program) search() *cobra.Command {
	return &cobra.Command{
		Use: "search WORDS", Short: "Search the skills that are here and those of taps", Args: cli.Args(cobra.MinimumNArgs(1)), Example: "  hermes-ls skills search unit tests",
		RunE: func(cmd *cobra.Command, args []string) error {
			home, f := o.find(cmd)
			query := strings.Join(args, " ")
			o.print(cmd, skills.Search(f.Skills, query))
			return o.searchTaps(cmd, home, query)
		},
	}
}

func (o program) view() *cobra.Command {
	return &cobra.Command{
		Use: "view NAME [FILE]", Short: "Print a skill or one of its files", Args: cli.Args(cobra.RangeArgs(1, 2)), Example: "  hermes-ls skills view debug",
		RunE: func(cmd *cobra.Command, args []string) error {
			_, f := o.find(cmd)
			at := slices.IndexFunc(f.Skills, func(s *skills.Skill) bool { return s.Name == args[0] })
			if at < 0 {
				return fmt.Errorf("there is no skill %q; hermes-ls skills list shows all", args[0])
			}
			text, err := f.Skills[at].Read()
			if len(args) == 2 {
				text, err = f.Skills[at].File(args[1])
			}
			if cli.Terminal(cmd.OutOrStdout()) {
				text = escape.Text(text)
			}
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), strings.TrimRight(text, "\n"))
			}
			return err
		},
	}
}

const template = `---
name: %s
description: Say what it does and when it applies.
---
# %[1]s

1. The first step, with the exact command.
2. How to check the result, and when to stop and ask.
`

func (o program) create() *cobra.Command {
	return &cobra.Command{
		Use: "new NAME", Short: "Make a skill with an example text", Args: cli.Args(cobra.ExactArgs(1)), Example: "  hermes-ls skills new release",
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if !skills.ValidNew(name) {
				return cli.Usage(fmt.Errorf("the name %q must have 1 to 64 lower-case letters, digits and single hyphens between them", name))
			}
			dir := filepath.Join(o.LoadHere().Home, "skills", name)
			if _, err := os.Lstat(dir); err == nil {
				return fmt.Errorf("%s exists already", dir)
			}
			if err := os.MkdirAll(dir, 0o755); err != nil {
				return err
			}
			file := filepath.Join(dir, "SKILL.md")
			if err := os.WriteFile(file, fmt.Appendf(nil, template, name), 0o644); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), file)
			return nil
		},
	}
}

var errFindings = errors.New("there are problems")

func (o program) validate() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use: "validate [PATH]", Short: "Check a skill, or all skills that are here", Args: cli.Args(cobra.MaximumNArgs(1)),
		Example: "  hermes-ls skills validate ./my-skill --strict",
		RunE: func(cmd *cobra.Command, args []string) error {
			var bad bool
			report := func(path string, problems []string) {
				for _, p := range problems {
					bad = true
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", cli.Plain(path), cli.Plain(p))
				}
			}
			if len(args) == 1 {
				path := strings.TrimSuffix(strings.TrimSuffix(args[0], "SKILL.md"), "skill.md")
				report(args[0], skills.Check(filepath.Clean(path), strict))
			} else {
				_, f := o.find(cmd)
				for _, s := range slices.Concat(f.Skills, f.LeftOut) {
					if s.Dir != "" {
						report(s.Path, skills.Check(s.Dir, strict))
					}
				}
			}
			if bad {
				return errFindings
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "also report what agentskills.io forbids")
	return cmd
}

func (o program) install() *cobra.Command {
	var name, ref string
	var yes bool
	cmd := &cobra.Command{
		Use: "install SOURCE", Short: "Install a skill from git, an https address or a directory", Args: cli.Args(cobra.ExactArgs(1)),
		Long: "SOURCE is owner/repo[/path][@ref] of GitHub, a git URL[#path], the https address of a SKILL.md, well-known:ADDRESS[#NAME],\n" +
			"or a directory. You see its files, commit, variables and findings, and confirm. Without a terminal it needs --yes.",
		Example: "  hermes-ls skills install anthropics/skills/skills/pdf",
		RunE: func(cmd *cobra.Command, args []string) error {
			from, err := skills.Locate(args[0], yes)
			if err != nil {
				return err
			}
			return o.installOne(cmd, offer{from: from, fetch: ref, ref: ref, name: name, yes: yes})
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "another name")
	cmd.Flags().StringVar(&ref, "ref", "", "a commit, tag or branch")
	cmd.Flags().BoolVar(&yes, "yes", false, "install without asking, if there are no findings")
	return cmd
}

// offer is a skill offered for installation.
type offer struct {
	from  skills.Source
	fetch string // the commit, tag or branch to fetch; empty: the default branch
	ref   string // the ref of later updates
	name  string // empty: its own
	yes   bool   // install it without asking, if there are no findings
}

// installOne fetches a skill, shows it and installs it if the user agrees.
func (o program) installOne(cmd *cobra.Command, s offer) error {
	home := o.LoadHere().Home
	c, err := skills.Fetch(cmd.Context(), home, s.from, s.fetch)
	if err != nil {
		return err
	}
	defer c.Discard()
	c.Ref = s.ref
	if s.name == "" {
		s.name = c.Name
	}
	o.show(cmd, c)
	if bad, blocked := skills.Blocked(c.Findings); blocked {
		return fmt.Errorf("%s. It is not installed", bad)
	}
	installed, err := skills.Installed(home)
	if err != nil {
		return err
	}
	question := fmt.Sprintf("Install it as %s?", s.name)
	if old, has := installed[s.name]; has && !skills.SameOrigin(old.Identifier, c.From) {
		if s.yes {
			return fmt.Errorf("nothing was installed: %s is installed from %s. Uninstall it first, or give another name with --name", s.name, cli.Plain(old.Identifier))
		}
		question = fmt.Sprintf("Replace %s, which is from %s?", s.name, cli.Plain(old.Identifier))
	}
	switch {
	case cli.Interactive(cmd) && !s.yes:
		if !cli.Agrees(cmd, question) {
			return errors.New("nothing was installed")
		}
	case !s.yes:
		return errors.New("nothing was installed: without a terminal, --yes is needed")
	case len(c.Findings) > 0:
		return errors.New("nothing was installed: --yes installs only without findings. Install it on a terminal")
	}
	dir, err := skills.Install(cmd.Context(), home, s.name, c)
	if err == nil {
		fmt.Fprintf(cmd.OutOrStdout(), "Installed: %s\n", dir)
	}
	return err
}

func (o program) show(cmd *cobra.Command, c skills.Candidate) {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s: %s\n", cli.Plain(c.Name), cli.Plain(c.Description))
	fmt.Fprintf(out, "from %s\n", cli.Plain(c.From))
	if c.Commit != "" {
		fmt.Fprintf(out, "commit %s\n", c.Commit)
	}
	for _, f := range c.Files {
		fmt.Fprintf(out, "  %s\n", cli.Plain(f))
	}
	if len(c.Meta.Environment) > 0 {
		fmt.Fprintf(out, "variables: %s\n", strings.Join(c.Meta.Environment, ", "))
	}
	for _, f := range c.Findings {
		fmt.Fprintf(out, "%s: %s\n", f.Level, cli.Plain(f.String()))
	}
}

var errNotUpdated = errors.New("not all skills were updated")

func (o program) update() *cobra.Command {
	return &cobra.Command{
		Use: "update [NAME]", Short: "Update installed skills that were not edited", Args: cli.Args(cobra.MaximumNArgs(1)), Example: "  hermes-ls skills update",
		Long: "It asks on a terminal if a new version has findings or variables that the old one did not have. Without a terminal such a version is not installed.",
		RunE: func(cmd *cobra.Command, args []string) error {
			home := o.LoadHere().Home
			all, err := skills.Installed(home)
			if err != nil {
				return err
			}
			names := slices.Sorted(maps.Keys(all))
			if len(args) == 1 {
				if _, ok := all[args[0]]; !ok {
					return fmt.Errorf("no skill %q was installed", args[0])
				}
				names = args
			}
			failed := false
			for _, name := range names {
				text, err := o.updateOne(cmd, home, name, all[name])
				if err != nil {
					failed, text = true, err.Error()
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", cli.Plain(name), cli.Plain(text))
			}
			if failed {
				return errNotUpdated
			}
			return nil
		},
	}
}

// updateOne updates a skill and returns a text about it.
func (o program) updateOne(cmd *cobra.Command, home, name string, e skills.Entry) (text string, err error) {
	if e.Metadata["sha256"] == nil {
		return "was installed by Hermes Agent; update it there", nil
	}
	if err := skills.Unedited(home, e); errors.Is(err, skills.ErrEdited) {
		return err.Error(), nil
	} else if err != nil {
		return "", err
	}
	from, err := skills.Stored(e.Source, e.Identifier)
	if err != nil {
		return "", err
	}
	c, err := skills.Fetch(cmd.Context(), home, from, e.Ref())
	if err != nil {
		return "", err
	}
	defer c.Discard()
	sum, err := skills.Hash(c.Dir)
	if err != nil {
		return "", err
	}
	if sum == e.Metadata["sha256"] {
		return "is up to date", nil
	}
	o.show(cmd, c)
	if why := skills.Asks(home, e, c); why != "" {
		if !cli.Interactive(cmd) {
			return "", fmt.Errorf("%s. Update it on a terminal", why)
		}
		if !cli.Agrees(cmd, fmt.Sprintf("%s: %s. Update it?", name, why)) {
			return "is not updated", nil
		}
	}
	if _, err := skills.Install(cmd.Context(), home, name, c); err != nil {
		return "", err
	}
	return "updated", nil
}

func (o program) audit() *cobra.Command {
	return &cobra.Command{
		Use: "audit [NAME]", Short: "Scan installed skills again, and report edited ones", Args: cli.Args(cobra.MaximumNArgs(1)), Example: "  hermes-ls skills audit",
		RunE: func(cmd *cobra.Command, args []string) error {
			home, f := o.find(cmd)
			installed, err := skills.Installed(home)
			if err != nil {
				return err
			}
			bad, known := false, len(args) == 0
			for _, s := range f.Skills {
				known = known || args[0] == s.Name
				if s.Dir == "" || len(args) == 1 && args[0] != s.Name {
					continue
				}
				found, err := skills.Scan(s.Dir)
				if err != nil {
					return err
				}
				for _, x := range found {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %s: %s\n", cli.Plain(s.Name), x.Level, cli.Plain(x.String()))
				}
				if e, ok := installed[s.Name]; ok {
					if err := skills.Unedited(home, e); err != nil {
						fmt.Fprintf(cmd.OutOrStdout(), "%s: %v\n", cli.Plain(s.Name), err)
					}
				}
				_, blocked := skills.Blocked(found)
				bad = bad || blocked
			}
			for _, name := range slices.Sorted(maps.Keys(installed)) {
				if len(args) == 1 && args[0] != name {
					continue
				}
				if known = true; errors.Is(skills.Unedited(home, installed[name]), skills.ErrGone) {
					bad = true
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %v\n", cli.Plain(name), skills.ErrGone)
				}
			}
			if !known {
				return fmt.Errorf("there is no skill %q; hermes-ls skills list shows all", args[0])
			}
			if bad {
				return errFindings
			}
			return nil
		},
	}
}

func (o program) uninstall() *cobra.Command {
	return &cobra.Command{
		Use: "uninstall NAME", Short: "Move an installed skill to .archive", Args: cli.Args(cobra.ExactArgs(1)), Example: "  hermes-ls skills uninstall pdf",
		RunE: func(cmd *cobra.Command, args []string) error {
			err := skills.Uninstall(cmd.Context(), o.LoadHere().Home, args[0])
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "%s is uninstalled.\n", cli.Plain(args[0]))
			}
			return err
		},
	}
}
