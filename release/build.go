package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// build is the program for a platform.
type build struct {
	OS, Arch string // as Go names them
	path     string
	data     []byte
}

// exe returns the file name of the program.
func (b build) exe() string {
	if b.OS == "windows" {
		return "hermes-ls.exe"
	}
	return "hermes-ls"
}

// ldflags sets the version and the commit for `hermes-ls version`.
func (r *release) ldflags() string {
	return fmt.Sprintf("-s -w -X main.linkedVersion=%s -X main.commit=%s", r.Version, r.commit)
}

// build builds the program for each platform.
func (r *release) build(platforms []string) error {
	for _, platform := range platforms {
		system, arch, ok := strings.Cut(platform, "/")
		if !ok {
			return fmt.Errorf("%q is not GOOS/GOARCH", platform)
		}
		b := build{OS: system, Arch: arch}
		b.path = r.path("build/" + system + "-" + arch + "/" + b.exe())
		env := []string{"CGO_ENABLED=0", "GOOS=" + system, "GOARCH=" + arch}
		if err := run(env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", r.ldflags(), "-o", b.path, "./cmd/hermes-ls"); err != nil {
			return err
		}
		var err error
		if b.data, err = os.ReadFile(b.path); err != nil {
			return err
		}
		r.builds = append(r.builds, b)
	}
	return nil
}

// pages collects the files common to all platforms: texts, man pages, completions.
func (r *release) pages() error {
	dir := r.path("build/pages")
	env := []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix())}
	if err := run(env, "go", "run", "-tags", "release", "-ldflags", r.ldflags(), "./cmd/hermes-ls", "pages", dir); err != nil {
		return err
	}
	notices, err := output("go", "run", "./release/notices")
	if err != nil {
		return err
	}
	r.shared = append(r.shared, file{name: "THIRD-PARTY-NOTICES.txt", data: []byte(notices)})
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md"} {
		if err := r.share(name, name); err != nil {
			return err
		}
	}
	for _, folder := range []string{"man", "completions"} {
		entries, err := os.ReadDir(filepath.Join(dir, folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := r.share(folder+"/"+e.Name(), filepath.Join(dir, folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) share(name, path string) error {
	data, err := os.ReadFile(path)
	r.shared = append(r.shared, file{name: name, data: data})
	return err
}
