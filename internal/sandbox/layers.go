package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/proc/confine"
)

// Values of sandbox.caches.
const (
	OwnCaches    = "own"    // only the agent sees the commands' changes in caches
	SharedCaches = "shared" // commands write the user's caches
)

// layerDir returns the folder in which the layers of the workspace lie, and holds it
// against being swept until the Box is closed.
func (b *Box) layerDir(temp *Temp) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.layers != "" {
		return b.layers, nil
	}
	dir := temp.dir.Path("caches")
	if b.cfg.HermesHome != "" {
		dir = filepath.Join(b.cfg.HermesHome, "caches", workspaceName(b.workspaceLocked()))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	lock, err := holdFolder(dir)
	if err != nil {
		return "", err
	}
	b.held = lock
	if b.cfg.HermesHome != "" {
		b.sweeper = startSweeper(filepath.Join(b.cfg.HermesHome, "caches"))
		_ = noteWorkspace(dir, b.workspaceLocked()) // without it, the layers are not found when the workspace is renamed
	}
	b.layers = fspath.Real(dir)
	return b.layers, nil
}

// workspaceLocked returns the folder whose layers are used. b.mu is held.
func (b *Box) workspaceLocked() string {
	if b.cfg.Workspace == "" {
		if roots := b.cfg.Roots(); len(roots) > 0 {
			b.cfg.Workspace = fspath.Real(roots[0])
		}
	}
	return b.cfg.Workspace
}

// workspaceName is the name of a workspace's folder: readable, and no other's.
func workspaceName(path string) string {
	sum := sha256.Sum256([]byte(path))
	base := strings.Map(func(r rune) rune {
		if r < '0' || r > 'z' || r > '9' && r < 'A' || r > 'Z' && r < 'a' {
			return '-'
		}
		return r
	}, filepath.Base(path))
	return base[:min(len(base), 40)] + "-" + hex.EncodeToString(sum[:8])
}

