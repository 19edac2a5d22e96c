package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// searchTaps prints the matching skills of the user's taps.
func (o program) searchTaps(cmd *cobra.Command, home, query string) error {
	taps, err := skills.Taps(home)
	if err != nil {
		return err
	}
	for _, t := range taps {
		found, err := t.Search(cmd.Context(), home, query)
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cli.Plain(t.Repo), cli.Plain(err.Error()))
			continue
		}
		for _, r := range found {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", cli.Plain(r.Source), cli.Plain(r.Description))
		}
	}
	return nil
}

func (o program) publish() *cobra.Command {
	var to string
	cmd := &cobra.Command{
		Use: "publish PATH --to GIT", Short: "Add a skill to a branch of a repository and push it", Args: cli.Args(cobra.ExactArgs(1)),
		Long:    "The skill is committed to the branch add-skill-NAME and pushed with your git. It asks on a terminal, and does nothing without one.",
		Example: "  hermes-ls skills publish ~/.hermes/skills/release --to git@github.com:me/skills.git",
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return cli.Usage(errors.New("--to is required"))
			}
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			name := filepath.Base(dir)
			for _, p := range skills.Check(dir, true) {
				return fmt.Errorf("%s: %s. Nothing was published", name, p)
			}
			found, err := skills.Scan(dir)
			if err != nil {
				return err
			}
			for _, f := range found {
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", f.Level, cli.Plain(f.String()))
			}
			if bad, blocked := skills.Blocked(found); blocked {
				return fmt.Errorf("%s. Nothing was published", bad)
			}
			if !cli.Interactive(cmd) || !cli.Agrees(cmd, fmt.Sprintf("Push %s to %s?", name, cli.Plain(to))) {
				return errors.New("nothing was published: only a user on a terminal can publish")
			}
			branch, err := skills.Publish(cmd.Context(), o.LoadHere().Home, dir, name, to)
			if err == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "Pushed the branch %s.\n", branch)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the repository: owner/repo of GitHub, or a git URL")
	return cmd
}

// snapshotFile is the list of installed skills, in Hermes' form. Commit and Ref are ours.
type snapshotFile struct {
	Version    string         `json:"hermes_version"`
	ExportedAt string         `json:"exported_at"`
	Skills     []snapshotItem `json:"skills"`
	Taps       []skills.Tap   `json:"taps"`
}

type snapshotItem struct {
	Name       string `json:"name"`
	Source     string `json:"source"`
	Identifier string `json:"identifier"`
	Category   string `json:"category"`
	Commit     string `json:"commit,omitempty"`
	Ref        string `json:"ref,omitempty"` // the ref of updates
}

func (o program) snapshot() *cobra.Command {
	cmd := &cobra.Command{
		Use: "snapshot", Short: "Write the list of installed skills, or install those of a list",
		Example: "  hermes-ls skills snapshot export skills.json",
	}
	export := &cobra.Command{
		Use: "export FILE", Short: "Write sources and commits of the installed skills to a file", Args: cli.Args(cobra.ExactArgs(1)), Example: "  hermes-ls skills snapshot export skills.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			home := o.LoadHere().Home
			installed, err := skills.Installed(home)
			if err != nil {
				return err
			}
			file := snapshotFile{Version: "0.19.0", ExportedAt: time.Now().UTC().Format(time.RFC3339), Skills: []snapshotItem{}}
			for _, name := range slices.Sorted(maps.Keys(installed)) {
				e := installed[name]
				commit, _ := e.Metadata["commit"].(string)
				category := filepath.ToSlash(filepath.Dir(filepath.FromSlash(e.InstallPath)))
				if category == "." {
					category = ""
				}
				address := skills.WithoutSecrets(e.Identifier)
				if address != e.Identifier {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s: its address is written without password and parameters\n", cli.Plain(name))
				}
				file.Skills = append(file.Skills, snapshotItem{Name: name, Source: e.Source, Identifier: address, Category: category, Commit: commit, Ref: e.Ref()})
			}
			if file.Taps, err = skills.Taps(home); err != nil {
				return err
			}
			file.Taps = append([]skills.Tap{}, file.Taps...)
			data, err := cli.EncodeIndented(file)
			if err != nil {
				return err
			}
			return os.WriteFile(args[0], append(data, '\n'), 0o600)
		},
	}
	var yes bool
	load := &cobra.Command{
		Use: "import FILE", Short: "Install the skills of a file that are not installed", Args: cli.Args(cobra.ExactArgs(1)), Example: "  hermes-ls skills snapshot import skills.json",
		RunE: func(cmd *cobra.Command, args []string) error { return o.importSnapshot(cmd, args[0], yes) },
	}
	load.Flags().BoolVar(&yes, "yes", false, "install without asking, if there are no findings")
	return cli.Group(cmd, export, load)
}

