package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChildEndpoints checks the endpoints of subagents. A key is never sent to another endpoint.
func TestChildEndpoints(t *testing.T) {
	t.Parallel()
	const parent = "model: {default: big, provider: custom, base_url: http://a.example/v1, api_key: A}\n"
	for name, tc := range map[string]struct {
		yaml, route string
		want        string // provider url model keys
		fails       string
	}{
		"nothing":             {"", "", "", ""},
		"model alone":         {"delegation: {model: small}", "", "custom http://a.example/v1 small A", ""},
		"key alone":           {"delegation: {api_key: B}", "", "custom http://a.example/v1 big B", ""},
		"other endpoint":      {"delegation: {base_url: http://b.example/v1}", "", "custom http://b.example/v1 big ", ""},
		"same endpoint":       {"delegation: {base_url: http://a.example/v1/, model: small}", "", "custom http://a.example/v1 small A", ""},
		"same host, path":     {"delegation: {base_url: http://a.example/other}", "", "custom http://a.example/other big ", ""},
		"own key":             {"delegation: {base_url: http://b.example/v1, api_key: B}", "", "custom http://b.example/v1 big B", ""},
		"provider":            {"delegation: {provider: openai, model: m}", "", "openai https://api.openai.com/v1 m O", ""},
		"provider, other url": {"delegation: {provider: openai, base_url: http://b.example/v1}", "", "custom http://b.example/v1 big ", ""},
		"provider, no key":    {"delegation: {provider: openrouter}", "", "", "OPENROUTER_API_KEY is not set"},
		"route":               {"delegation: {model: m, routes: {cheap: {model: tiny, base_url: http://c.example, api_key: [C, D]}}}", "cheap", "custom http://c.example tiny C D", ""},
		"unknown route":       {"delegation: {routes: {cheap: {model: tiny}, fast: {model: f}}}", "dear", "", "there are cheap, fast"},
		"no routes":           {"", "dear", "", "none is configured"},
		"misspelt":            {"delegation: {routes: {cheap: {modell: tiny}}}", "cheap", "", "neither"},
		"empty route":         {"delegation: {routes: {cheap: {}}}", "cheap", "", "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			write(t, Path(home), parent+tc.yaml+"\n")
			l := Load(home, Options{Environ: []string{"OPENAI_API_KEY=O", "HERMES_API_KEY=H"}})
			got, err := l.RouteEndpoints("delegation", tc.route)
			if tc.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tc.fails) {
					t.Errorf("error = %v, want %q in it", err, tc.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			said := ""
			for _, e := range got {
				said += e.Provider + " " + e.BaseURL + " " + e.Model + " " + strings.Join(e.Keys, " ")
			}
			if said != tc.want {
				t.Errorf("endpoint = %q, want %q (%v)", said, tc.want, l.Problems)
			}
		})
	}
}

// TestRouteProblems checks that reading the file reports a wrong route with its line.
func TestRouteProblems(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home), `model: {default: big, provider: ollama}
delegation:
  provider: openrouter
  routes:
    empty: {}
    keyed:
      api_key: SECRET
    misspelt:
      modell: tiny
    listed: [tiny]
    typed: {model: 3}
    odd:
      provider: opnai
      model: m
    nowhere: {provider: custom, model: m}
    a.b: {base_url: "ftp://x", model: m}
    good: {model: tiny}
    nothing:
`)
	var got []string
	for _, p := range Load(home, Options{Environ: []string{"PATH=/bin"}}).Problems {
		got = append(got, strings.TrimPrefix(p.String(), Path(home)))
	}
	all := strings.Join(got, "\n")
	for _, want := range []string{
		`:2: no key for openrouter at openrouter.ai: set providers.openrouter.api_key or key_env (OPENROUTER_API_KEY is not set)`,
		":5: delegation.routes.empty names neither a model nor an endpoint",
		":6: delegation.routes.keyed names neither",
		":9: delegation.routes.misspelt.modell is an unknown key (did you mean model?)",
		":8: delegation.routes.misspelt names neither",
		":10: delegation.routes.listed must hold keys, not the list given",
		":11: delegation.routes.typed.model must be text",
		`:13: delegation.routes.odd.provider is "opnai", which is not known`,
		":15: delegation.routes.nowhere.provider is custom but delegation.routes.nowhere.base_url is empty",
		`:16: delegation.routes.a.b.base_url "ftp://x" is no http(s) URL`,
		":18: delegation.routes.nothing must hold keys, not nothing",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("missing: %s", want)
		}
	}
	if strings.Contains(all, "good") || strings.Contains(all, "SECRET") || strings.Contains(all, "hermes-ls setup") {
		t.Error("too much is said")
	}
	if t.Failed() {
		t.Log(all)
	}
}

