package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// secrets are files and folders of a home with keys, histories, or data of other programs.
var secrets = []string{
	".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".netrc", "_netrc", ".git-credentials",
	".config/git/credentials", ".config/gh", ".config/glab-cli", ".config/hub", ".config/gcloud",
	".config/op", ".config/rclone", ".config/doctl", ".config/heroku", ".config/containers/auth.json",
	".pypirc", ".gem/credentials", ".cargo/credentials", ".cargo/credentials.toml", ".m2/settings-security.xml",
	".terraform.d/credentials.tfrc.json", ".vault-token", ".databrickscfg", ".pgpass", ".my.cnf", ".s3cfg", ".boto",
	".password-store", ".local/share/keyrings", ".local/share/password-store",
	".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware", ".config/microsoft-edge",
	".claude", ".claude.json", ".codex", ".gemini", ".hermes", ".config/github-copilot",
	".bash_history", ".zsh_history", ".local/share/fish/fish_history", ".python_history", ".psql_history", ".mysql_history",
	".colima", ".lima", ".rd", ".orbstack", // sockets of container engines
	"Library/Keychains", "Library/Cookies", "Library/Application Support/Google/Chrome", "Library/Application Support/Firefox",
}

// withTokens maps settings files to their token settings. With a token, the file is secret; without
// it, tools need the file to reach a company's registry.
var withTokens = map[string]string{".npmrc": "_auth", ".yarnrc.yml": "npmAuthToken", ".config/pip/pip.conf": "@"}

// startFiles run when the user's next shell or desktop starts. They lie in a home,
// which is read-only unless it is the workspace.
var startFiles = []string{
	".profile", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".config/fish", ".config/autostart", ".config/systemd",
	".gitconfig", ".config/git", ".local/bin", "bin", ".cargo/bin", "go/bin", "Library/LaunchAgents",
}

// systemSecrets are for root, who could read them.
var systemSecrets = []string{"/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/krb5.keytab", "/etc/docker/key.json", "/var/lib/docker", "/var/lib/containerd"}

// sockets are folders in which services of the system and the desktop listen.
var sockets = []string{
	"/run", "/var/run", "/mnt/wslg", "/tmp/.X11-unix", "/var/lib/lxd", "/var/snap/lxd/common/lxd", "/var/lib/incus", "/var/lib/libvirt/qemu",
	"/var/lib/docker", "/var/lib/containerd", "/var/lib/containers/storage/podman",
}

// openSocketsLimit bounds the individually hidden sockets.
const openSocketsLimit = 100

// needed are sockets without which users and names are not found.
var neededSockets = []string{"/var/lib/sss/pipes", "/dev"}

// openSockets lists the sockets of services now listening elsewhere.
func openSockets() (paths []string) {
	text, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		_, path, ok := strings.Cut(line, " /")
		path = "/" + strings.TrimSpace(path)
		if !ok || fspath.UnderAny(path, sockets) || fspath.UnderAny(path, neededSockets) || fspath.UnderAny(path, tempFolders()) || len(paths) == openSocketsLimit {
			continue
		}
		if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
			paths = append(paths, path)
		}
	}
	return fspath.Existing(paths)
}

// resolver is the folder of systemd's resolver. A socket in it looks up names, also for
// programs without a network.
const resolver = "/run/systemd/resolve"

// ofRun lists the needed paths of /run: for name resolution, and on NixOS.
var ofRun = []string{
	resolver, "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/connman/resolv.conf",
	"/run/current-system", "/run/booted-system", "/run/opengl-driver",
}

// homes returns the user's homes and, for root, who could read them, all users' homes.
func homes(home string) []string {
	all := []string{home}
	if os.Geteuid() == 0 && runtime.GOOS == "linux" {
		others, _ := filepath.Glob("/home/*")
		all = append(append(all, "/root"), others[:min(len(others), 20)]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// unreadable lists the existing files and folders with secrets.
func unreadable(home, hermesHome string, environ []string) (paths []string) {
	for _, h := range homes(home) {
		if h == "" {
			continue
		}
		for _, name := range slices.Concat(secrets, toolSecrets) {
			paths = append(paths, filepath.Join(h, name))
		}
		for name, token := range withTokens {
			path := filepath.Join(h, name)
			if text, err := safefile.Read(path, safefile.Settings); err == nil && bytes.Contains(text, []byte(token)) {
				paths = append(paths, path)
			}
		}
	}
	paths = append(paths, hermesHome)
	if runtime.GOOS == "linux" {
		paths = append(paths, sockets...)
		if os.Geteuid() == 0 {
			paths = append(paths, systemSecrets...)
		}
	}
	return fspath.Existing(append(paths, listening(environ)...))
}

// listening returns the sockets named in the environment: of agents, desktops, editors.
func listening(environ []string) (paths []string) {
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == "XDG_RUNTIME_DIR" {
			paths = append(paths, value)
			continue
		}
		if i := strings.IndexByte(value, '/'); i >= 0 && i < 20 {
			path := strings.TrimPrefix(value[i:], "//")
			path, _, _ = strings.Cut(path, ",")
			path, _, _ = strings.Cut(path, ";")
			if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && info.Mode()&os.ModeSocket != 0 {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
