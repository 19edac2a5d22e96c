package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/hooks"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

func (o Options) importing() *cobra.Command {
	return &cobra.Command{
		Use: "import [PATH]", Short: "Write Claude Code's hooks into config.yaml", Args: cli.Args(cobra.MaximumNArgs(1)),
		Long: "PATH is a settings.json, or a directory with .claude/settings.json. Without it, ~/.claude/settings.json is read.\n" +
			"Shows the hooks and writes them in the form of config.yaml. Hooks that are there already stay.",
		Example: "  hermes-ls hooks import\n  hermes-ls hooks import .claude/settings.json",
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := settingsFile(args)
			if err != nil {
				return err
			}
			return o.importHooks(cmd, file)
		},
	}
}

// settingsFile returns the file named by an argument.
func settingsFile(args []string) (string, error) {
	dir := ""
	if len(args) > 0 {
		dir = args[0]
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return dir, err
		}
	} else {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		dir = home
	}
	if filepath.Base(dir) != ".claude" {
		dir = filepath.Join(dir, ".claude")
	}
	return filepath.Join(dir, "settings.json"), nil
}

func (o Options) importHooks(cmd *cobra.Command, file string) error {
	data, err := textfile.Read(file, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s. Name the file with the hooks: hermes-ls hooks import FILE", file)
	}
	var settings map[string]any
	if err == nil {
		settings, err = parsed(data)
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read: %w. Nothing was changed", file, err)
	}
	found := hooks.Import(settings)
	for _, note := range found.Notes {
		fmt.Fprintln(cmd.ErrOrStderr(), escape.Line(note))
	}
	home, loaded := o.Dir(), o.Load()
	if loaded.Broken {
		return fmt.Errorf("%s has a mistake; run `hermes-ls doctor`. Nothing was changed", config.Path(home))
	}
	present := config.SectionOf[map[string]any](loaded, hooks.Section().Name)
	written := 0
	for _, event := range slices.Sorted(maps.Keys(found.Hooks)) {
		before, _ := present[event].([]any)
		all := hooks.Import(map[string]any{event: before}).Hooks[event] // an earlier copy may have the nested form
		added := 0
		for _, hook := range found.Hooks[event] {
			if slices.ContainsFunc(all, func(other any) bool { return same(other, hook) }) {
				continue
			}
			all = append(all, hook)
			added++
			one, _ := yaml.MarshalWithOptions(hook, yaml.Flow(true))
			fmt.Fprintf(cmd.OutOrStdout(), "%s: %s", event, escape.Line(strings.TrimSpace(string(one)))+"\n")
		}
		if added == 0 && same(all, before) {
			continue
		}
		if err := write(home, event, all, present[event] != nil); err != nil {
			return err
		}
		written += added
	}
	if written == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "No hook of %s was added: there is none, or config.yaml has them.\n", file)
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "Added %s to %s. hermes-ls hooks doctor checks what can start.\n", amount.Plural(written, "hook"), config.Path(home))
	return nil
}

// parsed reads JSONC. If the text is no JSONC, it reads YAML, such as a config.yaml.
func parsed(data []byte) (settings map[string]any, err error) {
	var tree any
	plain := textfile.PlainJSON(data)
	notJSON := json.Unmarshal(plain, &tree)
	if notJSON == nil {
		var compact bytes.Buffer
		err = json.Compact(&compact, plain)
		data = compact.Bytes() // JSON is YAML, but for tabs and byte order marks
	}
	if err == nil {
		err = yaml.Unmarshal(data, &settings)
	}
	if err != nil && notJSON != nil && bytes.HasPrefix(bytes.TrimSpace(plain), []byte("{")) {
		err = textfile.JSONError(data, notJSON)
	}
	return settings, err
}

// same reports whether two hooks have equal values.
func same(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errors.Join(errA, errB) == nil && string(x) == string(y)
}

// write replaces the hooks of an event.
func write(home, event string, all []any, replace bool) error {
	if replace {
		if _, err := config.RemoveEntry(home, hooks.Section().Name, event); err != nil {
			return err
		}
	}
	added, err := config.AddEntry(home, hooks.Section().Name, event, all)
	if err == nil && !added {
		err = fmt.Errorf("hooks.%s could not be written; edit config.yaml by hand", event)
	}
	return err
}
