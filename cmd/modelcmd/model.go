// Package modelcmd contains the subcommands model, setup and login, which list, test and choose
// models and store their keys.
package modelcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/config/catalog"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/server/models"
)

// New returns the command model. load reads the configuration.
func New(load func() *config.Loaded) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "model", Short: "List, test and choose models",
		Example: "  hermes-ls model list\n" +
			"  hermes-ls model test anthropic/claude-sonnet-4-6\n" +
			"  hermes-ls model set openai/gpt-5",
	}, listCommand(load), testCommand(load), setCommand(load))
}

// Listed is a model in the output of model list --json. An unknown value is 0 or null.
type Listed struct {
	Provider  string  `json:"provider"`
	ID        string  `json:"id"`
	API       string  `json:"api"`
	Window    int     `json:"context_window"`
	MaxOutput int     `json:"max_output"`
	Images    *bool   `json:"images"`
	Cost      *prices `json:"cost"`
}

// prices is in US dollars per million tokens.
type prices struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// listError is a provider whose models could not be listed.
type listError struct {
	Provider string `json:"provider"`
	Error    string `json:"error"`
	Status   int    `json:"status,omitempty"` // of HTTP, if the provider answered
}

func listCommand(load func() *config.Loaded) *cobra.Command {
	var provider, base string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the models of each provider that has a key", Args: cli.NoArgs,
		Long: "Asks the providers, which is free of charge. Other windows and prices are from config.yaml, else from a table.",
		Example: "  hermes-ls model list\n" +
			"  hermes-ls model list --provider openrouter --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			loaded := load()
			names := loaded.Configured()
			if provider != "" {
				if err := knownProvider(loaded, provider); err != nil {
					return err
				}
				names = []string{provider}
			}
			if base != "" {
				if provider == "" {
					return cli.Usage(errors.New("--base-url is the address of one provider; add --provider NAME"))
				}
				loaded = loadAt(config.Home(os.Environ()), os.Environ(), provider, "", base)
			}
			if len(names) == 0 {
				_, err := loaded.Endpoints()
				return err
			}
			models, failed := listAll(cmd.Context(), loaded, names)
			if asJSON {
				if err := cli.JSON(cmd.OutOrStdout(), map[string]any{"models": models, "errors": failed}); err != nil {
					return err
				}
			} else {
				printModels(cmd.OutOrStdout(), models)
				for _, f := range failed {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", f.Provider, f.Error)
				}
			}
			if len(failed) == len(names) {
				return &cli.Exit{Code: cli.Failed}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&provider, "provider", "", "only the models of this `provider`")
	cmd.Flags().StringVar(&base, "base-url", "", "ask at this `address` of the provider")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object with models and errors")
	return cmd
}

// knownProvider returns an error of the command line if the provider is not known.
func knownProvider(loaded *config.Loaded, name string) error {
	known := slices.DeleteFunc(loaded.ProviderNames(), func(n string) bool { return n == "auto" })
	if !slices.Contains(known, name) {
		return cli.Usage(fmt.Errorf("%q is no provider; there are %s", name, strings.Join(known, ", ")))
	}
	return nil
}

// listAll asks the providers at once.
func listAll(ctx context.Context, loaded *config.Loaded, names []string) (models []Listed, failed []listError) {
	lines, errs := make([][]Listed, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { lines[i], errs[i] = List(ctx, loaded, name) })
	}
	all.Wait()
	models, failed = []Listed{}, []listError{}
	for i, name := range names {
		models = append(models, lines[i]...)
		if errs[i] != nil {
			failed = append(failed, listError{name, errs[i].Error(), status(errs[i])})
		}
	}
	return models, failed
}

// List asks a provider for its models.
func List(ctx context.Context, loaded *config.Loaded, name string) ([]Listed, error) {
	if name == "embedded" {
		return []Listed{{Provider: name, ID: "embedded", API: "embedded"}}, nil
	}
	lists := models.Lists{Home: loaded.Home, Log: slog.New(slog.DiscardHandler)} // sessions offer them
	e, listed, err := lists.Fetch(ctx, loaded, name)
	if err != nil {
		return nil, err
	}
	out := make([]Listed, 0, len(listed))
	for _, m := range listed {
		out = append(out, completed(loaded, e, m))
	}
	return out, nil
}

