package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/redact"
	"github.com/hermes-ls/hermes-ls/server/app"
)

func bugCommand() *cobra.Command {
	var output, logFile string
	cmd := &cobra.Command{
		Use:   "bug",
		Short: "Write a report for a bug: version, system, doctor, configuration, log",
		Example: "  hermes-ls bug\n" +
			"  hermes-ls bug --log /tmp/hermes.log --output report.txt",
		Long: "The report has no secrets, and no texts of sessions except those in the log.\n" +
			"If a secret is left in it, nothing is written. Read the report before you send it to others.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), 30*time.Second)
			defer cancel()
			report, err := bugReport(ctx, logFile)
			if err != nil {
				return err
			}
			return writeReport(cmd.OutOrStdout(), output, report)
		},
	}
	cmd.Flags().StringVar(&output, "output", "", "write the report to the new file `FILE` instead of stdout")
	cmd.Flags().StringVar(&logFile, "log", "", "include the last lines of the log `FILE`")
	return cmd
}

// part is a part of a report.
type part struct{ title, text string }

// bugReport returns the report. If a part would contain a secret, it returns an error with the
// part's name.
func bugReport(ctx context.Context, logFile string) (string, error) {
	loaded, secrets := loadConfig(), knownSecrets()
	tail, err := logTail(logFile)
	if err != nil {
		return "", err
	}
	settings, err := changedSettings(loaded, secrets)
	if err != nil {
		return "", err
	}
	parts := []part{
		{"Version", versionText()},
		{"System", systemText()},
		{"Doctor", doctorText(ctx, loaded)},
		{"Settings that differ from the defaults", settings},
		{"Environment variables that are set (names only)", environNames(os.Environ())},
		{"Log", secrets.Text(tail)},
	}
	var b strings.Builder
	b.WriteString("hermes-ls bug report. Read it before you send it: it holds paths and names of your system.\n")
	for _, p := range parts {
		if found := secrets.Find(p.text); found != "" {
			return "", fmt.Errorf("no report was written: the part %q would hold a secret (%s). Remove it there, or send the other parts by hand", p.title, found)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", p.title, strings.TrimRight(p.text, "\n"))
	}
	return b.String(), nil
}

// writeReport writes the report to a new file. If file is empty, it writes to out. If the
// file exists, it returns an error.
func writeReport(out io.Writer, file, report string) error {
	if file == "" {
		_, err := io.WriteString(out, report)
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return usage(fmt.Errorf("%s exists and was not changed: name another file", file))
	}
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	_, err = io.WriteString(f, report)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing the report: %w; %s is not complete", err, file)
	}
	fmt.Fprintf(out, "The report is in %s. Read it before you send it.\n", file)
	return nil
}

func versionText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "hermes-ls %s, commit %s, %s\n", version(), commitID(), runtime.Version())
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b.String()
	}
	for _, s := range info.Settings {
		if s.Key == "-ldflags" || s.Key == "CGO_CFLAGS" || s.Value == "" {
			continue
		}
		fmt.Fprintf(&b, "%s=%s\n", s.Key, s.Value)
	}
	return b.String()
}

func systemText() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s, %s\n", runtime.GOOS, runtime.GOARCH, amount.Plural(runtime.NumCPU(), "processor"))
	for _, f := range []struct{ what, path string }{{"kernel", "/proc/sys/kernel/osrelease"}, {"system", "/etc/os-release"}} {
		data, err := os.ReadFile(f.path)
		if err != nil {
			continue // the file of another system
		}
		for line := range strings.Lines(string(data)) {
			name, value, assigned := strings.Cut(strings.TrimSpace(line), "=")
			if !assigned {
				value = name
			}
			if !assigned || name == "PRETTY_NAME" {
				fmt.Fprintf(&b, "%s: %s\n", f.what, strings.Trim(value, `"`))
			}
		}
	}
	return b.String()
}

func doctorText(ctx context.Context, loaded *config.Loaded) string {
	var b strings.Builder
	for _, f := range examine(ctx, loaded) {
		fmt.Fprintf(&b, "%-4s  %-11s %s\n", f.State, f.What, f.Text)
	}
	return b.String()
}

// changedSettings returns the settings that differ from the defaults, as JSON.
func changedSettings(loaded *config.Loaded, secrets *redact.Set) (string, error) {
	changed := difference(loaded.Values(), app.Config().Defaults())
	if len(changed) == 0 {
		return "none", nil
	}
	data, err := cli.Encode(secrets.Meaning(changed))
	if err != nil {
		return "", fmt.Errorf("describing the settings: %w", err)
	}
	data, _ = secrets.JSON(data)
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		return "", fmt.Errorf("describing the settings: %w", err)
	}
	return b.String(), nil
}

// difference returns the part of a tree missing in the defaults.
func difference(now, defaults map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range now {
		section, ok := value.(map[string]any)
		below, _ := defaults[key].(map[string]any)
		switch {
		case ok:
			if d := difference(section, below); len(d) > 0 {
				out[key] = d
			}
		case !reflect.DeepEqual(value, defaults[key]):
			out[key] = value
		}
	}
	return out
}

// relevant are the prefixes of variables with an effect on hermes-ls.
var relevant = []string{
	"HERMES_", "XDG_", "LC_", "LANG", "SHELL", "TERM", "COLORTERM", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	"SSL_CERT_", "PYTHON", "VIRTUAL_ENV", "CONDA_", "SSH_CONNECTION", "WSL_", "container", "NVIM", "VSCODE_", "GIT_", "GODEBUG", "GOMAXPROCS", "GOMEMLIMIT",
}

// environNames returns the names of relevant variables, and of variables with secrets.
func environNames(environ []string) string {
	var names []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		matters := slices.ContainsFunc(relevant, func(prefix string) bool {
			return strings.HasPrefix(strings.ToUpper(name), strings.ToUpper(prefix))
		})
		if value != "" && (matters || proc.Secret(name)) {
			names = append(names, name)
		}
	}
	if names == nil {
		return "none"
	}
	slices.Sort(names)
	return strings.Join(names, "\n")
}

// Limits of the part of the log.
const (
	tailBytes = 64 << 10
	tailLines = 200
)

// logTail returns the last lines of a log.
func logTail(file string) (string, error) {
	if file == "" {
		return "not included: name it with --log FILE", nil
	}
	if info, err := os.Stat(file); err != nil {
		return "", fmt.Errorf("reading the log: %w", err)
	} else if !info.Mode().IsRegular() {
		return "", fmt.Errorf("reading the log: %s is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("reading the log: %w", err)
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", fmt.Errorf("reading the log: %w", err)
	}
	start := max(0, end-tailBytes)
	data, err := io.ReadAll(io.NewSectionReader(f, start, end-start))
	if err != nil {
		return "", fmt.Errorf("reading the log: %w", err)
	}
	lines := strings.Split(strings.TrimRight(strings.ToValidUTF8(string(data), "?"), "\n"), "\n")
	if start > 0 && len(lines) > 0 {
		lines = lines[1:] // starts in the middle of a line
	}
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n"), nil
}
