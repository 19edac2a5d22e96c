package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/internal/escape"
)

func (o Options) loginCommand() *cobra.Command {
	var quiet, device bool
	var scope string
	cmd := &cobra.Command{
		Use: "login NAME|URL", Short: "Log in at a server with OAuth", Args: cli.One("one server"),
		Long: "Opens the address of the login with $BROWSER, else with the system's browser, and waits.\n" +
			"If the last page does not load, paste its address here.",
		Example: "  hermes-ls mcp login linear\n  hermes-ls mcp login https://mcp.example.com/mcp --device",
		RunE: func(cmd *cobra.Command, names []string) error {
			s, err := o.open()
			if err != nil {
				return err
			}
			one, err := s.find(names[0])
			if err != nil {
				return err
			}
			if !one.LogsIn() {
				return fmt.Errorf("%s is no server for a login: it needs a url, no header Authorization, and auth must not be none", one.Name)
			}
			target := one.LoginTarget()
			target.Scope = scope
			if device {
				target.Settings.Flow = "device"
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			err = s.login(ctx, cmd, target, quiet)
			if ctx.Err() != nil && cmd.Context().Err() == nil {
				return &cli.Exit{Code: cli.Interrupted, Err: errors.New("the login was given up")}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&quiet, "no-browser", false, "print the address instead of opening it")
	cmd.Flags().BoolVar(&device, "device", false, "use the device flow: log in on another device with a code")
	cmd.Flags().StringVar(&scope, "scope", "", "`scopes` to request instead of those that the server names")
	return cmd
}

func (s *setup) login(ctx context.Context, cmd *cobra.Command, t login.Target, quiet bool) error {
	attempt, err := s.logins.Begin(ctx, t)
	if err != nil {
		return fmt.Errorf("%s: %w", t.Name, err)
	}
	defer attempt.Close()
	errOut := cmd.ErrOrStderr()
	switch {
	case attempt.Code != "":
		fmt.Fprintf(errOut, "Open this address on any device, and enter the code %s:\n", escape.Line(attempt.Code))
		fmt.Fprintln(cmd.OutOrStdout(), escape.Line(attempt.Address))
	case quiet:
		fmt.Fprintln(errOut, "Open this address in a browser. If the last page does not load, paste its address here:")
		fmt.Fprintln(cmd.OutOrStdout(), attempt.Address)
	default:
		if err := browse(attempt.Address); err != nil {
			fmt.Fprintf(errOut, "No browser could be opened (%v). Open this address:\n", err)
		} else {
			fmt.Fprintln(errOut, "A browser opens this address. If the last page does not load, paste its address here:")
		}
		fmt.Fprintln(errOut, attempt.Address)
	}
	if attempt.Code == "" {
		go pasted(cmd.InOrStdin(), attempt, errOut) // ends with the process: stdin cannot be interrupted
	}
	if err := attempt.Wait(ctx); err != nil {
		return fmt.Errorf("%s: the login failed: %w", t.Name, err)
	}
	fmt.Fprintf(errOut, "Logged in at %s.\n", escape.Line(t.Name))
	return nil
}

// pasted reads addresses from stdin.
func pasted(in io.Reader, attempt *login.Attempt, errOut io.Writer) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<10)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "" {
			continue
		}
		if err := attempt.Paste(lines.Text()); err != nil {
			fmt.Fprintln(errOut, err)
			continue
		}
		return
	}
}

// browse opens an address with $BROWSER, else with the system's browser.
func browse(address string) error {
	program, args := os.Getenv("BROWSER"), []string{address}
	if program != "" {
		words := strings.Fields(program)
		program, args = words[0], append(words[1:], address)
	} else {
		switch runtime.GOOS {
		case "darwin":
			program = "open"
		case "windows":
			program, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
		default:
			program = "xdg-open"
		}
	}
	c := exec.Command(program, args...)
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	select {
	case err := <-ended: // xdg-open fails at once if there is no browser
		return err
	case <-time.After(2 * time.Second):
		return nil
	}
}

func (o Options) logoutCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "logout NAME|URL|--all", Short: "Delete the tokens of a server, and revoke them",
		Example: "  hermes-ls mcp logout linear\n  hermes-ls mcp logout --all",
		Args: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) || len(args) > 1 {
				return cli.Usage(fmt.Errorf("give one server, or --all: %s", cmd.UseLine()))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			s, err := o.open()
			if err != nil {
				return err
			}
			var targets []login.Target
			if all {
				stored, err := s.logins.All()
				if err != nil {
					return err
				}
				for _, e := range stored {
					targets = append(targets, login.Target{Name: e.URL, URL: e.URL})
				}
			} else {
				one, err := s.find(names[0])
				if off, ok := s.settings()[names[0]]; ok && !off.Enabled && off.URL != "" {
					one, err = mcp.Server{Name: names[0], URL: off.URL, OAuth: off.OAuth}, nil
				}
				if err != nil {
					return err
				}
				targets = append(targets, one.LoginTarget())
			}
			var failed []error
			for _, t := range targets {
				was, err := s.logins.Logout(cmd.Context(), t)
				switch {
				case err != nil:
					failed = append(failed, fmt.Errorf("%s: %w", t.Name, err))
				case was:
					fmt.Fprintf(cmd.OutOrStdout(), "%s: logged out\n", escape.Line(t.Name))
				default:
					fmt.Fprintf(cmd.OutOrStdout(), "%s: was not logged in\n", escape.Line(t.Name))
				}
			}
			return errors.Join(failed...)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all servers")
	return cmd
}
