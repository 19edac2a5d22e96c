package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// MCPServer is a server of the Model Context Protocol: a program, or an address.
type MCPServer struct {
	Enabled        bool              `json:"enabled" guard:"the server is not started" safe:"false" doc:"false: the server is not used."`
	Command        string            `json:"command" doc:"Program to start. Empty: the server is at url."`
	Args           []string          `json:"args" doc:"Arguments of the program."`
	Env            map[string]string `json:"env" secret:"names" doc:"Environment variables of the program, besides a harmless part of yours."`
	Cwd            string            `json:"cwd" doc:"Directory in which the program starts, . for the workspace folder. Empty: an empty directory of hermes-ls."`
	Sandbox        bool              `json:"sandbox" guard:"the server is in the sandbox" safe:"true" doc:"Run the program in the sandbox, as commands. Not set: only if it runs files of the workspace."`
	URL            string            `json:"url" doc:"Address of a server that runs already."`
	Transport      string            `json:"transport" enum:",stdio,http,sse" doc:"Transport of the server. Empty: stdio for a command, for url the one that works."`
	Headers        map[string]string `json:"headers" secret:"names" doc:"Headers of each request to the host of url."`
	Timeout        int               `json:"timeout" doc:"Seconds that a call can take without an answer or progress. 0: 120."`
	ConnectTimeout int               `json:"connect_timeout" doc:"Seconds for which the first prompt waits for the server. 0: 10."`
	Tools          MCPTools          `json:"tools" doc:"Which tools of the server are offered."`

	unbound bool // sandbox: false was set
}

// Unbound reports whether the user has set sandbox to false.
func (s MCPServer) Unbound() bool { return s.unbound }

// MCPTools selects tools of a server by the names that the server uses.
type MCPTools struct {
	Include []string `json:"include" guard:"its texts apply" doc:"Only these tools. Empty: all."`
	Exclude []string `json:"exclude" guard:"its texts apply" doc:"All tools but these."`
}

// UnmarshalJSON decodes a server that is enabled by default.
func (s *MCPServer) UnmarshalJSON(data []byte) error {
	type plain MCPServer
	p := plain{Enabled: true}
	if err := json.Unmarshal(data, &p); err != nil {
		return err
	}
	var set struct {
		Sandbox *bool `json:"sandbox"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return err
	}
	*s = MCPServer(p)
	s.unbound = set.Sandbox != nil && !*set.Sandbox
	return nil
}

// Servers returns the enabled servers, with ${NAME} and ${NAME:-default} replaced from the
// environment and .env, and a problem for each server that cannot be used.
func (l *Loaded) Servers() (servers map[string]MCPServer, problems []string) {
	servers = map[string]MCPServer{}
	for _, name := range slices.Sorted(maps.Keys(l.MCPServers)) {
		s := l.MCPServers[name]
		if !s.Enabled {
			continue
		}
		if err := l.ready(&s); err != nil {
			problems = append(problems, fmt.Sprintf("mcp_servers.%s: %v; it is not connected", name, err))
			continue
		}
		servers[name] = s
	}
	return servers, problems
}

func (l *Loaded) ready(s *MCPServer) error {
	switch {
	case s.Command == "" && s.URL == "":
		return fmt.Errorf("it has neither a command nor a url")
	case s.Command != "" && s.URL != "":
		return fmt.Errorf("it has a command and a url; only one can be meant")
	case s.Command == "" && s.Transport == "stdio", s.URL == "" && s.Transport != "" && s.Transport != "stdio":
		return fmt.Errorf("transport %s does not go with what it has", s.Transport)
	}
	var unset []string
	expand := func(text string) string { return l.expand(text, &unset) }
	s.Command, s.URL, s.Cwd = expand(s.Command), expand(s.URL), expand(s.Cwd)
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = expand(s.Args[i])
	}
	s.Env, s.Headers = expandAll(s.Env, expand), expandAll(s.Headers, expand)
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

// expand replaces ${NAME}. A dollar without a brace stays.
func (l *Loaded) expand(text string, unset *[]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(after, "}")
		if !closed {
			out.WriteString("${" + after)
			return out.String()
		}
		name, fallback, has := strings.Cut(name, ":-")
		value, set := l.environ[name]
		switch {
		case set && (value != "" || !has):
		case has:
			value = fallback
		case name == "HOME":
			value, _ = os.UserHomeDir()
		default:
			*unset = append(*unset, name)
		}
		out.WriteString(value)
		text = rest
	}
}
