// Package cli is `hermes-ls trust`: it shows the contents of a folder, and trusts it.
package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/extensions/foldertrust"
	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/internal/trust"
)

// New returns the command.
func New(h cli.Home) *cobra.Command {
	var yes, asJSON, list, revoke bool
	cmd := &cobra.Command{
		Use: "trust [FOLDER]", GroupID: cli.GroupExtend, Short: "Show what a folder brings, and trust it", Args: cli.Args(cobra.MaximumNArgs(1)),
		Long: "A trusted folder's skills, commands and agents are used. Its MCP servers also need an approval each. Trust\n" +
			"belongs to the git repository, or to the folder if there is none. Default: the working directory.",
		Example: "  hermes-ls trust\n" +
			"  hermes-ls trust ~/src/project --yes\n" +
			"  hermes-ls trust --list\n" +
			"  hermes-ls trust --revoke ~/src/project",
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "."
			if len(args) > 0 {
				folder = args[0]
			}
			store := trustStore(h)
			switch {
			case list && (revoke || yes || len(args) > 0), revoke && yes:
				return cli.Usage(errors.New("--list, --revoke and --yes exclude each other, and --list takes no folder"))
			case list:
				return listTrusted(cmd, store, asJSON)
			case revoke:
				root, err := store.Revoke(cmd.Context(), folder)
				if err == nil {
					fmt.Fprintf(cmd.OutOrStdout(), "%s is not trusted.\n", root)
				}
				return err
			}
			return trustFolder(cmd, store, folder, yes, asJSON)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "trust the folder without asking")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&list, "list", false, "list the trusted folders")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "remove trust, and the approvals of MCP servers")
	return cmd
}

// trustStore returns the store of $HERMES_HOME.
func trustStore(h cli.Home) trust.Store {
	loaded := h.LoadHere()
	return config.SectionOf[skills.Settings](loaded, "skills").Store(loaded.Home)
}

func listTrusted(cmd *cobra.Command, store trust.Store, asJSON bool) error {
	list, err := store.Folders()
	if err != nil {
		return err
	}
	if asJSON {
		return cli.JSON(cmd.OutOrStdout(), map[string]any{"folders": append([]trust.Folder{}, list...)})
	}
	if len(list) == 0 {
		fmt.Fprintln(cmd.OutOrStdout(), "No folder is trusted.")
	}
	for _, f := range list {
		fmt.Fprintf(cmd.OutOrStdout(), "%s  %s\n", f.Since.Format("2006-01-02"), cli.Plain(f.Path))
	}
	return nil
}

func trustFolder(cmd *cobra.Command, store trust.Store, folder string, yes, asJSON bool) error {
	offer, err := foldertrust.Look(cmd.Context(), store, folder)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if !asJSON {
		fmt.Fprint(out, strings.NewReplacer("**", "", "`", "").Replace(offer.Text()))
	}
	if !offer.Trusted && !yes && !asJSON && cli.Interactive(cmd) {
		yes = cli.Agrees(cmd, "\nTrust this folder?")
	}
	if yes && !offer.Trusted {
		if _, err := store.Trust(cmd.Context(), folder); err != nil {
			return err
		}
		offer.Trusted = true
		if !asJSON {
			fmt.Fprintf(out, "%s is trusted.\n", offer.Folder)
		}
	}
	if asJSON {
		return cli.JSON(out, offer)
	}
	return nil
}
