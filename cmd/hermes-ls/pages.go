//go:build release

package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// releaseCommands returns `hermes-ls pages DIR`. It writes the man pages and the shell completions
// of a release. Only a build with the tag release includes it.
func releaseCommands() []*cobra.Command {
	return []*cobra.Command{{
		Use:    "pages DIR",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(cmd *cobra.Command, args []string) error { return writePages(cmd.Root(), args[0]) },
	}}
}

func writePages(root *cobra.Command, dir string) error {
	for _, folder := range []string{"man", "completions"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return err
		}
	}
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root, &doc.GenManHeader{Source: "hermes-ls " + version(), Manual: "hermes-ls"}, filepath.Join(dir, "man")); err != nil {
		return err
	}
	to := func(name string) string { return filepath.Join(dir, "completions", "hermes-ls."+name) }
	if err := root.GenBashCompletionFileV2(to("bash"), true); err != nil {
		return err
	}
	if err := root.GenZshCompletionFile(to("zsh")); err != nil {
		return err
	}
	if err := root.GenFishCompletionFile(to("fish"), true); err != nil {
		return err
	}
	return root.GenPowerShellCompletionFileWithDesc(to("ps1"))
}
