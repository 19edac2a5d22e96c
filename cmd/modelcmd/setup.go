package modelcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/cmd/cli"
	"github.com/hermes-ls/hermes-ls/cmd/editors"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/config/catalog"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// Setup returns the command setup.
func Setup() *cobra.Command {
	editor := ""
	cmd := &cobra.Command{
		Use: "setup", Short: "Choose a provider, enter its key, choose a model and test it", Args: cli.NoArgs,
		Long: "Asks in a terminal. Writes the key to .env, which only you can read, and the model to config.yaml.\n" +
			"Then shows how to set up the editors on this machine.",
		Example: "  hermes-ls setup",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a := newAsker(cmd)
			if a.terminal < 0 {
				return cli.Usage(errors.New("use `hermes-ls model set PROVIDER/MODEL` and put the key into .env"))
			}
			a.editor = editor
			return setup(cmd.Context(), config.Home(os.Environ()), os.Environ(), a)
		},
	}
	cmd.Flags().StringVar(&editor, "editor", "", "end with the next step in this editor only, such as neovim")
	return cmd
}

// setup asks for a provider, its key and a model, and tests the model before it writes anything.
func setup(ctx context.Context, home string, environ []string, a *asker) error {
	now := app.Config().Load(home, config.Options{Environ: environ})
	provider, err := chooseProvider(home, now, a)
	if err != nil {
		return err
	}
	base := ""
	table, known := catalog.Find(provider)
	baseKey, question := "providers."+provider+".base_url", "Your address at "+provider+": "
	if provider == "custom" {
		table, baseKey, question = catalog.Provider{Keys: []string{config.KeyName(provider)}, NoKey: true}, "model.base_url", "Address of the endpoint (…/v1): "
	}
	if provider == "custom" || known && table.BaseURL == "" && now.Providers[provider].BaseURL == "" {
		if base, err = a.address(question); err != nil {
			return err
		}
	}
	t := trial{home: home, environ: environ, provider: provider, base: base, usual: cmp.Or(table.Model, now.Model.Default), listed: table.Model}
	if len(table.Keys) > 0 {
		t.keyName = table.Keys[0]
		if t.key, err = a.secret(fmt.Sprintf("Key (%s, it is not shown; empty: the one that is set): ", t.keyName)); err != nil {
			return err
		}
	} else if t.keyName = now.Providers[provider].KeyEnv; t.keyName == "" {
		t.keyName = config.KeyName(provider)
	}
	question = strings.TrimSpace(question) + " "
	if err := t.passes(ctx, a, base != "", question); err != nil {
		return err
	}
	key, id := t.key, t.id
	base = t.base

	if key != "" {
		if err := config.SetKey(home, t.keyName, key); err != nil {
			return fmt.Errorf("storing the key: %w", err)
		}
	}
	changes := [][2]string{{"model.provider", provider}, {"model.default", id}}
	if base != "" {
		changes = append(changes, [2]string{baseKey, base})
	}
	if now.Model.BaseURL != "" && provider != "custom" {
		changes = append(changes, [2]string{"model.base_url", ""})
	}
	if err := writeSettings(home, changes); err != nil {
		return err
	}
	fmt.Fprintf(a.out, "It works. New sessions use %s/%s.\n", provider, id)
	if e, ok := editors.Named(a.editor); ok {
		fmt.Fprintf(a.out, "\n%s:\n  %s\n", e.Name, e.Ask)
		return nil
	}
	fmt.Fprint(a.out, "\nTerminal:\n  hermes-ls run \"what does this project do?\"\n")
	editors.Show(a.out, editors.Found())
	return nil
}

// trial is a provider with a key and a model, tested before anything is written.
type trial struct {
	home, provider, base string
	environ              []string
	keyName, key         string // the variable of the key, and the key; "": the key already set
	usual, listed        string // the model of the table, or the configured model; the model of the table
	id                   string // the chosen model
}

// load loads the configuration as it would be.
func (t *trial) load(id string) *config.Loaded {
	environ := t.environ
	if t.key != "" {
		environ = append(slices.Clip(environ), t.keyName+"="+t.key)
	}
	return loadAt(t.home, environ, t.provider, id, t.base)
}

// passes asks for a model and tests it. If the key was refused, it asks for the key again. If there
// is nothing at an entered address, it asks for the address again. Without another answer, it
// returns the failure.
func (t *trial) passes(ctx context.Context, a *asker, entered bool, question string) error {
	for {
		err := t.try(ctx, a)
		if err == nil {
			return nil
		}
		failure := fmt.Errorf("%s. Nothing was written", strings.TrimSuffix(err.Error(), "."))
		failed := new(model.Error)
		if !errors.As(err, &failed) {
			return failure
		}
		var again error
		switch refused := failed.Kind == model.ErrAuth || failed.Kind == model.ErrNoKey; {
		case refused && t.keyName != "":
			fmt.Fprintf(a.out, "%s\n", err)
			t.key, again = a.secret(fmt.Sprintf("Key (%s, it is not shown): ", t.keyName))
		case failed.Kind == model.ErrDown && entered:
			fmt.Fprintf(a.out, "%s\n", err)
			t.base, again = a.address(question)
			t.id = "" // another address has other models
		default:
			return failure
		}
		if again != nil {
			return failure
		}
	}
}

