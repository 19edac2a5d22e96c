package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// The linker sets linkedVersion and commit (see the Makefile).
var (
	linkedVersion = ""
	commit        = ""
)

// version returns the linker's version, or the Go tool's version for `go install`, or "devel".
func version() string {
	if linkedVersion != "" {
		return linkedVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "(devel)" {
		return cmp.Or(info.Main.Version, "devel")
	}
	return "devel"
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version, the commit and the version of Go",
		Example: "  hermes-ls version",
		Args:    noArgs,
		Run:     func(cmd *cobra.Command, _ []string) { fmt.Fprint(cmd.OutOrStdout(), versionLine()) },
	}
}

// versionLine returns the output of `hermes-ls version` and `hermes-ls --version`.
func versionLine() string {
	return fmt.Sprintf("hermes-ls %s (%s, %s)\n", version(), commitID(), runtime.Version())
}

// commitID returns the commit recorded by the linker or the Go tool, or "unknown commit".
func commitID() string {
	if commit != "" {
		return commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value
			}
		}
	}
	return "unknown commit"
}
