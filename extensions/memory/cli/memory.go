// Package cli is `hermes-ls memory`: it shows and edits the entries, and undoes writes.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/memory"
	"github.com/hermes-ls/hermes-ls/internal/escape"
)

// New returns the command.
func New(h cli.Home) *cobra.Command {
	show := &cobra.Command{
		Use: "show", Short: "Show all entries", Args: cli.NoArgs,
		Example: "  hermes-ls memory show",
		RunE:    func(cmd *cobra.Command, _ []string) error { return showMemory(h, cmd) },
	}
	edit := &cobra.Command{
		Use: "edit [memory|user|project]", Short: "Edit a file with $VISUAL or $EDITOR", Args: cli.Args(cobra.MaximumNArgs(1)),
		Long:      "Without an argument, it edits MEMORY.md. A line with only § separates entries.",
		Example:   "  hermes-ls memory edit\n  hermes-ls memory edit project",
		ValidArgs: memory.Target("").Enum(),
		RunE:      func(cmd *cobra.Command, args []string) error { return editMemory(h, cmd, args) },
	}
	undo := &cobra.Command{
		Use: "undo", Short: "Undo the last write of the agent", Args: cli.NoArgs,
		Long:    "If you have edited the file since, it changes nothing.",
		Example: "  hermes-ls memory undo",
		RunE: func(cmd *cobra.Command, _ []string) error {
			name, err := memory.Undo(cmd.Context(), h.Dir())
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "The last write of %s is undone.\n", name)
			return nil
		},
	}
	return cli.Group(&cobra.Command{
		Use: "memory", GroupID: cli.GroupSessions, Short: "Show and edit what is kept between sessions",
		Example: "  hermes-ls memory show\n" +
			"  hermes-ls memory edit user\n" +
			"  hermes-ls memory undo",
	}, show, edit, undo)
}

// memoryFiles returns the enabled files, and the project of this folder.
func memoryFiles(h cli.Home) (map[memory.Target]memory.File, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	c := config.SectionOf[memory.Settings](h.Load(folder), memory.Section().Name)
	return memory.Files(h.Dir(), folder, c), nil
}

func showMemory(h cli.Home, cmd *cobra.Command) error {
	files, err := memoryFiles(h)
	if err != nil {
		return err
	}
	all, err := memory.List(files)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	for i, k := range all {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s, %s\n%s\n", k.Heading, k.Usage, k.Path)
		for j, e := range k.Entries {
			fmt.Fprintf(out, "  - %s\n", strings.ReplaceAll(escape.Text(e), "\n", "\n    "))
			if k.Blocked[j] != "" {
				fmt.Fprintf(out, "    (The model does not see it: %s.)\n", k.Blocked[j])
			}
		}
		if len(k.Entries) == 0 {
			fmt.Fprintln(out, "  No entries.")
		}
	}
	if len(all) == 0 {
		fmt.Fprintln(out, "Memory is turned off in the configuration.")
	}
	return nil
}

func editMemory(h cli.Home, cmd *cobra.Command, args []string) error {
	files, err := memoryFiles(h)
	if err != nil {
		return err
	}
	target := memory.Target("memory")
	if len(args) > 0 {
		target = memory.Target(args[0])
	}
	f, ok := files[target]
	if !ok {
		return cli.Usage(fmt.Errorf("%q is not memory, user or project, or it is turned off in the configuration", target))
	}
	editor := strings.Fields(cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi"))
	if len(editor) == 0 {
		return errors.New("$VISUAL or $EDITOR is blank. Set it to the command of an editor; the file is " + f.Path)
	}
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o700); err != nil {
		return err
	}
	run := exec.CommandContext(cmd.Context(), editor[0], append(editor[1:], f.Path)...)
	run.Stdin, run.Stdout, run.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := run.Run(); err != nil {
		return fmt.Errorf("the editor %s: %w. The file is %s", editor[0], err, f.Path)
	}
	return nil
}
