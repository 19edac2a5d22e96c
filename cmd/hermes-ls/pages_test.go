package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// inText and inBlock find command lines of hermes-ls in the text and in the blocks of code of a page.
var (
	inText  = regexp.MustCompile("`hermes-ls((?: [^`\\n|;&#]+)?)")
	inBlock = regexp.MustCompile("(?m)(?:^|`|\\$ |&& |sudo )hermes-ls((?: [^`\\n|;&#]+)?)")
)

// TestPages checks the command lines of hermes-ls in the pages for users: the command and the flags
// exist.
func TestPages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, "../../README.md", "../../vscode/README.md", "../../nvim/doc/hermes.txt", "../../SECURITY.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "```") {
			find := inText
			if i%2 == 1 {
				find = inBlock
			}
			for _, m := range find.FindAllStringSubmatch(part, -1) {
				seen++
				if problem := checkLine(strings.Fields(m[1])); problem != "" {
					t.Errorf("%s: hermes-ls%s: %s", filepath.Base(page), m[1], problem)
				}
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d command lines were found", seen)
	}
}

// checkLine returns the problem of a command line.
func checkLine(args []string) string {
	c := rootCommand()
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		next := subcommand(c, args[0])
		if next == nil {
			break
		}
		c, args = next, args[1:]
	}
	if c.HasSubCommands() && len(args) > 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(args[0]) {
		return "no such command: " + args[0]
	}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		name, _, _ := strings.Cut(strings.TrimRight(arg, ",.)"), "=")
		if long, ok := strings.CutPrefix(name, "--"); ok && long != "help" && long != "version" && c.Flag(long) == nil {
			return "no such flag: " + arg
		}
	}
	return ""
}

func subcommand(c *cobra.Command, name string) *cobra.Command {
	for _, sub := range c.Commands() {
		if sub.Name() == name || sub.HasAlias(name) {
			return sub
		}
	}
	return nil
}