// try asks for a model, if none is chosen yet, and tests it.
func (t *trial) try(ctx context.Context, a *asker) (err error) {
	if t.id == "" {
		if t.id, err = chooseModel(ctx, t.load(t.usual), t.provider, t.listed, a); err != nil {
			return err
		}
	}
	e, err := t.load(t.id).ProviderEndpoint(t.provider, t.id)
	if err != nil {
		return err
	}
	fmt.Fprintf(a.out, "Testing %s/%s at %s…\n", t.provider, t.id, e.BaseURL)
	if result := testModel(ctx, e); !result.OK {
		return result.Checks.err
	}
	return nil
}

// loadAt loads the configuration as it would be with a provider, a model, and an address of the provider if it is not empty.
func loadAt(home string, environ []string, provider, id, base string) *config.Loaded {
	set := map[string]any{"model": map[string]any{"provider": provider, "default": id, "base_url": ""}}
	switch {
	case provider == "custom":
		set["model"].(map[string]any)["base_url"] = base
	case base != "":
		set["providers"] = map[string]any{provider: map[string]any{"base_url": base}}
	}
	init, _ := json.Marshal(set) // texts can be encoded
	return app.Config().Load(home, config.Options{Environ: environ, Init: init})
}

// writeSettings writes keys and values to config.yaml, in order.
func writeSettings(home string, changes [][2]string) error {
	for _, c := range changes {
		if err := app.Config().Set(home, c[0], c[1]); err != nil {
			return err
		}
	}
	return nil
}

// chooseProvider asks for a provider with a supported setup.
func chooseProvider(home string, now *config.Loaded, a *asker) (string, error) {
	names := slices.DeleteFunc(now.ProviderNames(), func(name string) bool { return name == "auto" || name == "embedded" })
	if provider, ok, err := a.choose("Provider", providerEntries(names), "openai", false); ok {
		return provider, err
	}
	fmt.Fprintf(a.out, "Providers: %s.\n(custom is any endpoint with OpenAI's Chat Completions.)\n", strings.Join(names, ", "))
	for {
		provider, err := a.line("Provider [openai]: ")
		if err != nil {
			return "", err
		}
		if provider = cmp.Or(provider, "openai"); slices.Contains(names, provider) {
			return provider, nil
		}
		meant := ""
		if similar := cli.Nearest(provider, names); similar != "" {
			meant = " Did you mean " + similar + "?"
		}
		fmt.Fprintf(a.out, "%q is no provider.%s Enter one of those above, or add another one under providers in %s.\n", provider, meant, config.Path(home))
	}
}

// address asks for an endpoint until the answer is an address. If it has no scheme, it is completed
// with http://.
func (a *asker) address(question string) (string, error) {
	for {
		base, err := a.line(question)
		if err != nil {
			return "", err
		}
		whole := base
		if !strings.Contains(base, "://") {
			whole = "http://" + base
		}
		if u, err := url.Parse(whole); err == nil && u.Hostname() != "" && (u.Scheme == "http" || u.Scheme == "https") && !strings.ContainsAny(base, " \t") {
			return whole, nil
		}
		fmt.Fprintf(a.out, "%q is no address. It is like http://localhost:8080/v1.\n", base)
	}
}

const mostShown = 40 // models

// chooseModel lists the models of a provider and asks for a model. If the provider has no list, it
// only asks.
func chooseModel(ctx context.Context, loaded *config.Loaded, provider, usual string, a *asker) (string, error) {
	models, err := List(ctx, loaded, provider)
	unlisted := NoList(err)
	if err != nil && !unlisted {
		return "", err
	}
	if unlisted {
		fmt.Fprintln(a.out, "This address has no list of models. Enter the id of one.")
	}
	ids := make([]string, len(models))
	for i, m := range models {
		ids[i] = m.ID
	}
	if !unlisted && !slices.Contains(ids, usual) {
		usual = ""
	}
	if usual == "" && len(ids) > 0 {
		usual = ids[0]
	}
	if id, ok, err := a.choose("Model", entriesOf(models), usual, true); ok {
		return strings.TrimPrefix(id, provider+"/"), err
	}
	printModels(a.out, models[:min(mostShown, len(models))])
	if more := len(models) - mostShown; more > 0 {
		fmt.Fprintf(a.out, "… and %d more; `hermes-ls model list --provider %s` shows all.\n", more, provider)
	}
	question := "Model: "
	if usual != "" {
		question = fmt.Sprintf("Model [%s]: ", cli.Plain(usual))
	}
	id, err := a.line(question)
	if err != nil {
		return "", err
	}
	id = strings.TrimPrefix(cmp.Or(id, usual), provider+"/")
	if id == "" {
		return "", errors.New("no model was named")
	}
	return id, nil
}