// TestModels checks which endpoints the names of models lead to.
func TestModels(t *testing.T) {
	t.Parallel()
	const all = "OPENAI_API_KEY=O\nANTHROPIC_API_KEY=A\nGEMINI_API_KEY=G\nGOOGLE_API_KEY=G2\nOPENROUTER_API_KEY=R\nMINE=M\nAZURE_OPENAI_API_KEY=Z"
	for name, tc := range map[string]struct {
		yaml, environ, choice string
		want                  []string // provider api url model keys
		problem               string
	}{
		"auto":                 {"", all, "", []string{"openai responses https://api.openai.com/v1 gpt-5 O"}, ""},
		"auto, other key":      {"", "ANTHROPIC_API_KEY=A", "", []string{"anthropic messages https://api.anthropic.com claude-sonnet-4-6 A"}, ""},
		"auto, key of config":  {"providers: {anthropic: {api_key: [x, y]}}", "OPENROUTER_API_KEY=R", "", []string{"anthropic messages https://api.anthropic.com claude-sonnet-4-6 x,y"}, ""},
		"two variables":        {"model: {provider: gemini, default: g}", all, "", []string{"gemini gemini https://generativelanguage.googleapis.com/v1beta g G2"}, ""},
		"prefix":               {"model: {default: anthropic/claude-x}", all, "", []string{"anthropic messages https://api.anthropic.com claude-x A"}, ""},
		"no prefix":            {"model: {provider: openrouter, default: anthropic/claude-x}", all, "", []string{"openrouter chat https://openrouter.ai/api/v1 anthropic/claude-x R"}, ""},
		"fallbacks":            {"model: {fallback: [gpt-x, anthropic/claude-x, {provider: openrouter, model: anthropic/claude-y}]}", all, "", []string{"openai responses https://api.openai.com/v1 gpt-5 O", "openai responses https://api.openai.com/v1 gpt-x O", "anthropic messages https://api.anthropic.com claude-x A", "openrouter chat https://openrouter.ai/api/v1 anthropic/claude-y R"}, ""},
		"fallback without key": {"model: {fallback: [anthropic/claude-x]}", "OPENAI_API_KEY=O", "", []string{"openai responses https://api.openai.com/v1 gpt-5 O"}, "no key for anthropic at api.anthropic.com: set providers.anthropic.api_key or key_env (ANTHROPIC_API_KEY is not set); this fallback is left out"},
		"new provider":         {"model: {provider: mine, default: m}\nproviders: {mine: {base_url: 'http://x.example/v1/', key_env: MINE}}", all, "", []string{"mine chat http://x.example/v1 m M"}, ""},
		"by its path":          {"model: {provider: mine, default: m}\nproviders: {mine: {base_url: 'http://x.example/anthropic'}}", all, "", []string{"mine messages http://x.example/anthropic m "}, ""},
		"elsewhere":            {"model: {provider: anthropic, default: m}\nproviders: {anthropic: {base_url: 'https://x.example'}}", all, "", nil, "no key for anthropic at x.example: set providers.anthropic.api_key or key_env"},
		"on this machine":      {"model: {provider: anthropic, default: m}\nproviders: {anthropic: {base_url: 'http://127.0.0.1:80'}}", all, "", []string{"anthropic messages http://127.0.0.1:80 m "}, ""},
		"azure":                {"model: {provider: azure, default: m}\nproviders: {azure: {base_url: 'https://me.openai.azure.com/openai/v1'}}", all, "", []string{"azure responses https://me.openai.azure.com/openai/v1 m Z"}, ""},
		"azure elsewhere":      {"model: {provider: azure, default: m}\nproviders: {azure: {base_url: 'https://openai.azure.com.example/v1'}}", all, "", nil, "no key for azure at openai.azure.com.example"},
		"azure without url":    {"model: {provider: azure, default: m}", all, "", nil, "providers.azure.base_url is empty"},
		"of Hermes Agent": {`model: {provider: "custom:mine", default: m, context_length: 9000}
custom_providers: [{name: mine, base_url: "http://x.example/v1", key_env: MINE, api_mode: anthropic_messages}]
fallback_providers: [{provider: anthropic, model: c}, {provider: other, model: o, base_url: "http://o.example/v1", api_key: K}]
display: {skin: x}
agent: {max_turns: 3}
tts: {}
_config_version: 12`, all, "", []string{"mine messages http://x.example/v1 m M", "anthropic messages https://api.anthropic.com c A", "other chat http://o.example/v1 o K"}, ""},
		"of Hermes Agent, plain": {"model: gpt-x", all, "", []string{"openai responses https://api.openai.com/v1 gpt-x O"}, ""},
		"chosen":                 {"model: {fallback: [b]}\nproviders: {mine: {base_url: 'http://x.example/v1', models: {c: {}}}}", all, "mine/c", []string{"mine chat http://x.example/v1 c ", "openai responses https://api.openai.com/v1 gpt-5 O", "openai responses https://api.openai.com/v1 b O"}, ""},
		"chosen fallback":        {"model: {fallback: [b, c]}", all, "c", []string{"openai responses https://api.openai.com/v1 c O", "openai responses https://api.openai.com/v1 gpt-5 O", "openai responses https://api.openai.com/v1 b O"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			write(t, Path(home), tc.yaml+"\n")
			l := Load(home, Options{Environ: strings.Split(tc.environ, "\n")})
			got, err := l.EndpointsFrom(tc.choice)
			text := ""
			for _, p := range l.Problems {
				text += p.Text + "\n"
			}
			if err != nil {
				text += err.Error()
			}
			if (text == "") != (tc.problem == "") || !strings.Contains(text, tc.problem) {
				t.Errorf("problems %q, want %q", text, tc.problem)
			}
			var have []string
			for _, e := range got {
				have = append(have, strings.Join([]string{e.Provider, e.API, e.BaseURL, e.Model, strings.Join(e.Keys, ",")}, " "))
			}
			if strings.Join(have, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(tc.want, "\n"))
			}
		})
	}
}

