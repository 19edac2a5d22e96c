package backend

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// singularity runs each command in a fresh container of an image, by apptainer or
// singularity; the workspace's folders are in it, under their own paths.
type singularity struct {
	Config
	program string
}

func newSingularity(c Config) (Backend, error) {
	if c.Image == "" || c.Image[0] == '-' || strings.ContainsRune(c.Image, 0) {
		return nil, fmt.Errorf("terminal.singularity_image %q is no image: name a file, or one such as docker://debian:stable", c.Image)
	}
	names := []string{"apptainer", "singularity"}
	if c.Program != "" {
		names = []string{c.Program}
	}
	program, err := find(c.Folders, names...)
	if err != nil {
		return nil, fmt.Errorf("%w; terminal.backend: singularity needs one of them (see https://apptainer.org/docs/admin/main/installation.html)", err)
	}
	return &singularity{Config: c, program: program}, nil
}

func (s *singularity) Shared() bool { return true }
func (s *singularity) Close()       {}

func (s *singularity) Args(argv []string, dir string, _ bool) []string {
	args := []string{s.program, "--quiet", "exec", "--cleanenv", "--contain"}
	if !s.Network {
		args = append(args, "--net", "--network", "none")
	}
	for _, f := range s.Folders {
		args = append(args, "--bind", f)
	}
	return append(append(args, "--pwd", cmp.Or(dir, "/"), s.Image), argv...)
}

// Open tries the image.
func (s *singularity) Open(ctx context.Context) (Place, error) {
	for _, f := range s.Folders {
		if strings.ContainsAny(f, ":,") {
			return Place{}, fmt.Errorf("the folder %s has a : or a comma in its name, so it cannot be shared with a container", f)
		}
	}
	place, err := probePlace(ctx, s.Args([]string{"sh", "-c", probe}, "/", false), environ(s.Folders))
	if err != nil {
		return Place{}, fmt.Errorf("running a container of %s: %w", s.Image, err)
	}
	if place.Dir = s.Cwd; place.Dir == "" && len(s.Folders) > 0 {
		place.Dir = s.Folders[0]
	}
	return place, nil
}
