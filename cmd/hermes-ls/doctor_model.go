package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/cmd/modelcmd"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/config/catalog"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/server/models"
)

// modelFindings returns a line for the model, and a line for each configured provider. The requests
// are free of charge.
func modelFindings(ctx context.Context, loaded *config.Loaded) []cli.Finding {
	endpoints, err := loaded.Endpoints()
	if err != nil {
		return append([]cli.Finding{{State: cli.Fail, What: "model", Text: err.Error()}}, providerFindings(ctx, loaded, nil)...)
	}
	e := endpoints[0]
	if e.Provider == "embedded" {
		embedded := cli.Finding{State: cli.OK, What: "model", Text: "embedded: it plays scripts and is not a real model; run `hermes-ls setup` to set one up"}
		return append([]cli.Finding{embedded}, providerFindings(ctx, loaded, nil)...)
	}
	chosen := cli.Finding{State: cli.OK, What: "model", Text: fmt.Sprintf("%s of %s", e.Model, e.Provider)}
	if len(endpoints) > 1 {
		chosen.Text += fmt.Sprintf(", with %d more if it fails", len(endpoints)-1)
	}
	out := append([]cli.Finding{chosen}, windowFinding(ctx, e, loaded.Model.Profile)...)
	return append(out, providerFindings(ctx, loaded, endpoints)...)
}

// windowFinding returns a line for the context window in use and its source, and another if the
// server leaves tools out. If the server runs models, it is asked; no model is loaded.
func windowFinding(ctx context.Context, e config.Endpoint, profile string) []cli.Finding {
	m := client.New(client.Config{Endpoints: []client.Endpoint{models.Endpoint(e, nil, slog.New(slog.DiscardHandler))}})
	defer m.Close()
	m.Inspect(ctx)
	window := m.Window()
	text := fmt.Sprintf("context window of %s tokens (%s)", amount.Comma(window), m.WindowFrom())
	out := []cli.Finding{{State: cli.OK, What: "window", Text: text}}
	switch {
	case window < agent.LeastWindow:
		out[0] = cli.Finding{State: cli.Fail, What: "window", Text: fmt.Sprintf("%s: hermes-ls needs at least %s. %s", text, amount.Comma(agent.LeastWindow), agent.Enlarge)}
	case m.WindowFrom() == model.FromGuess:
		out[0].State = "note"
	case window < agent.SmallWindow && profile == "auto":
		out[0].Text += ", so sessions get the profile small"
	}
	if why := m.Tells(); why != "" {
		out = append(out, cli.Finding{State: cli.Note, What: "tools", Text: why})
	}
	return out
}

// providerFindings asks all configured providers at once. If the session's provider cannot be used,
// its line is a failure. chosen are the model and its fallbacks.
func providerFindings(ctx context.Context, loaded *config.Loaded, chosen []config.Endpoint) []cli.Finding {
	names := slices.DeleteFunc(loaded.Configured(), func(name string) bool { return name == "embedded" })
	out := make([]cli.Finding, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			out[i] = providerFinding(ctx, loaded, name, modelsOf(loaded, name, chosen), len(chosen) > 0 && name == chosen[0].Provider)
		})
	}
	all.Wait()
	if len(out) > 0 {
		out = append(out, cli.Finding{State: cli.OK, What: "prices", Text: "windows and prices that neither config.yaml nor the provider tells are from the program's table of " + catalog.Date()})
	}
	return out
}

// modelsOf returns the usable models of a provider: the session's, other tasks', and the models
// under providers. If there is none, it returns the default model for the provider's key.
func modelsOf(loaded *config.Loaded, provider string, chosen []config.Endpoint) []string {
	ids := []string{}
	add := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, task := range append([]string{""}, slices.Sorted(maps.Keys(loaded.Auxiliary))...) {
		if e, ok, _ := loaded.Small(task); ok {
			chosen = append(slices.Clip(chosen), e)
		}
	}
	for _, e := range chosen {
		if e.Provider == provider {
			add(e.Model)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(loaded.Providers[provider].Models)) {
		add(id)
	}
	if p, _ := catalog.Find(provider); len(ids) == 0 {
		add(p.Model)
	}
	return ids
}

const mostInDoctor = 5 // models of a provider

func providerFinding(ctx context.Context, loaded *config.Loaded, name string, ids []string, used bool) cli.Finding {
	bad := cli.Note
	if used {
		bad = cli.Fail
	}
	e, err := loaded.ProviderEndpoint(name, "")
	if err != nil {
		return cli.Finding{State: bad, What: "provider", Text: name + ": " + err.Error()}
	}
	host := e.BaseURL
	if u, err := url.Parse(e.BaseURL); err == nil {
		host = u.Host
	}
	parts := []string{fmt.Sprintf("%s: %s at %s", name, e.API, host), keyText(e)}
	listed, err := modelcmd.List(ctx, loaded, name)
	if modelcmd.NoList(err) {
		return cli.Finding{State: cli.Note, What: "provider", Text: strings.Join(parts, ", ") + ": it has no list of models. `hermes-ls model test` sends a request"}
	}
	if err != nil {
		return cli.Finding{State: bad, What: "provider", Text: strings.Join(parts, ", ") + ": " + err.Error()}
	}
	parts = append(parts, "answers with "+amount.Plural(len(listed), "model"))
	for _, id := range ids[:min(len(ids), mostInDoctor)] {
		parts = append(parts, listedText(loaded, e, id, listed))
	}
	switch more := len(ids) - mostInDoctor; {
	case more > 0:
		parts = append(parts, fmt.Sprintf("%d more models are configured", more))
	case len(ids) == 0:
		parts = append(parts, "no model of it is configured")
	}
	return cli.Finding{State: cli.OK, What: "provider", Text: strings.Join(parts, ", ")}
}

// keyText says where the key comes from, and never the key.
func keyText(e config.Endpoint) string {
	switch {
	case e.KeyFrom == "":
		return "no key"
	case len(e.Keys) > 1:
		return fmt.Sprintf("%d keys from %s", len(e.Keys), e.KeyFrom)
	default:
		return "key from " + e.KeyFrom
	}
}

// listedText says whether the provider lists the model, and whether its price is known.
func listedText(loaded *config.Loaded, e config.Endpoint, id string, models []modelcmd.Listed) string {
	i := slices.IndexFunc(models, func(m modelcmd.Listed) bool { return m.ID == id })
	listed, cost := "does not list "+id, false
	if i >= 0 {
		listed, cost = "lists "+id, models[i].Cost != nil
	}
	facts, known := catalog.Lookup(e.Provider, id)
	if cost || known && facts.Price != nil || loaded.Providers[e.Provider].Models[id].Cost != (config.Price{}) {
		return listed + ", price known"
	}
	return listed + ", price not known"
}