// TestRepositoryModels checks a repository's choices: models configured by the user, or names at
// the user's provider.
func TestRepositoryModels(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ user, repo, model, child, problem string }{
		"another id":              {"model: {provider: openai}", "model: {default: gpt-x}\ndelegation: {model: gpt-y}", "openai gpt-x", "openai gpt-y", ""},
		"another provider":        {"model: {provider: openai}", "model: {default: anthropic/claude-x}", "openai gpt-5", "", "model.default is ignored: a repository may not choose a model of anthropic"},
		"another provider, auto":  {"", "model: {default: anthropic/claude-x}", "openai gpt-5", "", "model.default is ignored"},
		"configured":              {"model: {fallback: [anthropic/claude-x]}", "model: {default: anthropic/claude-x}", "anthropic claude-x", "", ""},
		"listed":                  {"providers: {anthropic: {models: {claude-x: {}}}}", "model: {default: anthropic/claude-x}", "anthropic claude-x", "", ""},
		"another than the user's": {"model: {default: anthropic/claude-y}", "delegation: {model: openai/gpt-x}", "anthropic claude-y", "", "delegation.model is ignored: a repository may not choose a model of openai"},
		"of the user's provider":  {"model: {default: anthropic/claude-y}", "delegation: {model: claude-x}", "anthropic claude-y", "anthropic claude-x", ""},
		"a subagent's":            {"", "delegation: {model: anthropic/claude-x}", "openai gpt-5", "", "delegation.model is ignored"},
		"the user's subagents":    {"delegation: {model: anthropic/claude-x}", "", "openai gpt-5", "anthropic claude-x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, folder := t.TempDir(), t.TempDir()
			write(t, Path(home), tc.user+"\n")
			if err := os.Mkdir(filepath.Join(folder, ".hermes"), 0o755); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(folder, ".hermes", "config.yaml"), tc.repo+"\n")
			l := Load(home, Options{Environ: []string{"OPENAI_API_KEY=O", "ANTHROPIC_API_KEY=A"}, Folders: []string{folder}})
			first, err := l.Endpoints()
			if err != nil || first[0].Provider+" "+first[0].Model != tc.model {
				t.Errorf("the model is %+v, %v; want %s", first, err, tc.model)
			}
			child, err := l.RouteEndpoints("delegation", "")
			got := ""
			if len(child) > 0 {
				got = child[0].Provider + " " + child[0].Model
			}
			if err != nil || got != tc.child {
				t.Errorf("the subagents' is %q, %v; want %q", got, err, tc.child)
			}
			if text := fmt.Sprint(l.Problems); (len(l.Problems) > 0) != (tc.problem != "") || !strings.Contains(text, tc.problem) {
				t.Errorf("problems %s, want %q", text, tc.problem)
			}
		})
	}
}

// A dollar sign in a header is a part of the value, except in ${NAME}.
func TestHeaders(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home), "model: {provider: mine, default: m}\nproviders: {mine: {base_url: 'http://x.example', headers: {a: 'x$HOME-${TEAM}$', b: '${NONE}'}}}\n")
	got, err := Load(home, Options{Environ: []string{"TEAM=t1", "HOME=/h"}}).Endpoints()
	if err != nil || got[0].Headers["a"] != "x$HOME-t1$" || got[0].Headers["b"] != "" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestFallbackOfAnotherProvider checks that PROVIDER/MODEL names a provider even if the first
