package main

import "github.com/spf13/cobra"

// Groups of the commands in the help.
const (
	groupStart    = "start"
	groupModels   = "models"
	groupSessions = "sessions"
	groupExtend   = "extend"
	groupInspect  = "inspect"
)

// addGroups adds the groups in the order of the help. The commands help and completion are in the
// last group.
func addGroups(root *cobra.Command) {
	root.AddGroup(
		&cobra.Group{ID: groupStart, Title: "Start:"},
		&cobra.Group{ID: groupModels, Title: "Models:"},
		&cobra.Group{ID: groupSessions, Title: "Sessions:"},
		&cobra.Group{ID: groupExtend, Title: "Extend:"},
		&cobra.Group{ID: groupInspect, Title: "Inspect:"},
	)
	root.SetHelpCommandGroupID(groupInspect)
	root.SetCompletionCommandGroupID(groupInspect)
}

// addTo adds commands to root in a group.
func addTo(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
	}
	root.AddCommand(commands...)
}
