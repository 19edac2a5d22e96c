package codeexec

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// harmless are the variables visible to a script. The list names harmless variables and not
// secrets, because a secret may have any name (DATABASE_URL, SLACK_WEBHOOK).
var harmless = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ",
	"TMPDIR", "TMP", "TEMP", "COLUMNS", "LINES",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
	"PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV",
	"PYENV_ROOT", "PYENV_VERSION", "UV_PROJECT_ENVIRONMENT",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE",
}

// environ filters an environment for a child process: it keeps harmless variables and passthrough.
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

// scriptEnviron adds the variables of a script run by p to base.
func scriptEnviron(base []string, p Python, socket, token string) []string {
	env := set(base,
		"HERMES_RPC_SOCKET="+socket, "HERMES_RPC_TOKEN="+token,
		// for Python processes started by the script
		"PYTHONDONTWRITEBYTECODE=1", "PYTHONIOENCODING=utf-8", "PYTHONUTF8=1",
	)
	if p.Prefix != "" { // programs in it are found by name, as in an activated shell
		env = set(env, "PATH="+filepath.Dir(p.Path)+string(filepath.ListSeparator)+lookup(env, "PATH"))
		if p.Conda {
			env = set(env, "CONDA_PREFIX="+p.Prefix)
		} else {
			env = set(env, "VIRTUAL_ENV="+p.Prefix)
		}
	}
	return env
}

// set returns env with these variables. It removes others of the same names.
func set(env []string, settings ...string) []string {
	out := slices.Clone(env)
	for _, kv := range settings {
		name, _, _ := strings.Cut(kv, "=")
		out = slices.DeleteFunc(out, func(have string) bool { return strings.HasPrefix(have, name+"=") })
		out = append(out, kv)
	}
	return out
}

// lookup returns the value of the last variable of a name, or "".
func lookup(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}
