// Package cli is `hermes-ls mcp`: it lists, adds, tests and removes MCP servers, and logs in
// at them.
package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/redact"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/trust"
)

const section = "mcp_servers"

// Options are the parts of the program for the commands.
type Options struct {
	cli.Home
	Logins func(*config.Loaded) *login.Store
	// Plugins returns the servers of enabled plugins, for a session in these folders.
	Plugins func(c *config.Loaded, folders []string) ([]mcp.Server, []error)
	Serve   *cobra.Command // offers hermes-ls itself as a server
}

// New returns the command.
func New(o Options) *cobra.Command {
	return cli.Group(&cobra.Command{
		Use: "mcp", GroupID: cli.GroupExtend, Short: "List, add, test and log in at MCP servers",
		Long: "Exit code: 0 done, 1 failed, 2 bad usage, 3 the server needs a login.",
		Example: "  hermes-ls mcp list\n" +
			"  hermes-ls mcp add github --env GITHUB_TOKEN=… -- npx -y @modelcontextprotocol/server-github\n" +
			"  hermes-ls mcp login linear",
	}, o.listCommand(), o.addCommand(), o.removeCommand(), o.loginCommand(), o.logoutCommand(), o.restartCommand(),
		o.logsCommand(), o.approveCommand(), o.revokeCommand(), o.testCommand(), o.importCommand(), o.Serve)
}

// setup is the configuration for a command.
type setup struct {
	Options
	home   string
	folder string
	loaded *config.Loaded
	logins *login.Store
	hidden map[string]string // variables written to .env by this command
}

func (o Options) open() (*setup, error) {
	folder, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	loaded := o.Load(folder)
	return &setup{Options: o, home: o.Dir(), folder: folder, loaded: loaded, logins: o.Logins(loaded)}, nil
}

// settings returns the section of config.yaml.
func (s *setup) settings() map[string]mcp.ServerSettings {
	return config.SectionOf[map[string]mcp.ServerSettings](s.loaded, section)
}

// offered returns the folder's servers.
func (s *setup) offered() []trust.Server {
	return slices.DeleteFunc(trust.Servers(s.folder), func(o trust.Server) bool { return o.Name == "" })
}

// problemsOfApproved returns why approved servers of the folder cannot be connected, by name.
func (s *setup) problemsOfApproved() map[string]string {
	found := map[string]string{}
	_, offered, _ := mcp.OfWorkspace(s.loaded, trust.Open(s.home), []string{s.folder})
	for _, o := range offered {
		if o.Approved {
			found[o.Name] = o.Problem
		}
	}
	return found
}

// usable returns the configured servers, and the folder's approved servers.
func (s *setup) usable() ([]mcp.Server, []error) {
	list, problems := mcp.Configured(s.loaded)
	brought, wrong := s.Plugins(s.loaded, []string{s.folder})
	approved, _, more := mcp.OfWorkspace(s.loaded, trust.Open(s.home), []string{s.folder})
	for _, one := range append(brought, approved...) {
		if _, configured := s.settings()[one.Name]; !configured {
			list = append(list, one)
		}
	}
	return list, slices.Concat(problems, wrong, more)
}

// find returns the server with a name, or at a URL.
func (s *setup) find(nameOrURL string) (mcp.Server, error) {
	isURL := strings.HasPrefix(nameOrURL, "https://") || strings.HasPrefix(nameOrURL, "http://")
	configured, problems := s.usable()
	for _, one := range configured {
		if one.Name == nameOrURL || isURL && one.URL == nameOrURL {
			return one, nil
		}
	}
	if isURL {
		resource, err := login.Resource(nameOrURL)
		if err != nil {
			return mcp.Server{}, err
		}
		return mcp.Server{Name: strings.TrimPrefix(strings.TrimPrefix(resource, "https://"), "http://"), URL: nameOrURL}, nil
	}
	if one, ok := s.settings()[nameOrURL]; ok {
		for _, p := range problems {
			if strings.HasPrefix(p.Error(), section+"."+nameOrURL+":") {
				return mcp.Server{}, p
			}
		}
		if !one.Enabled {
			return mcp.Server{}, fmt.Errorf("the MCP server %s is disabled (%s.%[1]s.enabled)", nameOrURL, section)
		}
	}
	for _, o := range s.offered() {
		if o.Name == nameOrURL {
			if problem, approved := s.problemsOfApproved()[o.Name]; approved {
				return mcp.Server{}, fmt.Errorf("the MCP server %s of %s: %s", o.Name, o.From, problem)
			}
			return mcp.Server{}, fmt.Errorf("the MCP server %s of %s is not approved: hermes-ls mcp approve %[1]s", o.Name, o.From)
		}
	}
	names := make([]string, 0, len(configured))
	for _, one := range configured {
		names = append(names, one.Name)
	}
	return mcp.Server{}, fmt.Errorf("there is no MCP server %q in config.yaml. There are: %s", nameOrURL, cmp.Or(strings.Join(names, ", "), "none"))
}

// secrets are the values to redact in every output.
type secrets struct {
	mu     sync.Mutex
	values map[string]string
}

func (s *secrets) all() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values)
}

func (s *secrets) add(values map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(s.values, values)
}

// connect connects servers and waits for them. hide redacts their secrets, and end ends them.
func (o Options) connect(ctx context.Context, loaded *config.Loaded, list []mcp.Server, answer func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error)) (all *mcp.Servers, hide *redact.Set, end func(), err error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, nil, err
	}
	box := cli.Box(loaded, dir, os.Stderr)
	known := o.Secrets(loaded)
	maps.Copy(known, mcp.SecretsOf(list))
	hidden := &secrets{values: known}
	hide = redact.New(hidden.all)
	all = mcp.New(ctx, mcp.Config{
		Version: o.Version, Home: loaded.Home, Dir: mcp.Dir(loaded.Home), Roots: []string{dir}, Environ: os.Environ(), Path: o.Path(loaded.Home),
		Logins: o.Logins(loaded), Elicit: answer, Hide: hide.Text, Secret: hidden.add,
		Confine: func(ctx context.Context, c *proc.Cmd, files map[string][]byte) error {
			return box.With(sandbox.Opening{Frozen: files}).Confine(ctx, c)
		},
		Watch: func(ctx context.Context, by string) (extension.Watched, error) {
			_, err := box.Stand(ctx, by) // the review comes at the end
			return extension.Watched{}, err
		},
	})
	all.Connect(list)
	most := 10 * time.Second
	for _, one := range list {
		most = max(most, one.ConnectTimeout)
	}
	all.Wait(ctx, most)
	return all, hide, func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		_ = all.Close(ending) // servers still running end with this process
		box.Close()
	}, nil
}

// exitFor returns the error of an unconnected server, with its exit code.
func exitFor(st mcp.Status) error {
	switch st.State {
	case mcp.Connected:
		return nil
	case mcp.NeedsLogin:
		return &cli.Exit{Code: cli.NeedsLogin, Err: fmt.Errorf("%s needs login: %s", st.Name, st.Error)}
	case mcp.Connecting:
		return fmt.Errorf("%s did not answer in time; a longer connect_timeout may help", st.Name)
	}
	return fmt.Errorf("%s: %s", st.Name, st.Error)
}
