package config

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/config/catalog"
)

// Endpoint is the address of a model with the keys for it.
type Endpoint struct {
	Provider string
	BaseURL  string // without a trailing slash; empty for the embedded model
	Model    string
	Keys     []string // empty: the endpoint needs none
	Window   int      // tokens; 0: not configured
	// TextCalls is model.text_calls: auto, never or always.
	TextCalls string

	API         string        // chat, responses, messages or gemini; empty: by the base URL
	KeyCommand  string        // prints the key; empty: none
	AddressFrom string        // the setting for the address, also if it is unset
	KeyFrom     string        // where the keys come from: a key of config.yaml or a variable; empty: there are none
	Pool        string        // how a key is chosen; empty: the first working key
	Cooldown    time.Duration // rest of a limited key if the reply names no time; 0: 60 s
	Concurrent  int           // requests at once for each key; 0: no limit
	Headers     map[string]string
	Proxy       string
	CAFile      string
	ExtraBody   map[string]any
	MaxTokens   int // limit of a response; 0: the model's limit
	CacheOff    bool
	CacheLong   bool
	ServiceTier string
	Stall       time.Duration // between events; 0: 90 s
	Efforts     []string      // the model's levels of effort; nil: unknown
	Images      *bool         // whether the model accepts images; nil: not configured
	Price       *Price        // nil: not configured
	Table       catalog.Facts // facts about the model from the program's tables
}

// ErrProvider is the error of an endpoint with an unknown provider.
var ErrProvider = errors.New("unknown provider")

// providerError is an [ErrProvider] with a specific text.
type providerError string

func (e providerError) Error() string        { return string(e) }
func (e providerError) Is(target error) bool { return target == ErrProvider }

