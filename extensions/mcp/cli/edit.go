package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/config/catalog"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// entry is a server as config.yaml has it.
type entry struct {
	Command        string            `yaml:"command,omitempty"`
	Args           []string          `yaml:"args,omitempty"`
	Env            map[string]string `yaml:"env,omitempty"`
	Cwd            string            `yaml:"cwd,omitempty"`
	URL            string            `yaml:"url,omitempty"`
	Transport      string            `yaml:"transport,omitempty"`
	Headers        map[string]string `yaml:"headers,omitempty"`
	Timeout        int               `yaml:"timeout,omitempty"`
	ConnectTimeout int               `yaml:"connect_timeout,omitempty"`
	OAuth          *loginClient      `yaml:"oauth,omitempty"`
	Tools          *chosen           `yaml:"tools,omitempty"`
	Enabled        *bool             `yaml:"enabled,omitempty"`
}

// chosen are the offered tools of a server.
type chosen struct {
	Include []string `yaml:"include,omitempty"`
	Exclude []string `yaml:"exclude,omitempty"`
}

// loginClient is the client with which the user logs in.
type loginClient struct {
	ID     string `yaml:"client_id,omitempty"`
	Secret string `yaml:"client_secret,omitempty"`
	Scope  string `yaml:"scope,omitempty"`
	Port   int    `yaml:"redirect_port,omitempty"`
}

func (o Options) addCommand() *cobra.Command {
	var env, headers []string
	var transport string
	var noTest bool
	cmd := &cobra.Command{
		Use: "add NAME [flags] URL | NAME [flags] -- COMMAND [ARG…]", Short: "Add a server to config.yaml",
		Long: "Adds a server and connects it once. Values that look secret go to .env, and config.yaml gets ${NAME}.\n" +
			"Comments of config.yaml stay. If there is a server with the name, nothing changes.",
		Example: "  hermes-ls mcp add linear https://mcp.linear.app/mcp\n" +
			"  hermes-ls mcp add docs --header 'Authorization: Bearer …' https://docs.example.com/mcp\n" +
			"  hermes-ls mcp add github --env GITHUB_TOKEN=… -- npx -y @modelcontextprotocol/server-github",
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, e, err := given(cmd, args, env, headers, transport)
			if err != nil {
				return cli.Usage(err)
			}
			s, err := o.open()
			if err != nil {
				return err
			}
			added, err := s.add(name, e)
			if err != nil {
				return err
			}
			if !added {
				return fmt.Errorf("%s: exists. hermes-ls mcp remove %[1]s removes it", name)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: added\n", name)
			if noTest {
				return nil
			}
			if s, err = o.open(); err != nil {
				return err
			}
			one, err := s.find(name)
			if err != nil {
				return err
			}
			r, err := s.test(cmd.Context(), one, "", "", nil)
			if err == nil {
				writeReport(cmd.OutOrStdout(), r)
			}
			return err
		},
	}
	cmd.Flags().StringArrayVar(&env, "env", nil, "environment variable of the program, as `K=V`")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "header of each request, as `K=V` or K: V")
	cmd.Flags().StringVar(&transport, "transport", "", "transport of a URL: `http|sse`")
	cmd.Flags().BoolVar(&noTest, "no-test", false, "do not connect it")
	return cmd
}

var names = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// given returns the server of a command line.
func given(cmd *cobra.Command, args, env, headers []string, transport string) (string, entry, error) {
	var e entry
	if len(args) < 2 {
		return "", e, fmt.Errorf("give a name, and a URL or -- COMMAND: %s", cmd.UseLine())
	}
	name := args[0]
	if !names.MatchString(name) {
		return "", e, fmt.Errorf("%q is no name for a server: use letters, digits, dots, dashes and underscores", name)
	}
	dash := cmd.ArgsLenAtDash()
	switch isURL := strings.HasPrefix(args[1], "http://") || strings.HasPrefix(args[1], "https://"); {
	case dash < 0 && (!isURL || len(args) > 2):
		return "", e, errors.New("a URL starts with http:// or https://. Write -- before a command")
	case dash < 0:
		e.URL, e.Transport = args[1], transport
	case dash != 1:
		return "", e, errors.New("only the name stands before --")
	default:
		e.Command, e.Args = args[1], args[2:]
	}
	switch {
	case e.URL == "" && (len(headers) > 0 || transport != "" && transport != "stdio"):
		return "", e, errors.New("--header and --transport are for a URL")
	case e.URL != "" && len(env) > 0:
		return "", e, errors.New("--env is for a command")
	case e.URL != "" && !slices.Contains([]string{"", "http", "sse"}, transport):
		return "", e, fmt.Errorf("--transport is http or sse, and not %q", transport)
	}
	var err error
	if e.Env, err = pairs(env, "="); err != nil {
		return "", e, err
	}
	e.Headers, err = pairs(headers, "=:")
	return name, e, err
}

