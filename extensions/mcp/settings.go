package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/sampling"
	programs "github.com/hermes-ls/hermes-ls/internal/program"
)

// ServerSettings is a server of the section mcp_servers of config.yaml: a program, or a URL.
type ServerSettings struct {
	Enabled        bool                `json:"enabled" guard:"the server is not started" safe:"false" doc:"false: the server is not used."`
	Command        string              `json:"command" doc:"Program to start. Empty: the server is at url."`
	Args           []string            `json:"args" doc:"Arguments of the program."`
	Env            map[string]string   `json:"env" secret:"names" doc:"Environment variables of the program, besides a harmless part of yours."`
	Cwd            string              `json:"cwd" doc:"Directory in which the program starts, . for the workspace folder. Empty: an empty directory of hermes-ls."`
	Sandbox        bool                `json:"sandbox" guard:"the server is in the sandbox" safe:"true" doc:"Run the program in the sandbox, as commands. Not set: only if it runs files of the workspace."`
	URL            string              `json:"url" doc:"Address of a server that runs already."`
	Transport      string              `json:"transport" enum:",stdio,http,sse" doc:"Transport of the server. Empty: stdio for a command, for url the one that works."`
	Headers        map[string]string   `json:"headers" secret:"names" doc:"Headers of each request to the host of url."`
	Auth           string              `json:"auth" enum:",oauth,none" doc:"oauth: log in. none: never. Empty: log in if the server requires it."`
	OAuth          login.Settings      `json:"oauth" doc:"How you log in at url."`
	Timeout        int                 `json:"timeout" doc:"Seconds that a call can take without an answer or progress. 0: 120."`
	ConnectTimeout int                 `json:"connect_timeout" doc:"Seconds for which the server may take to connect. 0: 30. The first prompt waits for it at most 3 seconds."`
	Defer          string              `json:"defer" enum:",auto,always,never" doc:"Whether requests leave out the tools, so that the model finds them with tool_search. Empty or auto: if all tools are too large."`
	Trust          string              `json:"trust" enum:",untrusted,full" guard:"all its tools ask" safe:"untrusted" doc:"Empty: tools marked read-only run, others ask. untrusted: all ask. full: all run except those marked destructive."`
	Protocol       string              `json:"protocol" enum:",auto,stateless,legacy" doc:"Version of the protocol. Empty or auto: the one that works."`
	SSLVerify      string              `json:"ssl_verify" loose:"yes" doc:"Check of the certificate of url: true, false, or a file with authorities. Empty: true."`
	ClientCert     []string            `json:"client_cert" loose:"yes" doc:"Client certificate for url: a PEM file, or certificate, key and password."`
	ClientKey      string              `json:"client_key" doc:"File with the key of client_cert."`
	Idle           int                 `json:"idle_timeout_seconds" doc:"The program is stopped after this time without a call. The next call starts it again. 0: never."`
	Lifetime       int                 `json:"max_lifetime_seconds" doc:"The program is stopped after this time. The next call starts it again. 0: never."`
	Parallel       bool                `json:"supports_parallel_tool_calls" doc:"Its writing tools may run in parallel."`
	Elicitation    ElicitationSettings `json:"elicitation" doc:"Requests of the server for values."`
	Sampling       sampling.Settings   `json:"sampling" doc:"Requests of the server to the model."`
	Tools          ToolSettings        `json:"tools" doc:"Which tools of the server are offered."`

	unbound bool // sandbox: false is set
}

// ElicitationSettings configures whether a server may ask the user for values.
type ElicitationSettings struct {
	Enabled bool `json:"enabled" doc:"The server may ask you for values."`
	Timeout int  `json:"timeout" doc:"Seconds after which such a request is cancelled. 0: 300."`
}

// ToolSettings selects tools of a server by the server's names.
type ToolSettings struct {
	Include   []string          `json:"include" guard:"its texts apply" doc:"Only these tools, as globs. Empty: all."`
	Exclude   []string          `json:"exclude" guard:"its texts apply" doc:"Tools that are left out, as globs."`
	Approve   map[string]string `json:"approve" guard:"its texts apply" doc:"ask, allow or deny, by globs of tools. deny beats ask, ask beats allow."`
	Resources bool              `json:"resources" doc:"Resources of the server can be read."`
	Prompts   bool              `json:"prompts" doc:"Prompts of the server are slash commands."`
}

