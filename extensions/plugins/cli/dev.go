package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/plugins"
	"github.com/hermes-ls/hermes-ls/internal/escape"
)

func (o Options) dev() *cobra.Command {
	return &cobra.Command{
		Use: "dev NAME", Short: "Run a plugin while you write it", Args: cli.One("one argument"),
		Long: "Starts the plugin in the sandbox, in the working directory, and shows each message. Lines of input call it:\n" +
			"TOOL {ARGUMENTS}, or /COMMAND ARGUMENTS. If a file of the plugin changes, it is started again.\n" +
			"Its changes at places that run by themselves are undone and named at the end.",
		Example: "  hermes-ls plugin dev word-count\n  echo 'word_count_words {\"path\": \"README.md\"}' | hermes-ls plugin dev word-count",
		RunE: func(cmd *cobra.Command, args []string) error {
			l, settings := o.loaded()
			p, err := find(l.Home, args[0])
			if err != nil {
				return err
			}
			folder, err := os.Getwd()
			if err != nil {
				return err
			}
			if p.Permissions.Files == plugins.Write {
				box := cli.Box(l, folder, cmd.ErrOrStderr())
				defer box.Close()
				if _, err := box.Stand(cmd.Context(), "the plugin "+p.Name); err != nil {
					return err
				}
			}
			d := &developer{cmd: cmd, dir: p.Dir}
			d.open = func(ctx context.Context) (*plugins.Trial, error) {
				p, err := plugins.Load(p.Dir) // the manifest may have changed
				if err != nil {
					return nil, err
				}
				return plugins.Try(ctx, o.Outside(l.Home), settings.Widen(p), settings.Of(p.Name), l.Getenv, folder, d.print)
			}
			return d.run(cmd.Context())
		},
	}
}

// developer runs a plugin, and starts it again if its files change.
type developer struct {
	cmd   *cobra.Command
	dir   string
	open  func(ctx context.Context) (*plugins.Trial, error)
	trial *plugins.Trial

	mu sync.Mutex // of the output
}

func (d *developer) print(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fmt.Fprintln(d.cmd.OutOrStdout(), escape.Line(text))
}

// settle is how long files must stay as they are before the plugin starts again.
const settle = 150 * time.Millisecond

func (d *developer) run(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return config.Watched(err)
	}
	defer watcher.Close() // nothing is left to write
	if err := watch(watcher, d.dir); err != nil {
		return config.Watched(err)
	}
	input := make(chan string)
	go func() { // ends with the input, else with the program
		defer close(input)
		for lines := bufio.NewScanner(d.cmd.InOrStdin()); lines.Scan(); {
			select {
			case input <- lines.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	d.restart(ctx)
	defer func() {
		if d.trial != nil {
			d.trial.Close()
		}
	}()
	var changed <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, ok := <-input:
			if !ok {
				return nil
			}
			d.line(ctx, strings.TrimSpace(line))
		case e := <-watcher.Events:
			if !strings.Contains(e.Name, "__pycache__") {
				changed = time.After(settle)
			}
		case <-changed:
			changed = nil
			_ = watch(watcher, d.dir) // new directories
			d.restart(ctx)
		}
	}
}

func watch(w *fsnotify.Watcher, dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if name := e.Name(); name == ".git" || name == "node_modules" || name == "__pycache__" {
			return fs.SkipDir
		}
		return w.Add(path)
	})
}

func (d *developer) restart(ctx context.Context) {
	if d.trial != nil {
		d.trial.Close()
		d.trial = nil
	}
	trial, err := d.open(ctx)
	if err != nil {
		d.print("cannot start: " + err.Error())
		return
	}
	d.trial = trial
	o := trial.Offer()
	var parts []string
	for _, t := range o.Tools {
		parts = append(parts, "tool "+t.Name)
	}
	for _, h := range o.Hooks {
		parts = append(parts, "hook "+h)
	}
	for _, c := range o.Commands {
		parts = append(parts, "command /"+c.Name)
	}
	d.print("started: " + strings.Join(parts, ", "))
}

// line runs a line of input. The messages show the result.
func (d *developer) line(ctx context.Context, line string) {
	if line == "" {
		return
	}
	if d.trial == nil {
		d.print("the plugin does not run")
		return
	}
	name, args, _ := strings.Cut(line, " ")
	if command, ok := strings.CutPrefix(name, "/"); ok {
		d.failed(d.trial.Command(ctx, command, args))
		return
	}
	if args = strings.TrimSpace(args); args == "" {
		args = "{}"
	}
	if !json.Valid([]byte(args)) {
		d.print("the arguments are not JSON")
		return
	}
	d.failed(d.trial.Tool(ctx, name, json.RawMessage(args)))
}

func (d *developer) failed(err error) {
	if err != nil {
		d.print("error: " + err.Error())
	}
}
