package skills

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	wellKnown     = "well-known:"
	wellKnownPath = "/.well-known/skills/index.json"
	mostRedirects = 5
)

// sourceOf returns the kind of a source other than a directory: url, well-known or git.
func sourceOf(from string) string {
	switch {
	case strings.HasPrefix(from, wellKnown):
		return "well-known"
	case strings.HasPrefix(from, "https://") && strings.HasSuffix(pathOf(from), "/SKILL.md"):
		return "url"
	}
	return "git"
}

func pathOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Path
}

// transport sends the requests of [client]; nil: [http.DefaultTransport]. Tests replace it.
var transport http.RoundTripper

// client gets files over HTTPS only, without cookies.
func client() *http.Client {
	return &http.Client{Transport: transport, Timeout: time.Minute, CheckRedirect: func(r *http.Request, before []*http.Request) error {
		if r.URL.Scheme != "https" || len(before) >= mostRedirects {
			return fmt.Errorf("the redirect to %s is not followed", r.URL.Redacted())
		}
		return nil
	}}
}

// get returns a file of a server.
func get(ctx context.Context, c *http.Client, address string, most int64) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if r.URL.Scheme != "https" {
		return nil, fmt.Errorf("%s is not an https address", r.URL.Redacted())
	}
	answer, err := c.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() // only read
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", r.URL.Redacted(), answer.Status)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", r.URL.Redacted(), most)
	}
	return data, err
}

// fetchFile downloads a SKILL.md into a directory below work, named as on the server.
func fetchFile(ctx context.Context, work, from string) (dir string, err error) {
	data, err := get(ctx, client(), from, largestSkill)
	if err != nil {
		return "", err
	}
	name := strings.ToLower(path.Base(path.Dir(pathOf(from))))
	if !ValidNew(name) {
		name = "skill"
	}
	dir = filepath.Join(work, name)
	return dir, writeBelow(dir, "SKILL.md", data)
}

// published is a skill in the index of a server.
type published struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Files       []string `json:"files"`
}

// fetchPublished downloads a skill from a server's index: well-known:ADDRESS or
// well-known:ADDRESS#NAME.
func fetchPublished(ctx context.Context, work, from string) (dir string, err error) {
	address, name, _ := strings.Cut(strings.TrimPrefix(from, wellKnown), "#")
	if !strings.HasSuffix(address, "/index.json") {
		address = strings.TrimSuffix(address, "/") + wellKnownPath
	}
	c := client()
	data, err := get(ctx, c, address, 1<<20)
	if err != nil {
		return "", err
	}
	var index struct{ Skills []published }
	if err := json.Unmarshal(data, &index); err != nil {
		return "", fmt.Errorf("%s: %w", address, err)
	}
	var names []string
	for _, s := range index.Skills {
		names = append(names, s.Name)
	}
	if name == "" && len(names) == 1 {
		name = names[0]
	}
	at := slices.Index(names, name)
	switch {
	case name == "":
		return "", fmt.Errorf("there are %d skills; name one by #NAME: %s", len(names), strings.Join(names[:min(len(names), 30)], ", "))
	case at < 0:
		return "", fmt.Errorf("%s has no skill %q", address, name)
	case !validName.MatchString(name):
		return "", fmt.Errorf("the name %q must have 1 to 64 lower-case letters, digits and hyphens", name)
	}
	files := index.Skills[at].Files
	if len(files) == 0 {
		files = []string{"SKILL.md"}
	}
	if len(files) > scanFiles {
		return "", fmt.Errorf("it has more than %d files", scanFiles)
	}
	dir = filepath.Join(work, name)
	left := int64(scanBytes)
	for _, file := range files {
		if !filepath.IsLocal(filepath.FromSlash(file)) || strings.ContainsAny(file, "?#%\\") {
			return "", fmt.Errorf("the path %q leaves the skill", file)
		}
		data, err := get(ctx, c, strings.TrimSuffix(address, "index.json")+name+"/"+(&url.URL{Path: file}).EscapedPath(), left)
		if err != nil {
			return "", err
		}
		if left -= int64(len(data)); left < 0 {
			return "", errors.New("it is too large")
		}
		if err := writeBelow(dir, file, data); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func writeBelow(dir, name string, data []byte) error {
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