// knownProviders returns the valid names of providers: the catalog's, the names under providers,
// and auto, custom and embedded.
func knownProviders(own map[string]Provider) []string {
	names := []string{"auto"}
	for _, p := range catalog.Providers() {
		names = append(names, p.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return append(names, "custom", "embedded")
}

// Endpoints returns the endpoints of the model and its fallbacks, in the order they are tried.
// Unusable fallbacks are left out and reported in [Loaded.Problems]. If the model itself is
// unusable, the error describes how to configure it.
func (l *Loaded) Endpoints() ([]Endpoint, error) {
	first, err := l.endpoint()
	if err != nil {
		return nil, err
	}
	out := []Endpoint{first}
	for _, name := range l.Model.Fallback {
		if next, err := l.fallback(first, name); err == nil {
			out = append(out, next)
		}
	}
	return out, nil
}

// EndpointsFrom is [Loaded.Endpoints] with a chosen model before the others. name is looked up by
// [FindModel] among [Loaded.ModelNames], else it is PROVIDER/MODEL of a configured provider. If it is
// empty or unknown, none is chosen. If the chosen model is unusable, the error contains the reason.
func (l *Loaded) EndpointsFrom(name string) ([]Endpoint, error) {
	all, err := l.Endpoints()
	given := name
	if name = FindModel(l.ModelNames(), given); name == "" {
		provider, id, _ := strings.Cut(given, "/")
		if id == "" || provider == "embedded" || !slices.Contains(l.Configured(), provider) {
			return all, err
		}
		first, err := l.ProviderEndpoint(provider, id)
		return append([]Endpoint{first}, withoutEmbedded(all)...), err
	}
	if i := slices.IndexFunc(all, func(e Endpoint) bool { return e.Name() == name }); i >= 0 {
		first := all[i]
		return append([]Endpoint{first}, slices.Delete(all, i, i+1)...), nil
	}
	first, err := endpointNamed(l, name)
	return append([]Endpoint{first}, withoutEmbedded(all)...), err
}

func withoutEmbedded(all []Endpoint) []Endpoint {
	return slices.DeleteFunc(all, func(e Endpoint) bool { return e.Provider == "embedded" })
}

// endpointNamed returns the endpoint of PROVIDER/MODEL.
func endpointNamed(l *Loaded, name string) (Endpoint, error) {
	m := l.Model
	provider, id := l.Split("auto", name)
	if provider != m.Provider {
		m.BaseURL, m.APIKey = "", nil
	}
	m.Provider, m.Default, m.ContextWindow, m.SupportsVision = provider, id, 0, nil
	return l.resolve("model", m)
}

// Small returns the endpoint of the model for a task other than the session's turns: from
// auxiliary.TASK, else from model.small. If neither is configured, it returns false: the session's
// model does the task.
func (l *Loaded) Small(task string) (e Endpoint, ok bool, err error) {
	provider, id := l.Split("auto", l.Model.Small)
	name := ModelName{Provider: provider, ID: id}
	if own := l.Auxiliary[task]; own.Model != "" {
		name = ModelName{Provider: own.Provider, ID: own.Model}
	}
	if name.Provider == "auto" || name.Provider == "main" {
		name.Provider = ""
	}
	if name.ID == "" {
		return Endpoint{}, false, nil
	}
	if own := l.Auxiliary[task]; own.BaseURL != "" || len(own.APIKey) > 0 {
		e, err = l.routeEndpoint("auxiliary."+task, Route{Model: name.ID, Provider: name.Provider, BaseURL: own.BaseURL, APIKey: own.APIKey})
	} else {
		first, _ := l.endpoint()
		e, err = l.fallback(first, name)
	}
	if e.Images = l.Providers[e.Provider].Models[e.Model].Images; e.Images == nil && task == "vision" && name.ID == l.Auxiliary[task].Model {
		seeing := true // set by the user; agent.image_input_mode is about the session's model
		e.Images = &seeing
	}
	return e, err == nil, err
}

// smallModels returns the tasks of [Loaded.Small] with a configured model and their keys, and ""
// for model.small.
func smallModels(l *Loaded) map[string]string {
	keys := map[string]string{"": "model.small"}
	for task, own := range l.Auxiliary {
		if own.Model != "" {
			keys[task] = "auxiliary." + task
		}
	}
	return keys
}

// Facts returns an endpoint with only the facts about a model of [Loaded.ModelNames].
func (l *Loaded) Facts(name string) Endpoint {
	var out Endpoint
	if provider, id, ok := strings.Cut(name, "/"); ok {
		out.Provider, out.Model = provider, id
		l.addFacts(&out, Model{})
	}
	if first, _ := l.endpoint(); first.Name() == name {
		out.Window = cmp.Or(first.Window, out.Window)
	}
	return out
}

// Name returns PROVIDER/MODEL. The embedded model has no provider.
func (e *Endpoint) Name() string {
	if e.Provider == "" || e.Provider == "embedded" {
		return e.Model
	}
	return e.Provider + "/" + e.Model
}

// ModelNames returns the names of the configured models, the first model first: PROVIDER/MODEL of the
// default, of the fallbacks, and of each model under providers.
func (l *Loaded) ModelNames() []string {
	first, _ := l.endpoint() // the names do not depend on a key
	names := []string{first.Name()}
	for _, m := range l.Model.Fallback {
		e, _ := l.fallback(first, m)
		names = append(names, e.Name())
	}
	for _, provider := range slices.Sorted(maps.Keys(l.Providers)) {
		for _, id := range slices.Sorted(maps.Keys(l.Providers[provider].Models)) {
			names = append(names, provider+"/"+id)
		}
	}
	return unique(names)
}

// FindModel returns the full name of name among names: PROVIDER/MODEL itself, or the only entry
// with this MODEL. If there is none, it returns "".
func FindModel(names []string, name string) (found string) {
	if slices.Contains(names, name) {
		return name
	}
	for _, n := range names {
		if _, id, _ := strings.Cut(n, "/"); id == name && name != "" {
			if found != "" {
				return ""
			}
			found = n
		}
	}
	return found
}

// unique removes later equal names.
func unique(names []string) (out []string) {
	for _, name := range names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// fallback returns the endpoint of a fallback. Without a provider, it uses the endpoint of the
// first model.
func (l *Loaded) fallback(first Endpoint, name ModelName) (Endpoint, error) {
	provider, id := name.Provider, name.ID
	if provider == "" || provider == "auto" {
		provider, id = splitFallback(l, first.Provider, id)
	}
	if provider == first.Provider || provider == "" {
		first.Model = id
		l.addFacts(&first, Model{MaxTokens: l.Model.MaxTokens})
		return first, nil
	}
	m := l.Model
	m.Provider, m.Default, m.BaseURL, m.APIKey, m.ContextWindow, m.SupportsVision = provider, id, "", nil, 0, nil
	return l.resolve("model.fallback", m)
}

// splitFallback splits PROVIDER/MODEL. An id listed by the first model's provider is not split. If
// this provider's ids contain slashes, only a name under providers is a provider.
func splitFallback(l *Loaded, set, id string) (provider, model string) {
	name, rest, cut := strings.Cut(id, "/")
	if _, listed := l.Providers[set].Models[id]; !cut || listed {
		return set, id
	}
	_, own := l.Providers[name]
	_, table := catalog.Find(name)
	if here, _ := catalog.Find(set); own || table && !here.Slashes {
		return name, rest
	}
	return set, id
}

// endpoint returns the endpoint of the first model.
func (l *Loaded) endpoint() (Endpoint, error) {
	m := l.Model
	if m.BaseURL == "" { // else the provider is identified by the address
		m.Provider, m.Default = l.Split(m.Provider, m.Default)
	}
	return l.resolve("model", m)
}

// Split splits PROVIDER/MODEL. If the part before the first slash is no provider, or if set lists
// the whole id, it returns set and id. If set's ids can contain slashes, only a name given by the
// user is a provider.
func (l *Loaded) Split(set, id string) (provider, model string) {
	name, rest, cut := strings.Cut(id, "/")
	_, own := l.Providers[name]
	_, table := catalog.Find(name)
	known, found := catalog.Find(set)
	_, added := l.Providers[set]
	_, listed := l.Providers[set].Models[id]
	switch {
	case !cut, rest == "", listed:
	case own && !table && (set == "auto" || found || added), table && (set == "auto" || found && !known.Slashes):
		return name, rest
	}
	return set, id
}

// resolve returns the endpoint described by a section. With an error, the endpoint contains only
// its provider and model.
func (l *Loaded) resolve(section string, m Model) (Endpoint, error) {
	if m.Provider == lostProvider {
		return Endpoint{Provider: m.Provider, Model: m.Default}, providerError("config.yaml is no YAML, so its model is not known. No request was sent. Fix the file: " + Path(l.Home))
	}
	if !slices.Contains(knownProviders(l.Providers), m.Provider) {
		return Endpoint{Provider: m.Provider, Model: m.Default}, providerError(fmt.Sprintf("%s.provider is %q, which is not known. Known are %s. No request was sent. "+
			"For another service, add it under providers, or use custom with %[1]s.base_url", section, m.Provider, strings.Join(knownProviders(l.Providers), ", ")))
	}
	if m.Provider == "auto" {
		m.Provider = l.firstWithKey(m)
		if !sets(l.tree, "model.default") && section == "model" {
			if p, _ := catalog.Find(m.Provider); p.Model != "" {
				m.Default = p.Model // the default is OpenAI's
			}
		}
	}
	out := Endpoint{
		Provider: m.Provider, Model: m.Default, TextCalls: l.Model.TextCalls, ServiceTier: l.Model.ServiceTier,
		Stall: time.Duration(l.Model.StallTimeout) * time.Second, Pool: l.Model.Pool.Strategy, Cooldown: time.Duration(l.Model.Pool.Cooldown) * time.Second,
		CacheOff: l.Model.Cache.Mode == "off", CacheLong: l.Model.Cache.TTL == "long",
	}
	if m.Provider == "embedded" {
		out.Model = "embedded"
		return out, nil
	}
	if err := l.address(section, m, &out); err != nil {
		return Endpoint{Provider: out.Provider, Model: out.Model}, err
	}
	if err := l.keys(section, m, &out); err != nil {
		return Endpoint{Provider: out.Provider, Model: out.Model}, err
	}
	l.addFacts(&out, m)
	return out, nil
}

// address sets the address, the API and how to connect.
func (l *Loaded) address(section string, m Model, out *Endpoint) error {
	table, _ := catalog.Find(m.Provider)
	own := l.Providers[m.Provider]
	out.BaseURL = strings.TrimRight(trimPasted(withoutInvisible(firstOf(m.BaseURL, own.BaseURL, table.BaseURL))), "/")
	if (m.Provider == "openai" || m.Provider == "openrouter") && m.BaseURL != "" && !SameHost(m.BaseURL, table.BaseURL) {
		table, own, out.Provider = catalog.Provider{}, Provider{}, "custom" // another service with OpenAI's API
	}
	key := "providers." + m.Provider + ".base_url"
	if m.Provider == "custom" {
		key = section + ".base_url"
	}
	if out.BaseURL == "" {
		problem := fmt.Sprintf("%s.provider is %s but %s is empty", section, m.Provider, key)
		return &SetupError{Provider: m.Provider, Problem: problem, Step: ". " + howTo(l)}
	}
	if m.BaseURL != "" {
		key = section + ".base_url"
	}
	out.AddressFrom = key
	u, err := url.Parse(out.BaseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return &SetupError{Provider: m.Provider, Problem: fmt.Sprintf("%s %q is no http(s) URL", key, out.BaseURL), Step: ". " + howTo(l)}
	}
	out.API = apiOf(own.API, m.API)
	if out.API == "" && strings.HasSuffix(u.Path, "/anthropic") {
		out.API = "messages"
	}
	out.API = firstOf(out.API, table.API, "chat")
	if address := firstOf(own.BaseURL, table.BaseURL); m.BaseURL == "" || address == "" || SameHost(m.BaseURL, address) {
		out.Headers = expand(l, own.Headers) // they can have a key
	}
	out.Proxy, out.CAFile, out.ExtraBody = own.Proxy, own.CAFile, own.ExtraBody
	if out.Concurrent = own.MaxConcurrent; out.Concurrent == 0 {
		out.Concurrent = 8
	}
	return nil
}

// apiOf returns the first API other than auto.
func apiOf(names ...string) string {
	for _, name := range names {
		if name != "" && name != "auto" {
			return name
		}
	}
	return ""
}

// variable is ${NAME} in a header. A dollar sign without braces is part of the value.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$\{(\w+)\}`) })

// expand returns the headers with the values of ${VARIABLE}.
func expand(l *Loaded, headers map[string]string) map[string]string {
	if headers == nil {
		return nil
	}
	out := map[string]string{}
	for name, value := range headers {
		out[name] = variable().ReplaceAllStringFunc(value, func(text string) string { return l.Getenv(text[2 : len(text)-1]) })
	}
	return out
}

// keys sets the keys of an endpoint. A key from the environment is sent only to the table's
// address, or to a user's own address at the service.
func (l *Loaded) keys(section string, m Model, out *Endpoint) error {
	table, known := catalog.Find(m.Provider)
	own := l.Providers[m.Provider]
	if out.Provider == "custom" {
		table, known = catalog.Provider{Keys: []string{"HERMES_API_KEY"}, NoKey: true}, true
		if m.Provider != "openai" && m.Provider != "custom" {
			table.Keys = nil
		}
		own = Provider{}
	}
	if address := firstOf(own.BaseURL, table.BaseURL); m.BaseURL != "" && address != "" && !SameHost(m.BaseURL, address) {
		own = Provider{} // its keys belong to another address
	}
	u, _ := url.Parse(out.BaseURL) // it is valid
	theirs := out.Provider == "custom" || table.At(u)
	switch {
	case len(m.APIKey) > 0:
		out.Keys, out.KeyFrom = m.APIKey, section+".api_key"
	case len(own.APIKey) > 0:
		out.Keys, out.KeyFrom = own.APIKey, "providers."+m.Provider+".api_key"
	case own.KeyEnv != "":
		if out.setKey(l.environ, own.KeyEnv); out.KeyFrom != "" {
			out.KeyFrom += " (providers." + m.Provider + ".key_env)"
		}
	case own.KeyCommand != "":
		out.KeyCommand, out.KeyFrom = own.KeyCommand, "providers."+m.Provider+".key_command"
	case theirs:
		out.setKey(l.environ, table.Keys...)
	}
	if err := cleanKeys(l, out, known && !table.NoKey && !local(u)); err != nil {
		return err
	}
	if len(out.Keys) > 0 || out.KeyCommand != "" || !known || table.NoKey || local(u) {
		return nil
	}
	set := "providers." + m.Provider + ".api_key or key_env"
	if m.BaseURL != "" {
		set = section + ".api_key"
	}
	if theirs {
		set += " (" + strings.Join(table.Keys, " and ") + " is not set)"
	}
	return &SetupError{
		Provider: m.Provider, Key: true,
		Problem: fmt.Sprintf("no key for %s at %s: set %s", m.Provider, u.Host, set),
		Step:    ", or run `hermes-ls setup` or `hermes-ls login`",
	}
}

// cleanKeys removes characters added to keys by pasting. If a key cannot be sent, or contains white
// space although the service has real keys, it returns an error.
func cleanKeys(l *Loaded, out *Endpoint, real bool) error {
	clean := make([]string, 0, len(out.Keys))
	for _, text := range out.Keys {
		key, odd := CleanKey(text)
		if real && odd == 0 && strings.Contains(key, " ") {
			odd = ' '
		}
		if odd != 0 {
			return &SetupError{
				Provider: out.Provider,
				Problem:  fmt.Sprintf("the key of %s in %s has the character %q (U+%04X), which no key has; no request was sent", out.Provider, keyPlace(l, out.KeyFrom), odd, odd),
				Step:     ". Copy the key again, or run `hermes-ls login`",
			}
		}
		if key != "" {
			clean = append(clean, key)
		}
	}
	out.Keys = clean
	return nil
}

// keyPlace returns where a key is: the file and the line if it is in .env.
func keyPlace(l *Loaded, from string) string {
	name, _, _ := strings.Cut(from, " ")
	if line := l.envLines[name]; line > 0 {
		return fmt.Sprintf("%s:%d (%s)", EnvPath(l.Home), line, from)
	}
	if source, line := l.placeOf(name); line > 0 {
		return fmt.Sprintf("%s:%d (%s)", source, line, from)
	}
	return from
}

// SetupError names the missing part of a model's endpoint, and the next step in a shell.
type SetupError struct {
	Provider      string
	Key           bool // the key is missing
	Problem, Step string
}

func (e *SetupError) Error() string { return e.Problem + e.Step }

// setKey sets the key from the first nonempty variable.
func (e *Endpoint) setKey(environ map[string]string, names ...string) {
	for _, name := range names {
		if key := environ[name]; key != "" {
			e.Keys, e.KeyFrom = []string{key}, name
			return
		}
	}
}

// local reports whether an address is this machine.
func local(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// maxOutput limits the tokens of a response if the user has not set a limit.
const maxOutput = 32000

// addFacts sets the facts about the model of an endpoint. m holds the limits of the section.
func (l *Loaded) addFacts(out *Endpoint, m Model) {
	set := l.Providers[out.Provider].Models[out.Model]
	out.Table = catalog.About(out.Provider, out.Model)
	if out.Provider == "openrouter" {
		out.Table.Price = nil // its responses contain the cost
	}
	out.Window, out.MaxTokens = cmp.Or(m.ContextWindow, set.ContextWindow), m.MaxTokens
	switch {
	case m.MaxTokens > 0:
	case set.MaxOutput > 0:
		out.MaxTokens = min(maxOutput, set.MaxOutput)
	case out.API != "chat": // chat endpoints have default limits
		out.MaxTokens = min(maxOutput, out.Table.Output)
	}
	out.Efforts, out.Images, out.Price = set.Effort, set.Images, nil
	if m.SupportsVision != nil {
		out.Images = m.SupportsVision
	}
	if mode := l.Agent.ImageInputMode; mode == "native" || mode == "text" {
		images := mode == "native"
		out.Images = &images
	}
	if len(out.Efforts) == 0 {
		out.Efforts = out.Table.Efforts
	}
	if set.Cost != (Price{}) {
		out.Price = &set.Cost
	}
}

// firstWithKey returns the provider for auto: the first with a key. If none has a key, it returns
// openai, whose error names its key.
func (l *Loaded) firstWithKey(m Model) string {
	if m.BaseURL != "" || len(m.APIKey) > 0 {
		return "openai"
	}
	for _, p := range catalog.Providers() {
		own := l.Providers[p.Name]
		if len(own.APIKey) > 0 || own.KeyCommand != "" || own.KeyEnv != "" && l.environ[own.KeyEnv] != "" {
			return p.Name
		}
		if p.BaseURL == "" && own.BaseURL == "" { // its key does not identify the address
			continue
		}
		if slices.ContainsFunc(p.Keys, func(name string) bool { return l.environ[name] != "" }) {
			return p.Name
		}
	}
	return "openai"
}

// checkRepoModels ignores a repository's models at providers other than the user's, unless the user
// has configured them. This prevents a repository from sending a session or a subagent to another
// service.
func checkRepoModels(l *Loaded, sources []source) {
	keys := []string{"model.default"}
	for section := range l.schema.routes {
		keys = append(keys, section+".model")
	}
	slices.Sort(keys)
	theirs, tree := *l.Config, map[string]any{} // as the user has configured it
	theirs.Model.Default = Default().Model.Default
	for _, s := range sources {
		if id, ok := valueAt(s.tree, "model.default"); ok && s.trusted {
			theirs.Model.Default, _ = id.(string)
			tree["model"] = map[string]any{"default": id}
		}
	}
	users := &Loaded{Config: &theirs, environ: l.environ, tree: tree}
	provider := providerOf(users, theirs.Model.Default)
	for _, key := range keys {
		i := slices.IndexFunc(sources, func(s source) bool { return s.trusted && sets(s.tree, key) })
		value, _ := valueAt(l.tree, key)
		name, _ := value.(string)
		if i >= 0 || name == "" || FindModel(users.ModelNames(), name) != "" {
			continue
		}
		other, _ := users.Split(provider, name)
		if key == "model.default" {
			other = providerOf(users, name)
		}
		if other == provider {
			continue
		}
		head, field, _ := strings.Cut(key, ".")
		section, _ := l.tree[head].(map[string]any)
		delete(section, field)
		if key == "model.default" {
			l.Model.Default = theirs.Model.Default
		}
		from, line := written(sources, key)
		l.problem(from, line, fmt.Sprintf("%s is ignored: a repository may not choose a model of %s, because you have not configured %s", key, other, name))
	}
}

// providerOf returns the provider of name as the default model.
func providerOf(l *Loaded, name string) string {
	provider := l.Model.Provider
	if l.Model.BaseURL == "" {
		provider, _ = l.Split(provider, name)
	}
	if provider == "auto" {
		provider = l.firstWithKey(l.Model)
	}
	return provider
}

// checkProvider reports an unknown provider and unusable fallbacks.
func (l *Loaded) checkProvider(tree map[string]any, line func(key string) (source string, line int)) {
	known := knownProviders(l.Providers)
	report := func(key, provider, effect string) string {
		source, at := line(key)
		l.problem(source, at, fmt.Sprintf("%s is %s, which is not known; known are %s. Until then %s", key, shown(provider), strings.Join(known, ", "), effect))
		return unknownValue(provider)
	}
	if name := l.Model.Provider; !slices.Contains(known, name) {
		if section, ok := tree["model"].(map[string]any); ok && section["provider"] == name && unknownValue(name) != kindOf(nil) {
			l.Model.Provider = report("model.provider", name, "no request is sent")
			section["provider"] = l.Model.Provider
		}
	}
	for task, key := range smallModels(l) {
		if _, _, err := l.Small(task); err != nil {
			problem := withoutSteps(err) // they are for the first model
			source, at := line(key)
			l.problem(source, at, key+" cannot be used: "+problem+"; the session's model is used")
		}
	}
	first, err := l.endpoint()
	if err != nil {
		return
	}
	for _, name := range l.Model.Fallback {
		if _, err := l.fallback(first, name); err != nil {
			problem := withoutSteps(err) // they are for the first model
			source, at := line("model.fallback")
			l.problem(source, at, problem+"; this fallback is left out")
		}
	}
}

// withoutSteps returns the text of an endpoint's error without the next steps.
func withoutSteps(err error) string {
	problem, _, _ := strings.Cut(err.Error(), ". ")
	problem, _, _ = strings.Cut(problem, ", or run")
	return problem
}

func howTo(l *Loaded) string {
	return "Run `hermes-ls setup` or `hermes-ls login`, or put the key into the environment or " + l.Home + "/.env. " +
		"For another model, set model.provider in " + Path(l.Home) + "."
}

// detachKeys removes an api_key from a section if a higher source sets another endpoint there. A
// key is sent only to its configured endpoint.
func (l *Loaded) detachKeys(tree map[string]any, above source, clean map[string]any) {
	for _, section := range append([]string{"model"}, slices.Sorted(maps.Keys(l.schema.routes))...) {
		l.detach(section, tree[section], clean[section], "", above)
	}
	for _, group := range []string{"providers", "auxiliary"} {
		below, _ := tree[group].(map[string]any)
		over, _ := clean[group].(map[string]any)
		for _, name := range sortedKeys(over) {
			provider := name
			if group == "auxiliary" {
				provider = ""
			}
			l.detach(group+"."+name, below[name], over[name], provider, above)
		}
	}
}

// detach removes an api_key from a section if the same section of a higher source sets another
// endpoint. provider is the section's implied provider; it may be empty.
func (l *Loaded) detach(section string, lower, higher any, provider string, above source) {
	below, _ := lower.(map[string]any)
	over, _ := higher.(map[string]any)
	if below["api_key"] == nil || over["api_key"] != nil {
		return
	}
	before := maps.Clone(below)
	if provider != "" {
		before["provider"] = provider
	}
	after := maps.Clone(before)
	merge(after, over)
	if !otherEndpoint(before, after) {
		return
	}
	l.detached = append(l.detached, keysOf(below["api_key"])...)
	delete(below, "api_key")
	key := section + ".api_key"
	l.problem(above.name, 0, fmt.Sprintf("%s was written for %s and is not sent to %s; set %[1]s beside the new endpoint", key, addressOf(before), addressOf(after)))
}

// otherEndpoint reports whether after describes another endpoint than before. A key without provider
// and base_url belongs to any base_url.
func otherEndpoint(before, after map[string]any) bool {
	if addressOf(before) == addressOf(after) {
		return false
	}
	if textOf(before, "base_url") != "" || textOf(before, "provider") != "" {
		return true
	}
	return textOf(after, "base_url") == ""
}

// addressOf returns the address of a section's endpoint. If only the provider is known, it returns its name.
func addressOf(section map[string]any) string {
	if url := textOf(section, "base_url"); url != "" {
		return strings.TrimRight(url, "/")
	}
	name := firstOf(textOf(section, "provider"), "openai")
	if name == "auto" { // a configured key is for openai
		name = "openai"
	}
	known, _ := catalog.Find(name)
	return firstOf(known.BaseURL, name)
}

func textOf(section map[string]any, key string) string {
	text, _ := section[key].(string)
	return text
}

func keysOf(value any) Keys {
	var keys Keys
	if data, err := json.Marshal(value); err == nil {
		_ = json.Unmarshal(data, &keys) // it has been checked
	}
	return keys
}

// SameHost reports whether two addresses have the same scheme and host.
func SameHost(a, b string) bool {
	ua, errA := url.Parse(a)
	ub, errB := url.Parse(b)
	return errA == nil && errB == nil && ua.Scheme == ub.Scheme && strings.EqualFold(ua.Host, ub.Host)
}

func firstOf(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
