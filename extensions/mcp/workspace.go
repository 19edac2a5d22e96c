package mcp

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/trust"
)

// Offered is an unconnected server of the workspace: the user has not approved it, or its values
// cannot be expanded.
type Offered struct {
	Name     string
	Trusted  bool   // the user trusts its folder
	Approved bool   // approved, but unusable because of a problem
	Problem  string // why it cannot be approved or connected; empty: it can
}

// OfWorkspace returns the user-approved servers of workspace folders, with expanded values. They
// run in the sandbox. offered are the others; before the approval, nothing of them is expanded.
func OfWorkspace(c *config.Loaded, store trust.Store, folders []string) (approved []Server, offered []Offered, problems []error) {
	for _, folder := range folders {
		trusted := store.Trusted(folder)
		for _, w := range trust.Servers(folder) {
			if w.Name == "" {
				continue
			}
			if !trusted || !store.Approved(w) {
				offered = append(offered, Offered{Name: w.Name, Trusted: trusted, Problem: w.Problem})
				continue
			}
			s := settingsOf(w)
			if err := s.expand(c); err != nil {
				offered = append(offered, Offered{Name: w.Name, Trusted: true, Approved: true, Problem: err.Error()})
				problems = append(problems, fmt.Errorf("the MCP server %s of %s: %w; it is not connected", w.Name, w.From, err))
				continue
			}
			server := s.server(w.Name)
			server.Workspace = &w
			if server.Dir == "" {
				server.Dir = w.Dir
			} else if !filepath.IsAbs(server.Dir) {
				server.Dir = filepath.Join(w.Dir, server.Dir)
			}
			approved = append(approved, server)
		}
	}
	return approved, offered, problems
}

// settingsOf returns the settings of a workspace server, with the names of editors replaced.
func settingsOf(w trust.Server) ServerSettings {
	home := "${HOME}"
	names := strings.NewReplacer("${workspaceFolder}", w.Dir, "${workspaceRoot}", w.Dir, "${workspaceFolderBasename}", filepath.Base(w.Dir),
		"${userHome}", home, "${/}", string(filepath.Separator), "${env:", "${")
	s := ServerSettings{Enabled: true, Sandbox: true, Command: names.Replace(w.Spec.Command), URL: names.Replace(w.Spec.URL), Cwd: names.Replace(w.Spec.Cwd)}
	for _, arg := range w.Spec.Args {
		s.Args = append(s.Args, names.Replace(arg))
	}
	s.Env, s.Headers = expandAll(w.Spec.Env, names.Replace), expandAll(w.Spec.Headers, names.Replace)
	if s.URL != "" && (w.Spec.Type == TransportSSE || w.Spec.Transport == TransportSSE) {
		s.Transport = TransportSSE
	}
	return s
}

// errChanged means that a workspace server differs from its approved definition.
var errChanged = errors.New("it has changed since you approved it. /trust shows it")

// unchanged returns an error if a workspace server, or a file named by it, has changed since the
// approval.
func (s Server) unchanged() error {
	if s.Workspace == nil {
		return nil
	}
	all := trust.Servers(s.Workspace.Dir)
	at := slices.IndexFunc(all, func(w trust.Server) bool { return w.Name == s.Name })
	if at < 0 || all[at].Sum != s.Workspace.Sum {
		return errChanged
	}
	return nil
}
