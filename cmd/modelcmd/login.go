package modelcmd

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/config/catalog"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// Login returns the command login, which asks for a model's required settings. Editors run it in a
// terminal, also as `hermes-ls acp login`, because they append words to the command of the agent.
func Login() *cobra.Command {
	var provider string
	cmd := &cobra.Command{
		Use:     "login",
		Short:   "Choose the provider of the model, and store its key",
		Example: "  hermes-ls login\n  hermes-ls acp login",
		Long: "Asks who serves the model and for the key, and writes them to config.yaml and .env (readable for you alone).\n" +
			"Without a terminal the answers are read from stdin, a line each.",
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return login(cmd.Context(), config.Home(os.Environ()), provider, newAsker(cmd))
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "", "who serves the model, instead of being asked: "+strings.Join(loginProviders(), ", "))
	return cmd
}

// loginProviders returns the providers that need only a key, or no key.
func loginProviders() []string {
	names := []string{"openai", "openrouter", "custom", "ollama", "lmstudio"}
	for _, p := range catalog.Providers() {
		if p.BaseURL != "" && !slices.Contains(names, p.Name) {
			names = append(names, p.Name)
		}
	}
	return names
}

func login(ctx context.Context, home, provider string, a *asker) error {
	if provider == "" {
		var err error
		if provider, err = loginProvider(a); err != nil {
			return err
		}
	}
	if !slices.Contains(loginProviders(), provider) {
		return cli.Usage(fmt.Errorf("%q is no provider; there are %s", provider, strings.Join(loginProviders(), ", ")))
	}
	if err := loginAddress(home, provider, a); err != nil {
		return err
	}
	steps := []func(context.Context, string, string, *asker) error{loginModel, loginKey}
	if a.terminal >= 0 { // most endpoints list their models only with a key
		slices.Reverse(steps)
	}
	for _, step := range steps {
		if err := step(ctx, home, provider, a); err != nil {
			return err
		}
	}
	if err := app.Config().Set(home, "model.provider", provider); err != nil {
		return err
	}
	if _, err := app.Config().Load(home, config.Options{Environ: os.Environ()}).Endpoints(); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Done. Sessions use %s from now on; `hermes-ls doctor` tells whether it answers.\n", provider)
	return nil
}

// loginProvider asks who serves the model.
func loginProvider(a *asker) (string, error) {
	names := loginProviders()
	if provider, listed, err := a.choose("Provider", providerEntries(names), "openai", false); listed {
		return provider, err
	}
	fmt.Fprintf(a.out, "Who serves the model? There are %s.\n(custom is any OpenAI-compatible endpoint.)\n", strings.Join(names, ", "))
	provider, err := a.line("Provider [openai]: ")
	return cmp.Or(provider, "openai"), err
}

// loginKey asks for the key of a provider that has one, and stores it.
func loginKey(_ context.Context, home, provider string, a *asker) error {
	name := config.KeyName(provider)
	if name == "" {
		return nil
	}
	key, err := a.secret(fmt.Sprintf("Key (%s, it is not shown): ", name))
	if err != nil || key == "" && provider == "custom" {
		return err
	}
	if err := config.SetKey(home, name, key); err != nil {
		return fmt.Errorf("keeping the key: %w", err)
	}
	return nil
}

// loginAddress sets the address of a custom provider. It removes an earlier address for others.
func loginAddress(home, provider string, a *asker) error {
	now := app.Config().Load(home, config.Options{}).Model
	base := ""
	if provider == "custom" {
		var err error
		if base, err = a.address("Its address (…/v1): "); err != nil {
			return err
		}
	}
	if base != now.BaseURL {
		return app.Config().Set(home, "model.base_url", base)
	}
	return nil
}

// loginModel sets the model of all providers but openai.
func loginModel(ctx context.Context, home, provider string, a *asker) error {
	if provider == "openai" {
		return nil
	}
	now := app.Config().Load(home, config.Options{}).Model
	usual := now.Default
	if p, _ := catalog.Find(provider); p.Model != "" && provider != "openrouter" {
		usual = p.Model
	}
	name, err := askModel(ctx, home, provider, usual, a)
	if err != nil || name == "" && usual == now.Default {
		return err
	}
	return app.Config().Set(home, "model.default", cmp.Or(name, usual))
}

// askModel asks for the model. If the endpoint lists its models to a request with the key that
// is stored, the terminal shows the list.
func askModel(ctx context.Context, home, provider, usual string, a *asker) (string, error) {
	if a.terminal >= 0 {
		ctx, stop := context.WithTimeout(ctx, listWait)
		defer stop()
		models, err := List(ctx, app.Config().Load(home, config.Options{Environ: os.Environ()}), provider)
		if err == nil {
			if id, listed, err := a.choose("Model", entriesOf(models), usual, true); listed {
				return strings.TrimPrefix(id, provider+"/"), err
			}
		}
	}
	return a.line(fmt.Sprintf("Model [%s]: ", usual))
}

// listWait limits the wait for a list of models. Without it the model is asked for by name.
const listWait = 10 * time.Second

// asker asks questions on the input and output of the program.
type asker struct {
	in       *bufio.Reader
	out      io.Writer
	terminal int    // descriptor of in; negative if it is not a terminal
	editor   string // the editor that has started the program; empty: none
}

func newAsker(cmd *cobra.Command) *asker {
	a := &asker{in: bufio.NewReader(cmd.InOrStdin()), out: cmd.OutOrStdout(), terminal: -1}
	if f, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		a.terminal = int(f.Fd())
	}
	return a
}

func (a *asker) line(question string) (string, error) {
	fmt.Fprint(a.out, question)
	text, err := a.in.ReadString('\n')
	if err != nil && (!errors.Is(err, io.EOF) || text == "") {
		fmt.Fprintln(a.out)
		return "", &noAnswerError{err}
	}
	return strings.TrimSpace(text), nil
}

// noAnswerError is the error of a question without an answer.
type noAnswerError struct{ err error }

func (e *noAnswerError) Error() string { return "no answer: " + e.err.Error() }
func (e *noAnswerError) Unwrap() error { return e.err }

// secret is like line, but does not show the typed text.
func (a *asker) secret(question string) (string, error) {
	if a.terminal < 0 {
		return a.line(question)
	}
	fmt.Fprint(a.out, question)
	text, err := term.ReadPassword(a.terminal)
	fmt.Fprintln(a.out)
	if err != nil {
		return "", &noAnswerError{err}
	}
	return strings.TrimSpace(string(text)), nil
}
