package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Route selects the model of a subagent and its endpoint. An empty field is as in the session. A
// key is sent only to the endpoint of its own route.
type Route struct {
	Model    string `json:"model" doc:"Model of the route. Empty: the session's."`
	Provider string `json:"provider" enum:",openai,openrouter,ollama,lmstudio,custom,embedded" guard:"no subagent uses it" doc:"Provider of the route. Empty: custom if base_url is set, else the session's."`
	BaseURL  string `json:"base_url" doc:"Endpoint of the route. Empty: the provider's or the session's."`
	APIKey   Keys   `json:"api_key" doc:"A key or a list of keys. It is sent only to this endpoint."`
}

// ChildEndpoints returns the endpoints of subagents, in the order in which they are tried: those of
// the named route, or, without a name, of the section delegation. If nothing is configured, it
// returns nil and no error: subagents use the session's model.
func (l *Loaded) ChildEndpoints(route string) ([]Endpoint, error) {
	d := l.Delegation
	section, r := "delegation", Route{d.Model, d.Provider, d.BaseURL, d.APIKey}
	if route != "" {
		section = "delegation.routes." + route
		var err error
		if r, err = l.route(route); err != nil {
			return nil, err
		}
	}
	if r.Model == "" && r.Provider == "" && r.BaseURL == "" && len(r.APIKey) == 0 {
		return nil, nil
	}
	out, err := l.childEndpoint(section, r)
	if err != nil {
		return nil, err
	}
	return []Endpoint{out}, nil
}

// Routes returns the names of the routes, sorted.
func (l *Loaded) Routes() []string { return slices.Sorted(maps.Keys(l.Delegation.Routes)) }

func (l *Loaded) route(name string) (Route, error) {
	r, there := l.Delegation.Routes[name]
	if !there {
		known := "none is configured (delegation.routes)"
		if names := l.Routes(); len(names) > 0 {
			known = "there are " + strings.Join(names, ", ")
		}
		return r, fmt.Errorf("no route is named %q; %s", name, known)
	}
	if r.empty() {
		return r, fmt.Errorf("delegation.routes.%s %s", name, emptyRoute)
	}
	return r, nil
}

const emptyRoute = "names neither a model nor an endpoint"

func (r Route) empty() bool { return r.Model == "" && r.Provider == "" && r.BaseURL == "" }

// checkRoutes reports routes that cannot be used, so that the user learns of them before a task
// does. line returns where a key is written.
func (l *Loaded) checkRoutes(line func(key string) (source string, line int)) {
	d := l.Delegation
	all := map[string]Route{"delegation": {d.Model, d.Provider, d.BaseURL, d.APIKey}}
	for name, r := range d.Routes {
		all["delegation.routes."+name] = r
	}
	for _, section := range slices.Sorted(maps.Keys(all)) {
		r, text := all[section], ""
		switch {
		case r.empty() && section != "delegation":
			text = section + " " + emptyRoute + "; a task that names it is rejected"
		case r.Provider != "" || r.BaseURL != "":
			if _, err := l.childEndpoint(section, r); err != nil && !errors.Is(err, ErrProvider) { // that is already reported
				problem, _, _ := strings.Cut(err.Error(), ". ") // the rest is about the session's model
				text = problem + "; subagents that use it are rejected"
			}
		}
		if text != "" {
			source, at := line(section)
			l.problem(source, at, text)
		}
	}
}

func (l *Loaded) childEndpoint(section string, r Route) (Endpoint, error) {
	parent, failed := l.endpoint()
	m := Model{Default: firstOf(r.Model, parent.Model, l.Model.Default), Provider: r.Provider, BaseURL: r.BaseURL, APIKey: r.APIKey}
	if r.Provider == "" && r.BaseURL == "" { // the parent's endpoint
		if failed != nil {
			return Endpoint{}, failed
		}
		parent.Model = m.Default
		if len(r.APIKey) > 0 {
			parent.Keys = r.APIKey
		}
		if r.Model != "" && r.Model != l.Model.Default {
			parent.Window = 0 // the configured one is of another model
		}
		return parent, nil
	}
	if m.Provider == "" {
		m.Provider = "custom"
	}
	if len(m.APIKey) == 0 && failed == nil && strings.TrimRight(firstOf(m.BaseURL, providerOf(m.Provider).baseURL), "/") == parent.BaseURL {
		m.APIKey = parent.Keys // the same endpoint
	}
	out, err := l.resolve(section, m)
	if out.Provider == "custom" && len(m.APIKey) == 0 {
		out.Keys = nil // HERMES_API_KEY belongs to model.base_url
	}
	return out, err
}