func pairs(list []string, cuts string) (map[string]string, error) {
	all := map[string]string{}
	for _, one := range list {
		at := strings.IndexAny(one, cuts)
		if at <= 0 {
			return nil, fmt.Errorf("%q is not K=V", one)
		}
		all[strings.TrimSpace(one[:at])] = strings.TrimSpace(one[at+1:])
	}
	return all, nil
}

// add writes a server to config.yaml, with its secrets in .env. If the name exists, it returns
// false.
func (s *setup) add(name string, e entry) (bool, error) {
	if _, exists := s.settings()[name]; exists {
		return false, nil
	}
	var err error
	if e.Env, err = s.hide(name, true, e.Env); err != nil {
		return false, err
	}
	if e.Headers, err = s.hide(name, false, e.Headers); err != nil {
		return false, err
	}
	if e.Args, err = s.hideArgs(name, e.Args); err != nil {
		return false, err
	}
	if e.URL, err = s.hideURL(name, e.URL); err != nil {
		return false, err
	}
	if e.OAuth != nil {
		hidden := *e.OAuth
		if hidden.Secret, err = s.hideOne(name, false, "client_secret", hidden.Secret); err != nil {
			return false, err
		}
		e.OAuth = &hidden
	}
	return config.AddEntry(s.home, section, name, e)
}

// hide moves secret-looking values of headers or variables to .env.
func (s *setup) hide(server string, variables bool, values map[string]string) (map[string]string, error) {
	out := maps.Clone(values)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		var err error
		if out[name], err = s.hideOne(server, variables, name, values[name]); err == nil && out[name] == values[name] {
			out[name], err = s.hideURL(server, values[name])
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// hideOne moves a value to .env if it looks secret, and returns the text for config.yaml. The
// variable's name begins with the server's, because any program may set a variable such as TOKEN
// for something else. Only a variable of the server keeps its name, unless a model would mistake it
// for its key.
func (s *setup) hideOne(server string, ofServer bool, name, value string) (string, error) {
	of := server + "_"
	if ofServer && !s.ofModel(name) {
		of = ""
	}
	scheme, secret := "", value
	if before, after, ok := strings.Cut(value, " "); ok && slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(before)) {
		scheme, secret = before+" ", after
	}
	if secret == "" || strings.Contains(value, "${") || !looksSecret(name, secret) {
		return value, nil
	}
	variable := variableName(of + name)
	taken := func() bool {
		now := cmp.Or(s.hidden[variable], s.loaded.Getenv(variable))
		return now != "" && now != secret
	}
	if of == "" && taken() {
		variable = variableName(server + "_" + name)
	}
	for n, first := 2, variable; s.hidden[variable] != "" && taken(); n++ {
		variable = fmt.Sprintf("%s_%d", first, n)
	}
	if err := config.SetEnv(s.home, variable, secret); err != nil {
		return "", err
	}
	if s.hidden == nil {
		s.hidden = map[string]string{}
	}
	s.hidden[variable] = secret
	return scheme + "${" + variable + "}", nil
}

// ofModel reports whether a variable is the key of a model's provider, or a setting of hermes-ls.
func (s *setup) ofModel(name string) bool {
	return strings.HasPrefix(name, "HERMES_") ||
		slices.ContainsFunc(catalog.Providers(), func(p catalog.Provider) bool { return slices.Contains(p.Keys, name) }) ||
		slices.ContainsFunc(slices.Collect(maps.Values(s.loaded.Providers)), func(p config.Provider) bool { return p.KeyEnv == name })
}

// hideArgs moves secrets in the arguments of a program to .env: --token VALUE, --token=VALUE, NAME=VALUE and "Name: VALUE".
func (s *setup) hideArgs(server string, args []string) ([]string, error) {
	out := slices.Clone(args)
	for i, arg := range args {
		name, value, joined := "argument", arg, ""
		if at := strings.IndexAny(arg, "=:"); at > 0 && !strings.ContainsAny(arg[:at], " /") && !strings.HasPrefix(arg[at:], "://") {
			end := at + 1 + len(arg[at+1:]) - len(strings.TrimLeft(arg[at+1:], " "))
			name, value, joined = arg[:at], arg[end:], arg[:end]
		} else if i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.HasPrefix(arg, "-") && !strings.Contains(args[i-1], "=") {
			name = args[i-1]
		}
		if len(value) < 8 || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~") || strings.HasPrefix(value, ".") {
			continue // a path or a mode, such as --auth none
		}
		hidden, err := s.hideOne(server, false, strings.Trim(name, "-"), value)
		if err == nil && hidden == value {
			hidden, err = s.hideURL(server, value)
		}
		if err != nil {
			return nil, err
		}
		out[i] = joined + hidden
	}
	return out, nil
}

