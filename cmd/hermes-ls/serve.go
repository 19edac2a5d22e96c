package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/server/lsp"
)

func serveCommand() *cobra.Command {
	var flags serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run as a language server on stdio; editors start this",
		Example: "  hermes-ls serve\n" +
			"  hermes-ls serve --log /tmp/hermes.log --log-level debug",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveOn(cmd, flags, "lsp", func(ctx context.Context, c connection) error {
				code, err := lsp.Serve(ctx, c.in, c.out, lsp.Options{Service: c.service, Version: version(), Log: c.log, Inspect: c.inspect})
				if err != nil || code != 0 {
					return &cli.Exit{Code: max(code, cli.Failed), Err: err}
				}
				return nil
			})
		},
	}
	flags.add(cmd.Flags())
	cmd.Flags().Bool("stdio", true, "accepted for editors that pass it; stdio is the only way")
	return cmd
}

// connection holds the values for a protocol.
type connection struct {
	in      io.Reader
	out     io.Writer
	service *server.Service
	log     *slog.Logger
	inspect func(func() wire.Queues) // gets the queues of the connection; nil without --debug
}

// serveOn serves a protocol until its connection ends or the process gets a signal.
func serveOn(cmd *cobra.Command, flags serveFlags, protocol string, serve func(context.Context, connection) error) error {
	secrets := knownSecrets()
	log, done, err := flags.log.open(cmd, secrets)
	if err != nil {
		return err
	}
	defer done()
	if err := proc.Harden(); err != nil {
		log.Warn("this process may be readable by its children", "err", err)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // if the editor has closed its end, a write fails, and the server ends in order
	cli.DelayCollection()
	instruments, err := flags.instruments(protocol, secrets, log)
	if err != nil {
		return err
	}
	defer instruments.close()
	c := connection{log: log}
	c.service = app.New(server.Options{Home: config.Home(os.Environ()), Version: version(), Log: log, Instruments: instruments.service()})
	c.in, c.out = instruments.wrap(os.Stdin, os.Stdout)
	c.inspect = instruments.serve(c.service)
	return serve(ctx, c)
}
