package mcp

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// known matches the names that do not come from the environment.
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
