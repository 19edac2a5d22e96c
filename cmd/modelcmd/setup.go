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
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/cmd/editors"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/config/catalog"
	"github.com/hermes-ls/hermes-ls/internal/spelling"
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

// setup asks for a provider, its key and a model, and tests the model before it writes anything. If
// the test fails, it tells why and asks again for the part that failed. It ends without an answer.
func setup(ctx context.Context, home string, environ []string, a *asker) error {
	now := app.Config().Load(home, config.Options{Environ: environ})
	var failure error // of the provider chosen before
	for {
		provider, err := chooseProvider(home, now, a)
		if err != nil {
			return cmp.Or(failure, err)
		}
		t, baseKey, err := askedTrial(home, environ, now, provider, a)
		if err == nil {
			failure, err = t.passes(ctx, a)
		}
		if err != nil {
			return err
		}
		if failure == nil {
			return t.write(now, baseKey, a)
		}
	}
}

// askedTrial asks for the address of a provider, if it is not known, and for its key.
func askedTrial(home string, environ []string, now *config.Loaded, provider string, a *asker) (t trial, baseKey string, err error) {
	table, known := catalog.Find(provider)
	baseKey, question := "providers."+provider+".base_url", "Your address at "+provider+": "
	if provider == "custom" {
		table, baseKey, question = catalog.Provider{Keys: []string{config.KeyName(provider)}, NoKey: true}, "model.base_url", "Address of the endpoint (…/v1): "
	}
	t = trial{home: home, environ: environ, provider: provider, question: question, usual: cmp.Or(table.Model, now.Model.Default), listed: table.Model}
	if provider == "custom" || known && table.BaseURL == "" && now.Providers[provider].BaseURL == "" {
		if t.base, err = a.address(question); err != nil {
			return t, "", err
		}
	}
	if len(table.Keys) > 0 {
		t.keyName = table.Keys[0]
		t.key, err = a.secret(fmt.Sprintf("Key (%s, it is not shown; empty: the one that is set): ", t.keyName))
	} else if t.keyName = now.Providers[provider].KeyEnv; t.keyName == "" {
		t.keyName = config.KeyName(provider)
	}
	return t, baseKey, err
}

// write stores what was tested. Then it shows the next steps.
func (t *trial) write(now *config.Loaded, baseKey string, a *asker) error {
	home, provider, base := t.home, t.provider, t.base
	key, id := t.key, t.id
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
	question             string // for the address
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

// unusableError is the error of a model that cannot be used. Another model of the endpoint may be usable.
type unusableError string

func (e unusableError) Error() string { return string(e) }

// passes asks for a model and tests it. If this fails because of the key, the entered address or the
// model, it tells so and asks again for this part. If another part is the cause, it tells so and
// returns the failure. Without an answer it returns err.
func (t *trial) passes(ctx context.Context, a *asker) (failure, err error) {
	for {
		err := t.try(ctx, a)
		if err == nil {
			return nil, nil
		}
		if noAnswer := new(noAnswerError); errors.As(err, &noAnswer) || ctx.Err() != nil {
			return nil, cmp.Or(failure, err)
		}
		fmt.Fprintf(a.out, "%s\n", strings.TrimSpace(err.Error()))
		failure = fmt.Errorf("%s. Nothing was written", strings.TrimRight(err.Error(), ". "))
		var again error
		switch t.cause(err) {
		case causeKey:
			t.key, again = a.secret(fmt.Sprintf("Key (%s, it is not shown): ", t.keyName))
		case causeAddress:
			t.base, again = a.address(t.question)
			t.id = "" // another address has other models
		case causeModel:
			t.id = ""
		default:
			return failure, nil
		}
		if again != nil {
			return nil, failure
		}
	}
}

// Causes of a failed test.
type cause int

const (
	causeOther cause = iota
	causeKey
	causeAddress
	causeModel
)

// cause returns the part of the answers that a failure is about.
func (t *trial) cause(err error) cause {
	var unusable unusableError
	failed := new(model.Error)
	switch {
	case errors.As(err, &unusable):
		return causeModel
	case !errors.As(err, &failed):
		return causeOther
	}
	switch failed.Kind {
	case model.ErrAuth, model.ErrNoKey, model.ErrCredit:
		if t.keyName != "" {
			return causeKey
		}
	case model.ErrModel, model.ErrTools, model.ErrPolicy, model.ErrOverflow, model.ErrEndless:
		return causeModel
	case model.ErrDown, model.ErrRequest, model.ErrGarbage, model.ErrStalled, model.ErrCut:
		if t.base != "" {
			return causeAddress
		}
	}
	return causeOther
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
		if similar := spelling.Nearest(provider, names); similar != "" {
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
		return "", unusableError("no model was named")
	}
	return id, nil
}
