package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/debug"
	"github.com/hermes-ls/hermes-ls/internal/debug/tap"
	"github.com/hermes-ls/hermes-ls/internal/debug/trace"
	"github.com/hermes-ls/hermes-ls/internal/redact"
	"github.com/hermes-ls/hermes-ls/protocol/wire"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/app"
	"github.com/hermes-ls/hermes-ls/server/recording"
)

// logFlags are the flags of the log.
type logFlags struct {
	file  string
	level string
}

const levels = "debug|info|warn|error"

// add adds the flags. The level applies if --log-level is not given.
func (f *logFlags) add(flags *pflag.FlagSet, level string) {
	flags.StringVar(&f.file, "log", "", "append the log to `FILE` instead of stderr")
	flags.StringVar(&f.level, "log-level", level, "lowest level that is logged: `"+levels+"`")
}

// open opens the log: stderr, where editors look for it, or a file. Secrets are redacted.
func (f *logFlags) open(cmd *cobra.Command, secrets *redact.Set) (*slog.Logger, func(), error) {
	var level slog.Level
	switch f.level {
	case "debug", "info", "warn", "error":
		_ = level.UnmarshalText([]byte(f.level)) // it is one of the four levels
	default:
		return nil, nil, cli.OneOf("--log-level", f.level, "use "+levels, strings.Split(levels, "|")...)
	}
	out, done := io.Writer(cmd.ErrOrStderr()), func() {}
	if f.file != "" {
		file, err := os.OpenFile(f.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, nil, usage(fmt.Errorf("opening the log: %w", err))
		}
		out, done = file, func() { _ = file.Close() }
	}
	return slog.New(slog.NewTextHandler(secrets.Writer(out), &slog.HandlerOptions{Level: level})), done, nil
}

// knownSecrets returns the secrets of the configuration, of the environment and of .env.
// It reads the files at the first use, and again when they change.
func knownSecrets() *redact.Set {
	home := config.Home(os.Environ())
	var mu sync.Mutex
	var values map[string]string
	var stamp string
	return redact.New(func() map[string]string {
		now := stampOf(config.Path(home)) + stampOf(config.EnvPath(home))
		mu.Lock()
		defer mu.Unlock()
		if values == nil || now != stamp {
			loaded := app.Config().Load(home, config.Options{Environ: os.Environ()})
			values, stamp = app.Secrets(loaded), now
		}
		return values
	})
}

// stampOf returns a text that differs between versions of a file.
func stampOf(path string) string {
	info, err := os.Stat(filepath.Clean(path))
	if err != nil {
		return "-;"
	}
	return fmt.Sprintf("%d %d;", info.Size(), info.ModTime().UnixNano())
}

// serveFlags are the flags of serve and acp.
type serveFlags struct {
	log   logFlags
	trace string
	debug string
}

func (f *serveFlags) add(flags *pflag.FlagSet) {
	f.log.add(flags, "info")
	flags.StringVar(&f.trace, "trace", "", "write all messages of the connection to `FILE`, secrets redacted; see CONTRIBUTING.md")
	flags.StringVar(&f.debug, "debug", "", "serve debug pages over HTTP on the Unix socket `SOCKET`; see CONTRIBUTING.md")
}

// instruments hold the state of --trace and --debug. Without a flag, its fields are nil.
type instruments struct {
	framing  tap.Framing
	trace    *trace.Recorder
	models   *recording.Recorder
	debug    *debug.Server
	meter    *debug.Meter
	requests atomic.Int64 // id of the last model request, for the meter
	log      *slog.Logger
}

// instruments opens the trace and the debug socket. If the trace cannot be opened, the error is
// logged, and the server runs without it.
func (f *serveFlags) instruments(protocol string, secrets *redact.Set, log *slog.Logger) (*instruments, error) {
	i := &instruments{log: log}
	if protocol == "acp" {
		i.framing = tap.Lines
	}
	if f.debug != "" {
		listener, err := debug.Listen(f.debug)
		if err != nil {
			return nil, usage(fmt.Errorf("opening the debug socket: %w", err))
		}
		i.meter = debug.NewMeter()
		i.debug = debug.Serve(listener, version(), i.meter)
	}
	if f.trace != "" {
		i.openTrace(f.trace, protocol, secrets)
	}
	return i, nil
}

func (i *instruments) openTrace(path, protocol string, secrets *redact.Set) {
	cwd, _ := os.Getwd() // if it is not known, the client sends its directory
	recorder, err := trace.Open(path, trace.Options{
		Recording: trace.Recording{Protocol: protocol, Version: version(), Cwd: cwd, Home: config.Home(os.Environ())},
		Redact:    secrets.JSON,
		Failed:    func(err error) { i.log.Warn(err.Error()) },
	})
	if err != nil {
		i.log.Warn(err.Error())
		return
	}
	i.trace, i.models = recorder, recording.New(recorder.Model)
}

// wrap returns the ends of the connection. If instruments are on, they observe the frames.
func (i *instruments) wrap(in io.Reader, out io.Writer) (io.Reader, io.Writer) {
	var observers []tap.Observer
	if i.trace != nil {
		observers = append(observers, i.trace.Frame)
	}
	if i.meter != nil {
		observers = append(observers, i.meter.Frame)
	}
	if observers == nil {
		return in, out
	}
	return tap.Wrap(in, out, i.framing, observers...)
}

// service returns the instruments for the service.
func (i *instruments) service() server.Instruments {
	if i.trace == nil && i.meter == nil {
		return server.Instruments{}
	}
	return server.Instruments{Model: i.model, Event: i.event}
}

func (i *instruments) model(m model.Model) model.Model {
	if i.models != nil {
		m = i.models.Model(m)
	}
	if i.meter != nil {
		m = &meteredModel{m, i.meter, &i.requests}
	}
	return m
}

func (i *instruments) event(session string, e agent.Event) {
	if i.models != nil {
		i.models.Event(session, e)
	}
	if i.meter != nil {
		countEvent(i.meter, session, e)
	}
}

// serve adds the service to the debug pages. It returns a function for adding the queues of the
// connection. Without --debug, it returns nil.
func (i *instruments) serve(s *server.Service) func(func() wire.Queues) {
	if i.debug == nil {
		return nil
	}
	return func(queues func() wire.Queues) { i.debug.Handle(debugPages(s, queues)...) }
}

func (i *instruments) close() {
	if i.debug != nil {
		i.debug.Close()
	}
	if i.trace != nil {
		if err := i.trace.Close(); err != nil {
			i.log.Warn(err.Error())
		}
	}
}