// model's is unknown.
func TestFallbackOfAnotherProvider(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home), `
model: {provider: mine, default: openai/gpt-x, fallback: [openai/gpt-y, other/z, openai/gpt-listed, plain]}
providers: {mine: {base_url: "http://127.0.0.1:1/v1", models: {openai/gpt-listed: {}}}, other: {base_url: "http://127.0.0.1:2/v1"}}
`)
	all, err := Load(home, Options{Environ: []string{"OPENAI_API_KEY=O"}}).Endpoints()
	var names []string
	for _, e := range all {
		names = append(names, e.Name())
	}
	if got, want := strings.Join(names, " "), "mine/openai/gpt-x openai/gpt-y other/z mine/openai/gpt-listed mine/plain"; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// TestModelNames checks the names that a session can choose, and the meaning of a bare id.
func TestModelNames(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	write(t, Path(home), `
model: {provider: anthropic, default: claude-a, fallback: [claude-b, openrouter/openai/gpt-x, {provider: mine, model: x/y}], small: gemini/g}
auxiliary: {approval: {provider: auto, model: claude-c, timeout: 3}, compression: {provider: mine, model: ""}}
providers: {mine: {base_url: "http://127.0.0.1:1/v1", models: {claude-a: {}, x/y: {context_window: 1000}}}}
`)
	l := Load(home, Options{Environ: []string{"ANTHROPIC_API_KEY=A", "GEMINI_API_KEY=G"}})
	names := l.ModelNames()
	if got, want := strings.Join(names, " "), "anthropic/claude-a anthropic/claude-b openrouter/openai/gpt-x mine/x/y mine/claude-a"; got != want {
		t.Errorf("names %s, want %s", got, want)
	}
	for name, want := range map[string]string{
		"claude-b": "anthropic/claude-b", "claude-a": "", "mine/claude-a": "mine/claude-a", "openai/gpt-x": "openrouter/openai/gpt-x", "x/y": "mine/x/y", "": "", "none": "",
	} {
		if got := FindModel(names, name); got != want {
			t.Errorf("%q means %q, want %q", name, got, want)
		}
	}
	if e := l.Facts("mine/x/y"); e.Window != 1000 {
		t.Errorf("facts %+v", e)
	}
	for task, want := range map[string]string{"approval": "anthropic/claude-c", "compression": "gemini/g", "": "gemini/g"} {
		if e, ok, err := l.Small(task); !ok || err != nil || e.Name() != want {
			t.Errorf("%s: %s, %v, %v", task, e.Name(), ok, err)
		}
	}
	if _, err := l.EndpointsFrom("openai/gpt-x"); err == nil || !strings.Contains(err.Error(), "no key for openrouter") {
		t.Errorf("a model without a key: %v", err)
	}
	if text := fmt.Sprint(l.Problems); strings.Contains(text, "auxiliary") || !strings.Contains(text, "no key for openrouter") {
		t.Errorf("problems %s", text)
	}
}

// TestProviderOfModel checks which provider answers for model.provider and model.default.
func TestProviderOfModel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ provider, model, want string }{
		{"auto", "mine/m", "mine/m"},
		{"mine", "mine/m", "mine/m"},
		{"mine", "mine/other/m", "mine/other/m"},
		{"mine", "other/m", "other/m"},
		{"mine", "other/listed", "mine/other/listed"},
		{"mine", "openai/gpt", "mine/openai/gpt"},
		{"openai", "other/m", "other/m"},
		{"openai", "gemini/g", "gemini/g"},
		{"openrouter", "openai/gpt", "openrouter/openai/gpt"},
		{"openrouter", "other/m", "other/m"},
		{"nobody", "other/m", "nobody/other/m"},
	} {
		home := t.TempDir()
		write(t, Path(home), "model: {provider: "+tc.provider+", default: "+tc.model+`}
providers: {mine: {base_url: "http://127.0.0.1:1/v1", models: {other/listed: {}}}, other: {base_url: "http://127.0.0.1:2/v1"}}
`)
		l := Load(home, Options{Environ: []string{"OPENAI_API_KEY=O", "GEMINI_API_KEY=G", "OPENROUTER_API_KEY=R"}})
		l.Model.Provider = tc.provider
		if first, _ := l.endpoint(); first.Name() != tc.want {
			t.Errorf("%s with %s: %s, want %s", tc.provider, tc.model, first.Name(), tc.want)
		}
	}
}