func (o program) importSnapshot(cmd *cobra.Command, path string, yes bool) error {
	data, err := textfile.Read(path, 16<<20)
	if err != nil {
		return err
	}
	var file snapshotFile
	if err := json.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	home := o.LoadHere().Home
	installed, err := skills.Installed(home)
	if err != nil {
		return err
	}
	failed := false
	for _, s := range file.Skills {
		if _, has := installed[s.Name]; has {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: exists\n", cli.Plain(s.Name))
			continue
		}
		from, err := skills.Stored(s.Source, s.Identifier)
		if err == nil {
			err = o.installOne(cmd, offer{from: from, fetch: cmp.Or(s.Commit, s.Ref), ref: s.Ref, name: s.Name, yes: yes})
		}
		if err != nil {
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", cli.Plain(s.Name), cli.Plain(err.Error()))
			failed = true
		}
	}
	err = skills.ChangeTaps(cmd.Context(), home, func(all []skills.Tap) ([]skills.Tap, error) {
		for _, t := range file.Taps {
			if !slices.ContainsFunc(all, t.Same) {
				all = append(all, t)
			}
		}
		return all, nil
	})
	if err == nil && failed {
		err = errors.New("not all skills were installed")
	}
	return err
}

func (o program) tap() *cobra.Command {
	cmd := &cobra.Command{
		Use: "tap", Short: "Add, list and remove repositories in which skills are searched", Example: "  hermes-ls skills tap add anthropics/skills",
	}
	change := func(cmd *cobra.Command, edit func([]skills.Tap) ([]skills.Tap, error)) error {
		return skills.ChangeTaps(cmd.Context(), o.LoadHere().Home, edit)
	}
	return cli.Group(cmd, &cobra.Command{
		Use: "add REPO [PATH]", Short: "Add a repository", Args: cli.Args(cobra.RangeArgs(1, 2)), Example: "  hermes-ls skills tap add anthropics/skills skills",
		RunE: func(cmd *cobra.Command, args []string) error {
			t := skills.Tap{Repo: args[0]}
			if len(args) == 2 {
				t.Path = args[1]
			}
			return change(cmd, func(all []skills.Tap) ([]skills.Tap, error) {
				if slices.ContainsFunc(all, t.Same) {
					return nil, fmt.Errorf("%s is a tap already", t.Repo)
				}
				return append(all, t), nil
			})
		},
	}, &cobra.Command{
		Use: "list", Short: "List the repositories", Args: cli.NoArgs, Example: "  hermes-ls skills tap list",
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := skills.Taps(o.LoadHere().Home)
			for _, t := range all {
				fmt.Fprintln(cmd.OutOrStdout(), cli.Plain(t.Repo), cli.Plain(t.Path))
			}
			return err
		},
	}, &cobra.Command{
		Use: "remove REPO", Short: "Remove a repository", Args: cli.Args(cobra.ExactArgs(1)), Example: "  hermes-ls skills tap remove anthropics/skills",
		RunE: func(cmd *cobra.Command, args []string) error {
			return change(cmd, func(all []skills.Tap) ([]skills.Tap, error) {
				before := len(all)
				all = slices.DeleteFunc(all, func(t skills.Tap) bool { return t.Repo == args[0] })
				if len(all) == before {
					return nil, fmt.Errorf("%s is no tap", args[0])
				}
				return all, nil
			})
		},
	})
}
