package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/lsp"
)

func serveCommand() *cobra.Command {
	var logFile string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Language server on stdio (what an editor starts)",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serveOn(cmd, logFile, func(ctx context.Context, s *server.Service, log *slog.Logger) error {
				code, err := lsp.Serve(ctx, os.Stdin, os.Stdout, lsp.Options{Service: s, Version: version, Log: log})
				if err != nil || code != 0 {
					return &exitError{max(code, exitFailed), err}
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&logFile, "log", "", "append the log to `FILE` instead of stderr")
	cmd.Flags().Bool("stdio", true, "accepted for editors that pass it; stdio is the only way")
	return cmd
}

// serveOn runs one face until it ends or the process is told to.
func serveOn(cmd *cobra.Command, logFile string, face func(context.Context, *server.Service, *slog.Logger) error) error {
	log, done, err := openLog(cmd, logFile)
	if err != nil {
		return err
	}
	defer done()
	if err := proc.Harden(); err != nil {
		log.Warn("this process may be readable by its children", "err", err)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	// An editor that has closed its end is an error of the write, and an orderly end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	service := server.New(server.Options{Home: config.Home(os.Environ()), Version: version, Log: log})
	return face(ctx, service, log)
}

// openLog opens the log: stderr, where editors look for it, or a file.
func openLog(cmd *cobra.Command, name string) (*slog.Logger, func(), error) {
	if name == "" {
		return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil)), func() {}, nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, usage(fmt.Errorf("opening the log: %w", err))
	}
	return slog.New(slog.NewTextHandler(file, nil)), func() { _ = file.Close() }, nil
}
