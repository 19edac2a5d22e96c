//go:build e2e

package e2e

import (
	"archive/zip"
	"bytes"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/xml"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The package of each platform contains the platform's program, and declares its platform for
// editors.
func TestVSIX(t *testing.T) {
	t.Parallel()
	own := extension(t)
	t.Run("linux-x64", func(t *testing.T) { checkVSIX(t, own, "linux-x64", "hermes-ls", isELF(elf.EM_X86_64)) })
	for target, c := range map[string]struct {
		platform, program string
		is                func([]byte) error
	}{
		"darwin-arm64": {"darwin/arm64", "hermes-ls", isMachO(macho.CpuArm64)},
		"win32-x64":    {"windows/amd64", "hermes-ls.exe", isPE(pe.IMAGE_FILE_MACHINE_AMD64)},
	} {
		t.Run(target, func(t *testing.T) {
			folder := t.TempDir()
			out, err := exec.CommandContext(t.Context(), filepath.Join(root(t), "vscode", "package.sh"), "0.1.0", folder, "-s -w", c.platform).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			checkVSIX(t, filepath.Join(folder, "hermes-ls-0.1.0-"+target+".vsix"), target, c.program, c.is)
		})
	}
}

// extension is the packed extension for this platform.
func extension(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(root(t), "dist", "hermes-ls-*.vsix"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range found {
		if version := strings.TrimPrefix(filepath.Base(path), "hermes-ls-"); !strings.Contains(version, "-") {
			return path
		}
	}
	t.Fatal("the extension is not packed: run `make vsix`")
	return ""
}

func checkVSIX(t *testing.T, path, target, program string, is func([]byte) error) {
	t.Helper()
	files := unzipped(t, path)
	var manifest struct {
		Metadata struct {
			Identity struct {
				ID             string `xml:"Id,attr"`
				TargetPlatform string `xml:",attr"`
			}
		}
	}
	if err := xml.Unmarshal(files["extension.vsixmanifest"], &manifest); err != nil {
		t.Fatal(err)
	}
	if id := manifest.Metadata.Identity; id.ID != "hermes-ls" || id.TargetPlatform != target {
		t.Errorf("the manifest says %+v, want hermes-ls for %s", id, target)
	}
	if err := is(files["extension/bin/"+program]); err != nil {
		t.Errorf("bin/%s: %v", program, err)
	}
	for name := range files {
		if strings.HasPrefix(name, "extension/bin/") && name != "extension/bin/"+program {
			t.Errorf("%s is packed, too", name)
		}
	}
	for _, name := range []string{"dist/extension.js", "dist/webview.js", "dist/webview.css", "dist/codicon.ttf", "dist/ThirdPartyNotices.txt", "icons/hermes.svg", "walkthrough/key.md", "readme.md"} {
		if len(files["extension/"+name]) == 0 {
			t.Errorf("%s is missing", name)
		}
	}
}

func unzipped(t *testing.T, path string) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string][]byte{}
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[f.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
		_ = r.Close()
	}
	return files
}

func isELF(want elf.Machine) func([]byte) error {
	return func(program []byte) error {
		f, err := elf.NewFile(bytes.NewReader(program))
		if err == nil && f.Machine != want {
			err = fmt.Errorf("is for %v", f.Machine)
		}
		return err
	}
}

func isMachO(want macho.Cpu) func([]byte) error {
	return func(program []byte) error {
		f, err := macho.NewFile(bytes.NewReader(program))
		if err == nil && f.Cpu != want {
			err = fmt.Errorf("is for %v", f.Cpu)
		}
		return err
	}
}

func isPE(want uint16) func([]byte) error {
	return func(program []byte) error {
		f, err := pe.NewFile(bytes.NewReader(program))
		if err == nil && f.Machine != want {
			err = fmt.Errorf("is for %v", f.Machine)
		}
		return err
	}
}
