//go:build !release

package main

import "github.com/spf13/cobra"

func releaseCommands() []*cobra.Command { return nil }
