package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// runFlags are the flags of run.
type runFlags struct {
	model, approve, mode string
	json                 bool
	newest               bool   // go on with the newest session of the folder
	session              string // go on with this session: an id, or its beginning
	log                  logFlags
}

func runCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] PROMPT",
		Short: "Run one prompt in the current directory, without an editor",
		Example: "  hermes-ls run \"what does this project do?\"\n" +
			"  git diff | hermes-ls run --approve never -\n" +
			"  hermes-ls run --continue \"now add a test\"\n" +
			"  hermes-ls run --json \"fix the failing test\" > events.jsonl",
		Long: "The answer goes to stdout, progress to stderr. A PROMPT of - is read from stdin.\n" +
			"Exit code: 0 answered, 1 failed, 2 bad usage, 130 interrupted.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(fmt.Errorf("no prompt given: hermes-ls run \"what does main.go do?\""))
			}
			return flags.check()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := promptText(cmd.InOrStdin(), args)
			if err != nil {
				return err
			}
			typed := strings.Join(args, " ") != "-" || cli.Interactive(cmd)
			return runPrompt(cmd, flags, agent.Input{Text: prompt, Piped: !typed})
		},
	}
	cmd.Flags().StringVar(&flags.model, "model", "", "model `id` instead of the configured one")
	cmd.Flags().StringVar(&flags.approve, "approve", "ask", "approvals: `ask|never|always`; without a terminal, ask denies")
	cmd.Flags().StringVar(&flags.mode, "mode", "", "`mode` of the session: ask, careful, auto or plan")
	cmd.Flags().BoolVar(&flags.newest, "continue", false, "go on with the newest session of the folder")
	cmd.Flags().StringVar(&flags.session, "session", "", "go on with the session of this `id`, or of the beginning of one")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print one JSON event a line instead of the answer")
	flags.log.add(cmd.Flags(), "warn")
	return cmd
}

func (f runFlags) check() error {
	if f.approve != "ask" && f.approve != "never" && f.approve != "always" {
		return cli.OneOf("--approve", f.approve, "say ask, never or always", "ask", "never", "always")
	}
	if f.mode != "" && !slices.ContainsFunc(server.Modes(), func(m server.Choice) bool { return m.ID == f.mode }) {
		return cli.OneOf("--mode", f.mode, "say ask, careful, auto or plan", "ask", "careful", "auto", "plan")
	}
	if f.newest && f.session != "" {
		return usage(fmt.Errorf("--continue and --session name a session each; give one of them"))
	}
	return nil
}

func promptText(in io.Reader, args []string) (string, error) {
	text := strings.Join(args, " ")
	if text == "-" {
		data, err := io.ReadAll(in)
		if err != nil {
			return "", fmt.Errorf("reading the prompt from stdin: %w", err)
		}
		text = string(data)
	}
	if strings.TrimSpace(text) == "" {
		return "", usage(fmt.Errorf("the prompt is empty"))
	}
	return text, nil
}

func runPrompt(cmd *cobra.Command, flags runFlags, prompt agent.Input) error {
	log, done, err := flags.log.open(cmd, knownSecrets())
	if err != nil {
		return err
	}
	defer done()
	if err := proc.Harden(); err != nil {
		log.Warn("this process may be readable by its children", "err", err)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	service := app.New(server.Options{Home: config.Home(os.Environ()), Version: version(), Log: log})
	defer service.Close()
	service.SetInit(flags.overrides())
	cwd, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the current directory: %w", err)
	}
	host := newTerminalHost(cmd, flags)
	host.cwd = cwd
	session, err := flags.open(ctx, service, cwd, host)
	if err != nil {
		return host.failed(err)
	}
	if flags.mode != "" {
		if err := session.SetMode(ctx, flags.mode); err != nil {
			return host.failed(err)
		}
	}
	reason, err := session.Prompt(ctx, prompt, nil)
	return outcome(ctx, host, session.ID(), reason, err)
}

// open opens the session of the prompt: a new one, or the one that the flags name.
func (f runFlags) open(ctx context.Context, service *server.Service, cwd string, host server.Host) (*server.Session, error) {
	if !f.newest && f.session == "" {
		return service.NewSession(ctx, server.Place{Cwd: cwd}, host)
	}
	head, err := f.stored(ctx, service.Store(), cwd)
	if err != nil {
		return nil, err
	}
	session, err := service.LoadSession(ctx, head.ID, server.Place{Cwd: cwd, Folders: head.Folders}, host)
	if err == nil && f.model != "" && head.Preferred != "" { // a model chosen for the session precedes the configured one
		err = session.SetOption(ctx, "model", f.model)
	}
	return session, err
}

// stored returns the stored session that the flags name.
func (f runFlags) stored(ctx context.Context, sessions *store.Store, cwd string) (store.Session, error) {
	if f.newest {
		page, _, err := sessions.List(ctx, store.Filter{Cwd: cwd, NoSubagents: true, Limit: 1})
		if err == nil && len(page) == 0 {
			err = fmt.Errorf("there is no session of %s to go on with. Leave out --continue to start one", cwd)
		}
		if err != nil {
			return store.Session{}, err
		}
		return page[0], nil
	}
	id, err := sessions.Resolve(ctx, f.session)
	if errors.Is(err, store.ErrNotFound) {
		return store.Session{}, usage(fmt.Errorf("there is no session %q; hermes-ls sessions list names those there are", f.session))
	}
	if err != nil {
		return store.Session{}, err
	}
	return sessions.Session(ctx, id)
}

func outcome(ctx context.Context, host *terminalHost, id string, reason agent.StopReason, err error) error {
	if ctx.Err() != nil {
		host.ended(id, agent.Cancelled)
		return &cli.Exit{Code: cli.Interrupted}
	}
	if err != nil {
		return host.failed(err)
	}
	host.ended(id, reason)
	if host.refused { // the output says why
		return &cli.Exit{Code: cli.Failed}
	}
	if reason == agent.EndTurn && !host.answered {
		return fmt.Errorf("the model gave no answer")
	}
	if reason != agent.EndTurn {
		return fmt.Errorf("the answer is not complete: the turn ended with %s", reason)
	}
	return nil
}

// overrides returns the flags as the source of the configuration with the highest
// precedence.
func (f runFlags) overrides() json.RawMessage {
	tree := map[string]any{}
	if f.model != "" {
		tree["model"] = map[string]any{"default": f.model}
	}
	if f.approve == "always" {
		tree["approvals"] = map[string]any{"mode": "off"}
	}
	data, err := json.Marshal(tree)
	if err != nil {
		panic(err) // plain strings
	}
	return data
}

// canAsk reports whether a user can answer questions.
func canAsk(flags runFlags) bool {
	return flags.approve == "ask" && term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd()))
}
