package codeexec

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// harmless are the variables that a script sees. Everything else stays with the
// server: a secret may have any name (DATABASE_URL, SLACK_WEBHOOK), so only a list
// of what is none can keep them.
var harmless = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ",
	"TMPDIR", "TMP", "TEMP", "COLUMNS", "LINES",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
	"PYENV_ROOT", "PYENV_VERSION", "UV_PROJECT_ENVIRONMENT",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
}

// environ is what a child sees of the server's environment: the harmless names, and
// those that the user has named.
func environ(all, passthrough []string) []string {
	var env []string
	for _, kv := range all {
		name, _, _ := strings.Cut(kv, "=")
		safe := slices.Contains(harmless, name) || strings.HasPrefix(name, "LC_")
		if safe && !proc.Secret(name) || slices.Contains(passthrough, name) {
			env = append(env, kv)
		}
	}
	return env
}

// scriptEnviron is the environment of a script that p runs.
func scriptEnviron(base []string, p Python, socket, token string) []string {
	env := set(base,
		"HERMES_RPC_SOCKET="+socket, "HERMES_RPC_TOKEN="+token,
		// For a Python that the script starts itself.
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8", "PYTHONUTF8=1",
	)
	if p.Prefix != "" { // what is installed beside it is found by name, as in an activated shell
		env = set(env, "PATH="+filepath.Dir(p.Path)+string(filepath.ListSeparator)+lookup(env, "PATH"))
		if p.Conda {
			env = set(env, "CONDA_PREFIX="+p.Prefix)
		} else {
			env = set(env, "VIRTUAL_ENV="+p.Prefix)
		}
	}
	return env
}

// set puts variables in place of those of the same name.
func set(env []string, settings ...string) []string {
	out := slices.Clone(env)
	for _, kv := range settings {
		name, _, _ := strings.Cut(kv, "=")
		out = slices.DeleteFunc(out, func(have string) bool { return strings.HasPrefix(have, name+"=") })
		out = append(out, kv)
	}
	return out
}

func lookup(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
