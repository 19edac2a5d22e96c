package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/restart"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/trust"
)

func (o Options) approveCommand() *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "approve NAME", Short: "Approve a server that this folder offers", Args: cli.One("the name of a server"),
		Long: "Shows the definition and asks. The approval applies to this content and to that of the workspace files that it\n" +
			"names. The folder must be trusted.",
		Example: "  hermes-ls mcp approve db\n  hermes-ls mcp approve db --yes",
		RunE: func(cmd *cobra.Command, names []string) error {
			s, one, err := o.offered(names[0])
			if err != nil {
				return err
			}
			if one.Problem != "" {
				return fmt.Errorf("%s of %s cannot be used: %s", one.Name, one.From, one.Problem)
			}
			store := trust.Open(s.home)
			if !store.Trusted(s.folder) {
				return errors.New("the folder is not trusted. hermes-ls trust shows what it brings, and asks")
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s (from %s): %s\n", escape.Line(one.Name), escape.Line(one.From), escape.Line(one.Line()))
			var shown any
			if json.Unmarshal(one.Definition, &shown) == nil {
				data, _ := cli.EncodeIndented(shown) // it was decoded from JSON
				fmt.Fprintln(cmd.OutOrStdout(), escape.Text(string(data)))
			}
			if len(one.Variables) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "It gets these variables: %s\n", escape.Line(strings.Join(one.Variables, ", ")))
			}
			if err := cli.Confirm(cmd, yes, "Approve it?", "nothing was approved"); err != nil {
				return err
			}
			if err := store.Approve(cmd.Context(), one); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: approved\n", escape.Line(one.Name))
			return nil
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "approve without asking")
	return cmd
}

func (o Options) offered(name string) (*setup, trust.Server, error) {
	s, err := o.open()
	if err != nil {
		return nil, trust.Server{}, err
	}
	for _, one := range s.offered() {
		if one.Name == name {
			return s, one, nil
		}
	}
	return nil, trust.Server{}, fmt.Errorf("this folder offers no MCP server %q", name)
}

func (o Options) revokeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "revoke NAME", Short: "Remove the approval of a server that this folder offers", Args: cli.One("the name of a server"),
		Example: "  hermes-ls mcp revoke db",
		RunE: func(cmd *cobra.Command, names []string) error {
			s, one, err := o.offered(names[0])
			if err != nil {
				return err
			}
			if err := trust.Open(s.home).Disapprove(cmd.Context(), one); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: not approved\n", escape.Line(one.Name))
			return nil
		},
	}
}

func (o Options) restartCommand() *cobra.Command {
	return &cobra.Command{
		Use: "restart NAME", Short: "Restart a server in the running sessions", Args: cli.One("the name of a server"),
		Example: "  hermes-ls mcp restart github",
		RunE: func(cmd *cobra.Command, names []string) error {
			s, err := o.open()
			if err != nil {
				return err
			}
			one, err := s.find(names[0])
			if err != nil {
				return err
			}
			if err := restart.Request(mcp.Dir(s.home), one.Name); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: running sessions connect it again at their next call\n", escape.Line(one.Name))
			return nil
		},
	}
}

func (o Options) logsCommand() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use: "logs NAME", Short: "Show the log of a server", Args: cli.One("the name of a server"),
		Example: "  hermes-ls mcp logs github\n  hermes-ls mcp logs github -f",
		RunE: func(cmd *cobra.Command, names []string) error {
			s, err := o.open()
			if err != nil {
				return err
			}
			name := names[0]
			if filepath.Base(name) != name {
				return cli.Usage(fmt.Errorf("%q is no name of a server", name))
			}
			file := mcp.LogFile(s.home, name)
			f, err := os.Open(file)
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("there is no log of %q: %s does not exist", name, file)
			}
			if err != nil {
				return err
			}
			defer f.Close()
			if _, err := io.Copy(cmd.OutOrStdout(), f); err != nil || !follow {
				return err
			}
			return tail(cmd, file, f)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new texts until you press Ctrl+C")
	return cmd
}

// tail prints new output in a file. If the file is replaced, it continues with the new file.
func tail(cmd *cobra.Command, name string, f *os.File) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(300 * time.Millisecond):
		}
		if _, err := io.Copy(cmd.OutOrStdout(), f); err != nil {
			return err
		}
		before, err := f.Stat()
		if err != nil {
			return err
		}
		now, err := os.Stat(name)
		if err != nil || os.SameFile(before, now) {
			continue
		}
		next, err := os.Open(name)
		if err != nil {
			continue
		}
		f.Close()
		f = next
	}
}