// NoList reports whether a request for the models of a provider failed because the address has no list.
func NoList(err error) bool {
	return slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed}, status(err))
}

// status returns the HTTP status of an error, or 0.
func status(err error) int {
	if failed := new(model.Error); errors.As(err, &failed) {
		return failed.Status
	}
	return 0
}

// completed returns the line of a listed model. config.yaml takes precedence over the provider's
// list, and the list over the table.
func completed(loaded *config.Loaded, e config.Endpoint, m client.Listed) Listed {
	set := loaded.Providers[e.Provider].Models[m.ID]
	table, known := catalog.Lookup(e.Provider, m.ID)
	out := Listed{
		Provider: e.Provider, ID: m.ID, API: e.API,
		Window:    firstSet(set.ContextWindow, m.Window, table.Window),
		MaxOutput: firstSet(set.MaxOutput, m.MaxOutput, table.Output),
		Images:    set.Images,
	}
	if out.Images == nil {
		out.Images = m.Images
	}
	if out.Images == nil && known {
		out.Images = &table.Images
	}
	switch {
	case set.Cost != (config.Price{}):
		out.Cost = (*prices)(&set.Cost)
	case m.Price != nil:
		out.Cost = &prices{m.Price.Input, m.Price.Output, m.Price.CacheRead, m.Price.CacheWrite}
	case table.Price != nil:
		out.Cost = &prices{table.Price.Input, table.Price.Output, table.Price.CacheRead, table.Price.CacheWrite}
	}
	return out
}

func firstSet(numbers ...int) int {
	for _, n := range numbers {
		if n > 0 {
			return n
		}
	}
	return 0
}

// facts returns the window and the price of a model as texts.
func (m Listed) facts() (window, price string) {
	price = "no price known"
	if m.Window > 0 {
		window = amount.Comma(m.Window) + " tokens"
	}
	if m.Cost != nil {
		price = fmt.Sprintf("$%g in, $%g out", m.Cost.Input, m.Cost.Output)
	}
	return window, price
}

// entriesOf returns models as the lines of a menu.
func entriesOf(models []Listed) []entry {
	all := make([]entry, len(models))
	for i, m := range models {
		window, price := m.facts()
		all[i] = entry{m.ID, window + "  " + price}
	}
	return all
}

func printModels(out io.Writer, models []Listed) {
	table := tabwriter.NewWriter(out, 2, 0, 2, ' ', 0)
	for _, m := range models {
		window, price := m.facts()
		fmt.Fprintf(table, "%s\t%s\t%s\n", cli.Plain(m.Provider+"/"+m.ID), window, price)
	}
	_ = table.Flush()
}

func setCommand(load func() *config.Loaded) *cobra.Command {
	return &cobra.Command{
		Use: "set PROVIDER/MODEL", Short: "Choose the model of new sessions",
		Example: "  hermes-ls model set anthropic/claude-sonnet-4-6\n  hermes-ls model set openrouter/openai/gpt-5",
		Args:    func(cmd *cobra.Command, args []string) error { return cli.Usage(cobra.ExactArgs(1)(cmd, args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			loaded := load()
			provider, id, err := namedModel(loaded, args[0])
			if err != nil {
				return err
			}
			if other, _ := loaded.Split(provider, id); other != provider {
				id = args[0] // the id alone would name another provider
			}
			home := config.Home(os.Environ())
			if err := errors.Join(app.Config().Set(home, "model.provider", provider), app.Config().Set(home, "model.default", id)); err != nil {
				return err
			}
			if base := loaded.Model.BaseURL; base != "" && provider != loaded.Model.Provider {
				fmt.Fprintf(cmd.ErrOrStderr(), "model.base_url is still %s; remove it if that is not an address of %s.\n", base, provider)
			}
			return nil
		},
	}
}

// namedModel divides PROVIDER/MODEL. The provider must be known.
func namedModel(loaded *config.Loaded, name string) (provider, id string, err error) {
	provider, id, ok := strings.Cut(name, "/")
	if err := knownProvider(loaded, provider); err != nil {
		return "", "", err
	}
	if !ok || id == "" {
		return "", "", cli.Usage(fmt.Errorf("%q has no model; write PROVIDER/MODEL", name))
	}
	return provider, id, nil
}