// inURL finds the password and the parameters of a URL.
var inURL = lazyregexp.New(`^[A-Za-z]+://[^/?#:@]*:([^/?#@]*)@|[?&]([^=&#]+)=([^&#]*)`)

// hideURL moves the password and secret parameters of a URL to .env.
func (s *setup) hideURL(server, address string) (string, error) {
	var out strings.Builder
	last := 0
	for _, m := range inURL.FindAllStringSubmatchIndex(address, -1) {
		name, from, to := "password", m[2], m[3]
		if from < 0 {
			name, from, to = address[m[4]:m[5]], m[6], m[7]
		}
		hidden, err := s.hideOne(server, false, name, address[from:to])
		if err != nil {
			return "", err
		}
		out.WriteString(address[last:from] + hidden)
		last = to
	}
	return out.String() + address[last:], nil
}

var tokens = lazyregexp.New(`^(sk-|ghp_|gho_|github_pat_|glpat-|xox[abp]-|eyJ[A-Za-z0-9_-]{10,}\.|AKIA[A-Z0-9]{12})`)

func looksSecret(name, value string) bool {
	return proc.Secret(name) || proc.Secret(variableName(name)) || strings.EqualFold(name, "authorization") || strings.EqualFold(name, "cookie") || tokens.MatchString(value)
}

func variableName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(text))
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}

func (o Options) removeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a server from config.yaml", Args: cli.One("the name of a server"),
		Long:    "Its login stays; hermes-ls mcp logout URL deletes that.",
		Example: "  hermes-ls mcp remove github",
		RunE: func(cmd *cobra.Command, names []string) error {
			s, err := o.open()
			if err != nil {
				return err
			}
			removed, err := config.RemoveEntry(s.home, section, names[0])
			if err != nil {
				return err
			}
			if !removed {
				return fmt.Errorf("there is no MCP server %q in config.yaml", names[0])
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: removed\n", names[0])
			return nil
		},
	}
}

func (o Options) importCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use: "import [FILE|claude|claude-desktop|codex|cursor|gemini|vscode] [NAME…]", Short: "Add the servers of another program",
		Long: "Without a source, it lists the sources that exist. Entries of config.yaml do not change.\n" +
			"Values that look secret go to .env. Settings that are left out are named on stderr.",
		Example:               "  hermes-ls mcp import\n  hermes-ls mcp import claude\n  hermes-ls mcp import cursor github --dry-run",
		DisableFlagsInUseLine: true,
		Args:                  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := o.open()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return s.sources(cmd.OutOrStdout())
			}
			found, err := s.readSource(args[0])
			if err != nil {
				return err
			}
			return s.importAll(cmd.OutOrStdout(), cmd.ErrOrStderr(), found, args[1:], dry)
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show only what would be done")
	return cmd
}

// importAll adds servers and prints a line for each. Notes tell which settings are left out.
func (s *setup) importAll(w, notes io.Writer, found map[string]imported, only []string, dry bool) error {
	var missing []string
	for _, name := range only {
		if _, ok := found[name]; !ok {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the source has no server %s", strings.Join(missing, ", "))
	}
	if len(found) == 0 {
		return errors.New("the source has no servers")
	}
	var failed []error
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		one := found[name]
		state := one.problem
		if _, exists := s.settings()[name]; exists {
			state = "exists"
		}
		if state == "" && !names.MatchString(name) {
			state = "not supported: its name"
		}
		if state == "" {
			state = "imported"
			missing, err := one.withVariables(name)
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", name, err))
				continue
			}
			if len(missing) > 0 {
				state = "imported without its inputs. Before it connects, write this into .env in the Hermes home: " + strings.Join(missing, "=VALUE, ") + "=VALUE"
			}
			if !dry {
				added, err := s.add(name, one.entry)
				if err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", name, err))
					continue
				}
				if !added {
					state = "exists"
				}
			}
			if state != "exists" && len(one.left) > 0 {
				fmt.Fprintf(notes, "%s: these settings have no counterpart and are left out: %s\n", escape.Line(name), escape.Line(strings.Join(one.left, ", ")))
			}
		}
		fmt.Fprintf(w, "%s: %s\n", escape.Line(name), escape.Line(cmp.Or(state, "imported")))
	}
	return errors.Join(failed...)
}
