package mcp

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// known matches the names expanded without the environment.
var known = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(?:userHome|workspaceFolder|workspaceFolderBasename|/)\}`)
})

// expandText replaces names of the environment by variable, which replaces ${NAME} and
// ${NAME:-default}. It also replaces ${env:NAME}, ${userHome} and ${/}. Names of the workspace
// folder stay: see [Server.in].
func expandText(text string, variable func(string) string) string {
	text = strings.ReplaceAll(text, "${env:", "${")
	var b strings.Builder
	for {
		at := known().FindStringIndex(text)
		if at == nil {
			b.WriteString(variable(text))
			return b.String()
		}
		b.WriteString(variable(text[:at[0]]))
		switch name := text[at[0]:at[1]]; name {
		case "${userHome}":
			home, _ := os.UserHomeDir()
			b.WriteString(home)
		case "${/}":
			b.WriteByte(filepath.Separator)
		default:
			b.WriteString(name)
		}
		text = text[at[1]:]
	}
}

// in returns the server with the names of the workspace folder replaced.
func (s Server) in(folders []string) Server {
	if len(folders) == 0 {
		return s
	}
	folder := strings.NewReplacer("${workspaceFolder}", folders[0], "${workspaceFolderBasename}", filepath.Base(folders[0]))
	s.Command, s.Dir, s.URL = folder.Replace(s.Command), folder.Replace(s.Dir), folder.Replace(s.URL)
	s.Args, s.Env = slices.Clone(s.Args), slices.Clone(s.Env)
	for _, list := range [][]string{s.Args, s.Env} {
		for i := range list {
			list[i] = folder.Replace(list[i])
		}
	}
	if s.Headers != nil {
		s.Headers = expandAll(s.Headers, folder.Replace)
	}
	return s
}

// renew updates the server's values from the configuration: each connection expands them. The
// server's kind and host stay. If a value is missing, or a server of the workspace has changed,
// renew returns an error.
func (a *attempt) renew(first bool) error {
	if a.owner.cfg.Values != nil && !first {
		now, err := a.owner.cfg.Values(a.Server)
		if err != nil {
			return err
		}
		now = now.in(a.owner.folders())
		if a.values.Headers = now.Headers; a.URL == "" && now.URL == "" {
			a.values.Command, a.values.Args, a.values.Env, a.values.Dir = now.Command, now.Args, now.Env, now.Dir
		}
	}
	return a.unchanged()
}

// values returns a server of the session with the current values of its configuration.
func (x *Instance) values(s Server) (Server, error) {
	x.mu.Lock()
	given := slices.ContainsFunc(x.given, func(g Server) bool { return g.Name == s.Name })
	x.mu.Unlock()
	if given {
		return s, nil
	}
	c, list, problems := x.configured()
	if at := slices.IndexFunc(list, func(one Server) bool { return one.Name == s.Name }); at >= 0 {
		return list[at], nil
	}
	for _, p := range slices.Concat(c.Wrong, problems) {
		if strings.HasPrefix(p.Error(), "mcp_servers."+s.Name+":") || strings.HasPrefix(p.Error(), "the MCP server "+s.Name+" ") {
			return s, p
		}
	}
	return s, errors.New("it is not in the configuration anymore")
}
