package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"path"
	"strings"
)

// nfpm makes the Linux packages. It comes from the Go proxy.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4"

// linuxPackages makes a .deb and an .rpm for each Linux platform.
func (r *release) linuxPackages() error {
	pages, err := r.installed()
	if err != nil {
		return err
	}
	for _, b := range r.builds {
		if b.OS != "linux" {
			continue
		}
		config, err := r.render("nfpm.yaml", struct {
			*release
			Build  build
			Binary string
			Pages  map[string]string
			Date   string
		}{r, b, b.path, pages, r.date.Format("2006-01-02T15:04:05Z")})
		if err != nil {
			return err
		}
		name := "build/nfpm-" + b.Arch + ".yaml"
		if err := r.write(name, config); err != nil {
			return err
		}
		env := []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix())}
		for _, kind := range []string{"deb", "rpm"} {
			if err := run(env, "go", "run", nfpm, "package", "--config", r.path(name), "--packager", kind, "--target", r.out); err != nil {
				return err
			}
		}
	}
	return nil
}

// installed writes the shared files as Linux packages install them, and returns their paths by
// destination. Man pages are compressed.
func (r *release) installed() (map[string]string, error) {
	paths := map[string]string{}
	for _, f := range r.shared {
		to, data := destination(f.name), f.data
		if strings.HasPrefix(f.name, "man/") {
			var b bytes.Buffer
			zw, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
			if _, err := zw.Write(data); err != nil {
				return nil, err
			}
			if err := zw.Close(); err != nil {
				return nil, err
			}
			data = b.Bytes()
		}
		name := "build/installed" + to
		if err := r.write(name, data); err != nil {
			return nil, err
		}
		paths[to] = r.path(name)
	}
	return paths, nil
}

// destination returns where a Linux package installs a shared file.
func destination(name string) string {
	base := path.Base(name)
	switch {
	case strings.HasPrefix(name, "man/"):
		return "/usr/share/man/man1/" + base + ".gz"
	case strings.HasSuffix(name, ".bash"):
		return "/usr/share/bash-completion/completions/hermes-ls"
	case strings.HasSuffix(name, ".zsh"):
		return "/usr/share/zsh/vendor-completions/_hermes-ls"
	case strings.HasSuffix(name, ".fish"):
		return "/usr/share/fish/vendor_completions.d/hermes-ls.fish"
	case name == "LICENSE":
		return "/usr/share/doc/hermes-ls/copyright"
	default:
		return "/usr/share/doc/hermes-ls/" + name
	}
}
