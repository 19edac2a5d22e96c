package main

import (
	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
)

// addGroups adds the groups in the order of the help. The commands help and completion are in the
// last group.
func addGroups(root *cobra.Command) {
	root.AddGroup(
		&cobra.Group{ID: cli.GroupStart, Title: "Start:"},
		&cobra.Group{ID: cli.GroupModels, Title: "Models:"},
		&cobra.Group{ID: cli.GroupSessions, Title: "Sessions:"},
		&cobra.Group{ID: cli.GroupExtend, Title: "Extend:"},
		&cobra.Group{ID: cli.GroupInspect, Title: "Inspect:"},
	)
	root.SetHelpCommandGroupID(cli.GroupInspect)
	root.SetCompletionCommandGroupID(cli.GroupInspect)
}

// addTo adds commands to root in a group.
func addTo(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
	}
	root.AddCommand(commands...)
}