// UnmarshalJSON decodes a server. It is enabled by default.
func (s *ServerSettings) UnmarshalJSON(data []byte) error {
	type plain ServerSettings
	p := plain{Enabled: true, Elicitation: ElicitationSettings{Enabled: true}, Tools: ToolSettings{Resources: true, Prompts: true}}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	var set struct {
		Sandbox *bool `json:"sandbox"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return err
	}
	*s = ServerSettings(p)
	s.unbound = set.Sandbox != nil && !*set.Sandbox
	return nil
}

// Settings describes the section.
func Settings() *config.Section {
	return &config.Section{Name: "mcp_servers", Doc: "Servers of the Model Context Protocol, by name.", Defaults: map[string]ServerSettings{}}
}

// Configured returns the enabled servers, in the order of their names. It replaces ${NAME} and
// ${NAME:-default} from the environment and .env. problems contains an error for each unusable
// server.
func Configured(c *config.Loaded) (servers []Server, problems []error) {
	section := config.SectionOf[map[string]ServerSettings](c, "mcp_servers")
	for _, name := range slices.Sorted(maps.Keys(section)) {
		s := section[name]
		if !s.Enabled {
			continue
		}
		if err := s.expand(c); err != nil {
			problems = append(problems, fmt.Errorf("mcp_servers.%s: %w; it is not connected", name, err))
			continue
		}
		if wrong := mistake(c, name); wrong != "" {
			problems = append(problems, fmt.Errorf("%s; the server is not connected", wrong))
			continue
		}
		if both := s.Tools.bothNamed(); len(both) > 0 {
			problems = append(problems, fmt.Errorf("mcp_servers.%s.tools: include and exclude both name %s; exclude applies", name, list(both)))
		}
		for glob, value := range s.Tools.Approve {
			if !slices.Contains([]string{approveAsk, approveAllow, approveDeny}, value) {
				problems = append(problems, fmt.Errorf("mcp_servers.%s.tools.approve: %q is %q, not ask, allow or deny; its tools ask", name, glob, value))
				s.Tools.Approve = maps.Clone(s.Tools.Approve)
				s.Tools.Approve[glob] = approveAsk
			}
		}
		servers = append(servers, s.server(name))
	}
	return servers, problems
}

// mistake returns the first problem of a setting that selects the server's program, address or
// variables. If there is none, it returns "".
func mistake(c *config.Loaded, server string) string {
	for _, p := range c.Problems {
		key, _, _ := strings.Cut(p.Text, " ")
		last, ok := strings.CutPrefix(key, "mcp_servers."+server+".")
		if ok && slices.Contains([]string{"command", "args", "env", "url", "headers", "cwd"}, last) {
			return p.Text
		}
	}
	return ""
}

// server returns the settings in the form for Connect.
func (s ServerSettings) server(name string) Server {
	out := Server{
		Name: name, Command: s.Command, Args: s.Args, Dir: s.Cwd, URL: s.URL, Transport: s.Transport, Headers: s.Headers, Auth: s.Auth, OAuth: s.OAuth,
		Timeout: time.Duration(s.Timeout) * time.Second, ConnectTimeout: time.Duration(s.ConnectTimeout) * time.Second,
		Include: s.Tools.Include, Exclude: s.Tools.Exclude, Approve: s.Tools.Approve, Defer: s.Defer,
		Trust: s.Trust, NoResources: !s.Tools.Resources, NoPrompts: !s.Tools.Prompts, Parallel: s.Parallel,
		Sampling:      s.Sampling,
		NoElicitation: !s.Elicitation.Enabled, ElicitTimeout: time.Duration(s.Elicitation.Timeout) * time.Second, Protocol: s.Protocol,
		Verify: s.SSLVerify, Certificate: s.ClientCert, Idle: time.Duration(s.Idle) * time.Second, Lifetime: time.Duration(s.Lifetime) * time.Second,
	}
	if s.ClientKey != "" && len(out.Certificate) == 1 {
		out.Certificate = append(slices.Clone(out.Certificate), s.ClientKey)
	}
	switch {
	case s.Sandbox:
		out.Sandbox = SandboxOn
	case s.unbound:
		out.Sandbox = SandboxNever
	}
	for _, variable := range slices.Sorted(maps.Keys(s.Env)) {
		out.Env = append(out.Env, variable+"="+s.Env[variable])
	}
	return out
}

// From returns the command line or the URL, without the values of variables, and without user and query of the URL.
func (s ServerSettings) From() string {
	if s.URL != "" {
		address, _, _ := strings.Cut(s.URL, "?")
		scheme, rest, _ := strings.Cut(address, "://")
		host, path, slash := strings.Cut(rest, "/")
		if slash {
			path = "/" + path
		}
		return scheme + "://" + host[strings.LastIndexByte(host, '@')+1:] + path
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}

// expand replaces variables. If the settings are contradictory, or a variable is not set,
// it returns an error.
func (s *ServerSettings) expand(c *config.Loaded) error {
	switch {
	case s.Command == "" && s.URL == "":
		return fmt.Errorf("it has neither a command nor a url")
	case s.Command != "" && s.URL != "":
		return fmt.Errorf("it has a command and a url; only one can be meant")
	case s.Command == "" && s.Transport == "stdio", s.URL == "" && s.Transport != "" && s.Transport != "stdio":
		return fmt.Errorf("transport %s does not go with what it has", s.Transport)
	}
	var unset []string
	expand := func(text string) string {
		return expandText(text, func(part string) string { return c.Expand(part, &unset) })
	}
	s.Command, s.URL, s.Cwd = programs.InHome(expand(s.Command)), expand(s.URL), programs.InHome(expand(s.Cwd))
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = programs.InHome(expand(s.Args[i]))
	}
	s.ClientCert = slices.Clone(s.ClientCert)
	for i := range s.ClientCert {
		s.ClientCert[i] = expand(s.ClientCert[i])
		if i < 2 { // the third is a password
			s.ClientCert[i] = programs.InHome(s.ClientCert[i])
		}
	}
	for _, text := range []*string{&s.SSLVerify, &s.ClientKey, &s.OAuth.ClientID, &s.OAuth.ClientSecret, &s.OAuth.Issuer, &s.OAuth.ClientMetadataURL, &s.OAuth.RedirectURI} {
		*text = expand(*text)
	}
	s.SSLVerify, s.ClientKey = programs.InHome(s.SSLVerify), programs.InHome(s.ClientKey)
	s.Env, s.Headers = expandAll(s.Env, func(text string) string { return programs.ListInHome(expand(text)) }), expandAll(s.Headers, expand)
	if len(unset) > 0 {
		return fmt.Errorf("%s is not set in the environment or in .env", strings.Join(unset, ", "))
	}
	return nil
}

func expandAll(texts map[string]string, expand func(string) string) map[string]string {
	out := map[string]string{}
	for name, text := range texts {
		out[name] = expand(text)
	}
	return out
}