// layerName is the name of a cache's layer.
func layerName(path, home string) string {
	if rel, err := filepath.Rel(home, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	name := url.PathEscape(path)
	if len(name) > 200 {
		sum := sha256.Sum256([]byte(path))
		name = hex.EncodeToString(sum[:])
	}
	return name
}

// arrangeCaches adds the tools' caches to a policy.
func (b *Box) arrangeCaches(ctx context.Context, m Mechanism, p *Policy, c *proc.Cmd) {
	if b.wanted() != WorkspaceWrite {
		p.showCaches()
		return
	}
	b.mu.Lock()
	own := b.cfg.Caches != SharedCaches
	b.mu.Unlock()
	if !own {
		shared := b.caches()
		p.showCaches(shared...)
		p.Writable = append(p.Writable, shared...)
		return
	}
	dir, err := b.layerDir(p.temp)
	if err != nil {
		p.showCaches() // read-only, rather than shared
		return
	}
	switch {
	case m.Kind == Landlock || m.Kind == Seatbelt:
		p.showCaches()
		plain := filepath.Join(dir, "plain")
		if os.MkdirAll(plain, 0o700) == nil {
			p.Writable = append(p.Writable, plain)
			c.Env = redirected(c.Env, plain, p.view)
		}
	default:
		p.layer(dir, b.cannotLayer(ctx, m, *p, dir))
	}
}

// showCaches makes the user's caches readable, except the written ones.
func (p *Policy) showCaches(written ...string) {
	for _, f := range p.view.caches {
		if !f.missing && !slices.Contains(written, f.path) {
			p.Visible = append(p.Visible, f.path)
		}
	}
}

// layer redirects writes in caches to a layer of ours, except for caches that cannot be layered.
func (p *Policy) layer(dir string, without func(path string) bool) {
	p.layerDir = dir
	for _, f := range p.view.caches {
		switch {
		case f.missing:
			p.bind(dir, f.path)
		case without(f.path):
			p.replace(dir, f)
		default:
			p.layers = append(p.layers, confine.Copy{From: layerName(f.path, p.view.home), At: f.path})
		}
	}
}

// replace mounts a folder of ours over a cache that cannot be layered. Programs installed by the
// user stay visible and read-only.
func (p *Policy) replace(dir string, f cacheFolder) {
	if !f.programs {
		p.bind(dir, f.path)
		return
	}
	p.Visible = append(p.Visible, f.path)
	for _, part := range f.parts {
		if info, err := os.Lstat(filepath.Join(f.path, part)); err == nil && info.IsDir() {
			p.bind(dir, filepath.Join(f.path, part))
		}
	}
}

func (p *Policy) bind(dir, path string) {
	own := filepath.Join(dir, "plain", layerName(path, p.view.home))
	if err := os.MkdirAll(own, 0o755); err == nil {
		p.binds = append(p.binds, confine.Copy{From: own, At: path})
	}
}

// layered remembers which folders cannot be layered, for all sessions of the process.
var layered struct {
	sync.Mutex
	trials map[string]trial
}

// trial records which folders could not be layered, and the time of the attempt.
type trial struct {
	without []string
	at      time.Time
}

// trialAge is how long a failed trial counts: the cause, such as a full disk, may go.
const trialAge = time.Minute

// cannotLayer reports of paths whether the caches there cannot be layered, by trying it once.
func (b *Box) cannotLayer(ctx context.Context, m Mechanism, p Policy, dir string) func(path string) bool {
	if m.Kind != Namespaces {
		return func(string) bool { return true }
	}
	p.layers, p.binds = nil, nil
	p.layer(dir, func(string) bool { return false })
	args := []string{"/bin/sh", "-c", `for dir; do [ -w "$dir" ] || printf '%s\0' "$dir"; done`, "sh"}
	for _, l := range p.layers {
		if fspath.Under(l.At, p.view.home) {
			args = append(args, l.At)
		}
	}
	key := fmt.Sprintf("%q %q", filepath.Dir(dir), args)
	layered.Lock()
	defer layered.Unlock()
	t, known := layered.trials[key]
	if !known || len(t.without) > 0 && time.Since(t.at) > trialAge {
		t = trial{tryLayers(ctx, m, p, args), time.Now()}
		if layered.trials == nil {
			layered.trials = map[string]trial{}
		}
		if ctx.Err() == nil {
			layered.trials[key] = t
		}
	}
	return func(path string) bool { return slices.Contains(t.without, path) }
}

// tryLayers runs a command in the layers to list the arguments it cannot write. If the command does
// not run, tryLayers returns all.
func tryLayers(ctx context.Context, m Mechanism, p Policy, args []string) (without []string) {
	out := &proc.Bounded{Limit: insideOutput}
	c := proc.Cmd{Args: args, Dir: "/", Stdout: out}
	if m.apply(p, &c, p.temp) == nil {
		if exit, err := proc.Run(ctx, c); err == nil && exit.Code == 0 {
			return strings.Split(out.String(), "\x00")
		}
	}
	for _, l := range p.layers {
		without = append(without, l.At)
	}
	return without
}

// redirection is a variable that moves a tool's cache.
type redirection struct{ name, dir, prefix string }

// redirections are for where folders cannot stand in for others.
var redirections = []redirection{
	{name: "XDG_CACHE_HOME", dir: "cache"}, {name: "GOCACHE", dir: "go-build"}, {name: "GOMODCACHE", dir: "go-mod"}, {name: "GOBIN", dir: "go-bin"},
	{name: "npm_config_cache", dir: "npm"}, {name: "npm_config_store_dir", dir: "pnpm"}, {name: "YARN_CACHE_FOLDER", dir: "yarn"},
	{name: "YARN_GLOBAL_FOLDER", dir: "yarn-berry"}, {name: "BUN_INSTALL_CACHE_DIR", dir: "bun"}, {name: "DENO_DIR", dir: "deno"},
	{name: "CARGO_HOME", dir: "cargo"}, {name: "PIP_CACHE_DIR", dir: "pip"}, {name: "UV_CACHE_DIR", dir: "uv"}, {name: "POETRY_CACHE_DIR", dir: "poetry"},
	{name: "PRE_COMMIT_HOME", dir: "pre-commit"}, {name: "GRADLE_USER_HOME", dir: "gradle"}, {name: "MAVEN_ARGS", dir: "maven", prefix: "-Dmaven.repo.local="},
	{name: "NUGET_PACKAGES", dir: "nuget"}, {name: "CCACHE_DIR", dir: "ccache"}, {name: "SCCACHE_DIR", dir: "sccache"}, {name: "BUNDLE_USER_CACHE", dir: "bundle"},
	{name: "COMPOSER_CACHE_DIR", dir: "composer"}, {name: "CONDA_PKGS_DIRS", dir: "conda"}, {name: "JUPYTER_RUNTIME_DIR", dir: "jupyter"},
}

// redirected returns an environment in which tools use caches below dir. It copies the user's
// settings there if tools would miss them. Commands can write dir, so redirected never writes
// outside of it.
func redirected(environ []string, dir string, v *homeView) []string {
	environ = slices.Clone(environ)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return environ
	}
	defer root.Close() // only a handle
	for _, r := range redirections {
		if err := root.MkdirAll(r.dir, 0o700); err != nil {
			continue
		}
		environ = withVariable(environ, r, filepath.Join(dir, r.dir))
	}
	for from, to := range map[string]string{".cargo/": "cargo", ".gradle/": "gradle"} {
		for _, f := range v.inTools {
			if name, ok := strings.CutPrefix(f.name, from); ok {
				root.Remove(filepath.Join(to, name))                   // an earlier copy
				root.WriteFile(filepath.Join(to, name), f.text, 0o600) // on an error, the tool uses its defaults
			}
		}
	}
	return environ
}

func withVariable(environ []string, r redirection, path string) []string {
	value := r.prefix + path
	i := slices.IndexFunc(environ, func(kv string) bool { return strings.HasPrefix(kv, r.name+"=") })
	switch {
	case i < 0:
		return append(environ, r.name+"="+value)
	case r.prefix == "":
		environ[i] = r.name + "=" + value
	case !strings.Contains(environ[i], value):
		environ[i] += " " + value
	}
	return environ
}
