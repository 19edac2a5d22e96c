package main

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// registries writes a file for each registry from which the archives are installed.
func (r *release) registries() error {
	if len(r.Archives) < 6 {
		return nil // they name all platforms
	}
	return fs.WalkDir(templates, "templates", func(name string, e fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, "templates/")
		if err != nil || e.IsDir() || path.Dir(rel) == "." || path.Dir(rel) == "npm" {
			return err // the files beside the folders, and npm's, are parts of packages
		}
		text, err := r.render(rel, r)
		if err != nil {
			return err
		}
		return r.write(rel, text)
	})
}

// render executes a template.
func (r *release) render(name string, data any) ([]byte, error) {
	t, err := template.New(path.Base(name)).Option("missingkey=error").ParseFS(templates, "templates/"+name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, data)
	return b.Bytes(), err
}

// URL returns the address of the archive for a platform, such as linux_amd64.
func (r *release) URL(platform string) string {
	return homepage + "/releases/download/v" + r.Version + "/" + r.Archives[platform].Name
}

// Sum returns the checksum of the archive for a platform.
func (r *release) Sum(platform string) string { return r.Archives[platform].Sum }

// Folder returns the folder in the archive for a platform.
func (r *release) Folder(platform string) string {
	return "hermes-ls-" + r.Version + "-" + strings.ReplaceAll(platform, "_", "-")
}

// Targets returns the platforms by their names in Zed and the ACP registry.
func (r *release) Targets() map[string]string {
	return map[string]string{
		"linux-x86_64": "linux_amd64", "linux-aarch64": "linux_arm64",
		"darwin-x86_64": "darwin_amd64", "darwin-aarch64": "darwin_arm64",
		"windows-x86_64": "windows_amd64", "windows-aarch64": "windows_arm64",
	}
}

// Mason returns the platforms by Mason's names.
func (r *release) Mason() map[string]string {
	return map[string]string{
		"linux_x64": "linux_amd64", "linux_arm64": "linux_arm64", "darwin_x64": "darwin_amd64",
		"darwin_arm64": "darwin_arm64", "win_x64": "windows_amd64", "win_arm64": "windows_arm64",
	}
}

// Nix returns the platforms by the names of Nix.
func (r *release) Nix() map[string]string {
	return map[string]string{
		"x86_64-linux": "linux_amd64", "aarch64-linux": "linux_arm64",
		"x86_64-darwin": "darwin_amd64", "aarch64-darwin": "darwin_arm64",
	}
}
