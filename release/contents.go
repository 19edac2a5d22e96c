package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// component is a module in a CycloneDX list of contents.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// contents writes the modules in the programs, as reported by the programs themselves, in the
// format CycloneDX 1.6.
func (r *release) contents() error {
	found := map[string]component{}
	for _, b := range r.builds {
		info, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return err
		}
		found["go"] = component{"library", "std", info.GoVersion, "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			found[m.Path] = component{"library", m.Path, m.Version, "pkg:golang/" + m.Path + "@" + m.Version}
		}
	}
	components := make([]component, 0, len(found))
	for _, c := range found {
		components = append(components, c)
	}
	slices.SortFunc(components, func(a, b component) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat":   "CycloneDX",
		"specVersion": "1.6",
		"version":     1,
		"metadata": map[string]any{
			"timestamp": r.date.Format("2006-01-02T15:04:05Z"),
			"component": component{"application", "hermes-ls", r.Version, "pkg:golang/github.com/hermes-ls/hermes-ls@v" + r.Version},
		},
		"components": components,
	}, "", "  ")
	if err != nil {
		return err
	}
	return r.write("hermes-ls-"+r.Version+".cdx.json", append(text, '\n'))
}

// checksums writes SHA256SUMS, which `sha256sum --check` reads.
func (r *release) checksums() error {
	var sums strings.Builder
	err := filepath.WalkDir(r.out, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == "build":
			return fs.SkipDir
		case e.IsDir() || e.Name() == "SHA256SUMS":
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.out, path)
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), filepath.ToSlash(name))
		return err
	})
	if err != nil {
		return err
	}
	return r.write("SHA256SUMS", []byte(sums.String()))
}
