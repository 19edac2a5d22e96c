package mcp

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/inside"
	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// harmless are the variables passed from hermes-ls to a server's program. This is an allowlist,
// because secrets can have any name. If a server needs a key, its settings set it.
var harmless = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TZ",
	"TMPDIR", "TMP", "TEMP", "DISPLAY", "WAYLAND_DISPLAY", "DOCKER_HOST", "DOCKER_CONFIG",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"NVM_DIR", "VOLTA_HOME", "PNPM_HOME", "BUN_INSTALL", "DENO_DIR", "VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT",
	// Windows
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROCESSOR_ARCHITECTURE",
}

var harmlessPrefixes = []string{"LC_", "XDG_", "UV_", "npm_config_", "NPM_CONFIG_"}

// environ returns the environment of a server's program: our harmless variables, then the given
// variables. It omits variables that name a path in a workspace folder, such as VIRTUAL_ENV,
// because programs load files from there.
func environ(ours, given, roots []string) []string {
	var env []string
	for _, kv := range ours {
		name, value, _ := strings.Cut(kv, "=")
		safe := slices.Contains(harmless, name) || slices.Contains(harmless, strings.ToUpper(name)) ||
			slices.ContainsFunc(harmlessPrefixes, func(p string) bool { return strings.HasPrefix(name, p) })
		local := name != "PATH" && filepath.IsAbs(value) && inside.Within(value, roots)
		if safe && !local && !proc.Secret(name) && !named(given, name) {
			env = append(env, kv)
		}
	}
	return append(env, given...)
}

func named(env []string, name string) bool {
	return slices.ContainsFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
}

// Environ returns the environment of a user-configured program. It follows the rules for a server's
// program.
func Environ(ours, given, roots []string) []string { return environ(ours, given, roots) }