// TestKeyOfAnotherAddress checks that keys and headers of a provider's entry are not sent to
// model.base_url at another host.
func TestKeyOfAnotherAddress(t *testing.T) {
	t.Parallel()
	for base, sent := range map[string]bool{"https://other.test": false, "https://api.anthropic.com/v1": true} {
		home := t.TempDir()
		write(t, Path(home), "model: {provider: anthropic, default: m, base_url: '"+base+"'}\nproviders: {anthropic: {api_key: K, headers: {X-Key: K}}}\n")
		l := Load(home, Options{})
		e, err := l.endpoint()
		if sent && (err != nil || !slices.Equal(e.Keys, Keys{"K"}) || e.Headers["X-Key"] != "K") || !sent && (err == nil || !strings.Contains(err.Error(), "model.api_key")) {
			t.Errorf("%s: %+v, %v", base, e, err)
		}
	}
}

// TestVision checks the endpoint of auxiliary.vision. It gets only the keys of this section.
func TestVision(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		yaml, name, base string
		keys             Keys
		images           bool
	}{
		{"auxiliary: {vision: {provider: auto, model: ''}}", "", "", nil, false},
		{"auxiliary: {vision: {model: gpt-e}}", "openai/gpt-e", "https://api.openai.com/v1", Keys{"O"}, true},
		{"auxiliary: {vision: {model: gemini/g}}", "gemini/g", "https://generativelanguage.googleapis.com/v1beta", Keys{"G"}, true},
		{"auxiliary: {vision: {provider: gemini, model: g, api_key: own}}", "gemini/g", "https://generativelanguage.googleapis.com/v1beta", Keys{"own"}, true},
		{"auxiliary: {vision: {base_url: 'http://eyes.test/v1', model: e}}", "custom/e", "http://eyes.test/v1", nil, true},
		{"auxiliary: {vision: {base_url: 'http://eyes.test/v1', model: e, api_key: own}}", "custom/e", "http://eyes.test/v1", Keys{"own"}, true},
		{"auxiliary: {vision: {model: gemini/g}}\nproviders: {gemini: {models: {g: {images: false}}}}", "gemini/g", "https://generativelanguage.googleapis.com/v1beta", Keys{"G"}, false},
		{"model: {small: gemini/g}\nagent: {image_input_mode: text}", "gemini/g", "https://generativelanguage.googleapis.com/v1beta", Keys{"G"}, false},
	} {
		home := t.TempDir()
		write(t, Path(home), tc.yaml)
		e, ok, err := Load(home, Options{Environ: []string{"OPENAI_API_KEY=O", "GEMINI_API_KEY=G", "HERMES_API_KEY=H"}}).Small("vision")
		if err != nil || ok != (tc.name != "") {
			t.Errorf("%s: %v, %v", tc.yaml, ok, err)
		}
		if !ok {
			continue
		}
		if e.Name() != tc.name || e.BaseURL != tc.base || !slices.Equal(e.Keys, tc.keys) || (e.Images != nil && *e.Images) != tc.images {
			t.Errorf("%s: %s at %s, keys %q, images %v", tc.yaml, e.Name(), e.BaseURL, e.Keys, e.Images)
		}
	}
}

// TestSight checks which settings decide whether a model sees pictures. A setting of the model does
// not apply to its fallbacks.
func TestSight(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for _, tc := range []struct {
		yaml            string
		first, fallback *bool
	}{
		{"", nil, nil},
		{"model: {supports_vision: true}", &yes, nil},
		{"model: {supports_vision: false}", &no, nil},
		{"model: {supports_vision: null}", nil, nil},
		{"agent: {image_input_mode: native}", &yes, &yes},
		{"model: {supports_vision: true}\nagent: {image_input_mode: text}", &no, &no},
		{"agent: {image_input_mode: auto}", nil, nil},
	} {
		home := t.TempDir()
		write(t, Path(home), tc.yaml)
		l := Load(home, Options{Environ: []string{"OPENAI_API_KEY=k", "GEMINI_API_KEY=g"}})
		l.Model.Fallback = Models{{ID: "other"}, {Provider: "gemini", ID: "third"}}
		all, err := l.Endpoints()
		if err != nil || len(all) != 3 || len(l.Problems) > 0 {
			t.Fatalf("%s: %v, %v, %v", tc.yaml, all, err, l.Problems)
		}
		for i, want := range []*bool{tc.first, tc.fallback, tc.fallback} {
			if got := all[i].Images; (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Errorf("%s: endpoint %d: %v", tc.yaml, i, got)
			}
		}
	}
}
