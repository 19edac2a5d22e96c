// Command release builds the programs of a release and packs them in the forms in which
// people install them. It writes them to a folder:
//
//	hermes-ls-VERSION-OS-ARCH.tar.gz, .zip   programs with license, man pages, completions
//	hermes-ls_VERSION_ARCH.deb, .rpm         Linux packages, by nfpm
//	npm/*.tgz                                npx hermes-ls; a package for each platform
//	python/*.whl                             uvx hermes-ls; a wheel for each platform
//	homebrew, scoop, mason, zed, acp, nix    files for these registries, with checksums
//	hermes-ls-VERSION.cdx.json               modules in the programs (CycloneDX)
//	SHA256SUMS                               checksums of all files
//
// The same commit gives the same bytes, whatever the folder and the time. It publishes nothing.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

func main() {
	var r release
	var platforms string
	flag.StringVar(&r.Version, "version", "", "version, such as 1.2.3")
	flag.StringVar(&r.commit, "commit", "", "commit that the program reports")
	flag.StringVar(&r.out, "out", "dist", "folder for the files")
	flag.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64", "platforms, as GOOS/GOARCH")
	flag.Parse()
	if r.Version == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := r.make(strings.Split(platforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is a version, in all its forms.
type release struct {
	Version  string
	commit   string
	out      string    // folder
	date     time.Time // of the commit; the time of each packed file
	builds   []build
	shared   []file // in each archive
	Archives map[string]archive
}

func (r *release) make(platforms []string) error {
	date, err := output("git", "show", "-s", "--format=%ct", "HEAD")
	if err != nil {
		return err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(date), 10, 64)
	if err != nil {
		return err
	}
	r.date = time.Unix(seconds, 0).UTC()
	for _, step := range []func() error{
		func() error { return r.build(platforms) }, r.pages, r.archives, r.linuxPackages, r.npm, r.wheels, r.registries, r.contents, r.checksums,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return os.RemoveAll(r.path("build"))
}

// path returns the path of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.out, filepath.FromSlash(name)) }

// output runs a program and returns its standard output.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return string(text), nil
}

// run runs a program with more environment variables.
func run(env []string, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}
