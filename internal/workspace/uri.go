package workspace

import (
	"net/url"
	"runtime"
	"strings"
)

// FromURI returns the path of a file URI, such as file:///home/ann/a%20b.go. It drops a query and
// a fragment such as #L3. Any other text, and a URI of another machine, stays as it is.
func FromURI(path string) string { return fromURI(path, runtime.GOOS == "windows") }

func fromURI(path string, windows bool) string {
	if len(path) < 8 || !strings.EqualFold(path[:7], "file://") {
		return path
	}
	u, err := url.Parse(path)
	if err != nil || u.Host != "" && u.Host != "localhost" || u.Path == "" || strings.ContainsRune(u.Path, 0) {
		return path
	}
	if windows {
		return strings.ReplaceAll(strings.TrimPrefix(u.Path, "/"), "/", `\`)
	}
	return u.Path
}
