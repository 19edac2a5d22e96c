package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/config/catalog"
)

// Routes are the models of a section: its own model, and named models.
type Routes struct {
	Own   Route
	Named map[string]Route
}

// Route selects a model other than the session's, and its endpoint. Empty fields are the session's.
// A key is sent only to the endpoint of its route.
type Route struct {
	Model    string `json:"model" doc:"Model of the route. Empty: the session's."`
	Provider string `json:"provider" provider:"yes" guard:"no subagent uses it" doc:"Provider of the route. Empty: custom if base_url is set, else the session's."`
	BaseURL  string `json:"base_url" doc:"Endpoint of the route. Empty: the provider's or the session's."`
	APIKey   Keys   `json:"api_key" doc:"A key or a list of keys. It is sent only to this endpoint."`
}

// routesOf returns the routes of a section. If there are none, it returns the zero value.
func (l *Loaded) routesOf(section string) Routes {
	routes := l.schema.routes[section]
	if routes == nil {
		return Routes{}
	}
	settings := reflect.New(reflect.TypeOf(l.schema.defaults[section]))
	l.Section(section, settings.Interface())
	return routes(settings.Elem().Interface())
}

// RouteEndpoints returns the endpoints of the named route of a section, in the order they are
// tried. Without a name, it returns the section's own endpoints. If nothing is configured, it
// returns nil and no error: the session's model is used.
func (l *Loaded) RouteEndpoints(section, name string) ([]Endpoint, error) {
	all := l.routesOf(section)
	r := all.Own
	if name != "" {
		var there bool
		if r, there = all.Named[name]; !there {
			known := "none is configured (" + section + ".routes)"
			if names := slices.Sorted(maps.Keys(all.Named)); len(names) > 0 {
				known = "there are " + strings.Join(names, ", ")
			}
			return nil, fmt.Errorf("no route is named %q; %s", name, known)
		}
		section += ".routes." + name
		if r.empty() {
			return nil, fmt.Errorf("%s %s", section, emptyRoute)
		}
	}
	if r.empty() && len(r.APIKey) == 0 {
		return nil, nil
	}
	out, err := l.routeEndpoint(section, r)
	if err != nil {
		return nil, err
	}
	return []Endpoint{out}, nil
}

const emptyRoute = "names neither a model nor an endpoint"

func (r Route) empty() bool { return r.Model == "" && r.Provider == "" && r.BaseURL == "" }

// checkRoutes reports unusable routes before a task needs them. line returns where a key is
// written.
func (l *Loaded) checkRoutes(line func(key string) (source string, line int)) {
	all, own := map[string]Route{}, map[string]bool{}
	for name := range l.schema.routes {
		routes := l.routesOf(name)
		all[name], own[name] = routes.Own, true
		for route, r := range routes.Named {
			all[name+".routes."+route] = r
		}
	}
	for _, section := range slices.Sorted(maps.Keys(all)) {
		if key, text := l.routeProblem(section, all[section], own[section]); text != "" {
			source, at := line(key)
			l.problem(source, at, text)
		}
	}
}

// routeProblem returns the reason why a route is unusable, and the key at fault. For a usable
// route, text is empty. own is set for a section's own route, which may be empty.
func (l *Loaded) routeProblem(section string, r Route, own bool) (key, text string) {
	if r.empty() && !own {
		return section, section + " " + emptyRoute + "; a task that names it is rejected"
	}
	if r.Provider == "" && r.BaseURL == "" {
		return "", ""
	}
	if known := knownProviders(l.Providers); r.Provider != "" && !slices.Contains(known, r.Provider) {
		key = section + ".provider"
		return key, fmt.Sprintf("%s is %s, which is not known; known are %s. Until then no subagent uses it", key, shown(r.Provider), strings.Join(known, ", "))
	}
	_, err := l.routeEndpoint(section, r)
	if err == nil || errors.Is(err, ErrProvider) { // the session's provider is reported there
		return "", ""
	}
	problem := withoutSteps(err) // they are for the session's model
	return section, problem + "; subagents that use it are rejected"
}

func (l *Loaded) routeEndpoint(section string, r Route) (Endpoint, error) {
	parent, failed := l.endpoint()
	m := Model{Default: firstOf(r.Model, parent.Model, l.Model.Default), Provider: r.Provider, BaseURL: r.BaseURL, APIKey: r.APIKey}
	if r.Provider == "" && r.BaseURL == "" { // the parent's endpoint
		if failed != nil {
			return Endpoint{}, failed
		}
		if name, id := l.Split(parent.Provider, m.Default); r.Model != "" && name != parent.Provider {
			m.Provider, m.Default = name, id
			return l.resolve(section, m)
		}
		if parent.Model != m.Default {
			parent.Model = m.Default
			l.addFacts(&parent, Model{MaxTokens: l.Model.MaxTokens})
		}
		if len(r.APIKey) > 0 {
			parent.Keys = r.APIKey
		}
		return parent, nil
	}
	if m.Provider == "" {
		m.Provider = "custom"
	}
	if m.BaseURL == "" {
		m.Provider, m.Default = l.Split(m.Provider, m.Default)
	}
	known, _ := catalog.Find(m.Provider)
	if len(m.APIKey) == 0 && failed == nil && strings.TrimRight(firstOf(m.BaseURL, l.Providers[m.Provider].BaseURL, known.BaseURL), "/") == parent.BaseURL {
		m.APIKey = parent.Keys // the same endpoint
	}
	out, err := l.resolve(section, m)
	if out.Provider == "custom" && len(m.APIKey) == 0 {
		out.Keys = nil // HERMES_API_KEY belongs to model.base_url
	}
	return out, err
}
