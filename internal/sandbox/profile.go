package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/sandbox/fspath"
)

// profile returns a policy in the language of macOS's sandbox-exec, in which the last matching rule
// counts.
func profile(p Policy) string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	writable := slices.Clone(p.Writable)
	if p.Mode != ReadOnly {
		writable = append(writable, p.Roots...)
	}
	if p.temp != nil {
		writable = append(writable, "/tmp", "/var/tmp", os.TempDir())
	}
	allow := func(rule, what string, paths []string) {
		for _, path := range fspath.Existing(paths) {
			fmt.Fprintf(&b, "(%s %s (subpath %s))\n", rule, what, quote(path))
		}
	}
	b.WriteString("(allow file-write* (literal \"/dev/null\") (literal \"/dev/zero\") (literal \"/dev/dtracehelper\") (regex #\"^/dev/(tty|pty|fd/)\"))\n")
	visible := slices.Clone(p.Visible)
	if p.view != nil && p.view.home != "" {
		home := quote(p.view.home)
		// The folders on the way to a visible path must be found.
		fmt.Fprintf(&b, "(deny file-read* (subpath %s))\n(allow file-read-metadata (subpath %s))\n", home, home)
		visible = append(visible, p.view.clean()...)
	}
	allow("deny", "file-read*", p.Unreadable)
	allow("allow", "file-read*", visible)
	if p.view != nil {
		allow("deny", "file-read*", p.view.dirty())
	}
	allow("deny", "file-read*", hiddenWithin(p.Unreadable, visible))
	allow("allow", "file-read* file-write*", writable)
	allow("deny", "file-read* file-write*", hiddenWithin(p.Unreadable, writable))
	allow("deny", "file-write*", p.ReadOnly)
	for _, path := range fspath.Existing(p.Pinned) {
		fmt.Fprintf(&b, "(deny file-write-unlink (literal %s))\n", quote(path))
	}
	b.WriteString("(deny process-info*)\n(allow process-info* (target same-sandbox))\n(deny signal)\n(allow signal (target same-sandbox))\n")
	if !p.Network {
		b.WriteString("(deny network*)\n(allow network* (local unix-socket))\n(allow network* (remote unix-socket))\n")
	}
	if p.view != nil && p.view.home != "" { // sockets of the user's programs
		fmt.Fprintf(&b, "(deny network-outbound (subpath %s))\n", quote(p.view.home))
		allow("allow", "network-outbound", writable)
	}
	return b.String()
}

// hiddenWithin returns the secrets in writable folders.
func hiddenWithin(hidden, writable []string) (paths []string) {
	for _, h := range hidden {
		if slices.ContainsFunc(writable, func(w string) bool { return h != w && fspath.Under(h, w) }) {
			paths = append(paths, h)
		}
	}
	return paths
}

func quote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
