package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// wheelTags are the platform tags of wheels. Go 1.26 needs macOS 12. The program is static, so it
// runs with each C library of Linux.
var wheelTags = map[string]string{
	"linux_amd64":   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux_arm64":   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin_amd64":  "macosx_12_0_x86_64",
	"darwin_arm64":  "macosx_12_0_arm64",
	"windows_amd64": "win_amd64",
	"windows_arm64": "win_arm64",
}

// wheels packs a Python wheel for each platform. Its only content is the program.
func (r *release) wheels() error {
	for _, b := range r.builds {
		tag, ok := wheelTags[b.OS+"_"+b.Arch]
		if !ok {
			return fmt.Errorf("wheels: no tag for %s/%s", b.OS, b.Arch)
		}
		data, err := r.wheel(b, tag)
		if err != nil {
			return err
		}
		if err := r.write("python/hermes_ls-"+r.Version+"-py3-none-"+tag+".whl", data); err != nil {
			return err
		}
	}
	return nil
}

// wheel returns the bytes of a wheel, as the binary distribution format of packaging.python.org
// describes it.
func (r *release) wheel(b build, tag string) ([]byte, error) {
	stem := "hermes_ls-" + r.Version
	info := stem + ".dist-info/"
	about, err := r.render("METADATA", r)
	if err != nil {
		return nil, err
	}
	for _, f := range r.shared {
		if f.name == "README.md" {
			about = append(about, f.data...)
		}
	}
	files := []file{
		{name: stem + ".data/scripts/" + b.exe(), data: b.data, exec: true},
		{name: info + "METADATA", data: about},
		{name: info + "WHEEL", data: []byte("Wheel-Version: 1.0\nGenerator: hermes-ls release\nRoot-Is-Purelib: false\n" + tagLines(tag))},
	}
	for _, f := range r.texts() {
		if f.name != "README.md" {
			files = append(files, file{name: info + "licenses/" + f.name, data: f.data})
		}
	}
	var record bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.data)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.data))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	return zipped(append(files, file{name: info + "RECORD", data: record.Bytes()}), r.date)
}

func tagLines(tags string) string {
	var b bytes.Buffer
	for tag := range bytes.SplitSeq([]byte(tags), []byte(".")) {
		fmt.Fprintf(&b, "Tag: py3-none-%s\n", tag)
	}
	return b.String()
}
