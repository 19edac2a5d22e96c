package main

import "encoding/json"

// npmSystems and npmArchs are npm's names for platforms.
var (
	npmSystems = map[string]string{"linux": "linux", "darwin": "darwin", "windows": "win32"}
	npmArchs   = map[string]string{"amd64": "x64", "arm64": "arm64"}
)

// manifest is a package.json.
type manifest struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Homepage     string            `json:"homepage"`
	Repository   string            `json:"repository"`
	Bin          map[string]string `json:"bin,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Dependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// npm packs the package hermes-ls, which starts the program, and a package with the program for
// each platform. npm installs only the package for the user's platform.
func (r *release) npm() error {
	start, err := r.render("npm/hermes-ls.js", r)
	if err != nil {
		return err
	}
	main := r.manifest("hermes-ls")
	main.Bin = map[string]string{"hermes-ls": "hermes-ls.js"}
	main.Engines = map[string]string{"node": ">=18"}
	main.Dependencies = map[string]string{}
	for _, b := range r.builds {
		system, arch := npmSystems[b.OS], npmArchs[b.Arch]
		m := r.manifest("@hermes-ls/" + system + "-" + arch)
		m.OS, m.CPU = []string{system}, []string{arch}
		main.Dependencies[m.Name] = r.Version
		if err := r.npmPackage("hermes-ls-"+system+"-"+arch, m, file{name: "bin/" + b.exe(), data: b.data, exec: true}); err != nil {
			return err
		}
	}
	return r.npmPackage("hermes-ls", main, file{name: "hermes-ls.js", data: start, exec: true})
}

const (
	summary  = "A coding agent that your editor hosts like a language server"
	homepage = "https://github.com/hermes-ls/hermes-ls"
)

func (r *release) manifest(name string) manifest {
	return manifest{
		Name: name, Version: r.Version, Description: summary, License: "Apache-2.0",
		Homepage: homepage, Repository: "github:hermes-ls/hermes-ls",
	}
}

func (r *release) npmPackage(name string, m manifest, files ...file) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	files = append([]file{{name: "package.json", data: append(text, '\n')}}, files...)
	files = append(files, r.texts()...)
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	data, err := tarball(files, r.date)
	if err != nil {
		return err
	}
	return r.write("npm/"+name+"-"+r.Version+".tgz", data)
}

// texts returns the shared files for packages of other package managers.
func (r *release) texts() (texts []file) {
	for _, f := range r.shared {
		switch f.name {
		case "LICENSE", "NOTICE", "README.md", "THIRD-PARTY-NOTICES.txt":
			texts = append(texts, f)
		}
	}
	return texts
}
