package instructions

import (
	"slices"
	"testing"
)

func TestPathsIn(t *testing.T) {
	t.Parallel()
	const file, dir = "/w/sub/f.txt", "/w/sub"
	for command, want := range map[string]string{
		"cat sub/f.txt":                                    file,
		"cat ./sub/f.txt":                                  file,
		`cat "sub/f.txt"`:                                  file,
		`cat 'sub'/f.txt`:                                  file,
		"cat sub/*.txt":                                    dir,
		"cat sub/{f,g}.txt":                                file,
		"cat <sub/f.txt":                                   file,
		"echo x > sub/f.txt":                               file,
		"cd sub && cat f.txt":                              file,
		"cd sub; ls":                                       dir,
		"(cd sub && cat f.txt)":                            file,
		"pushd sub >/dev/null && cat f.txt":                file,
		"git -C sub show HEAD:f.txt":                       file,
		"git --git-dir=sub/.git log":                       "/w/sub/.git",
		"git diff HEAD -- sub/f.txt":                       file,
		"make -C sub test":                                 dir,
		"make -Csub test":                                  dir,
		"npm --prefix sub test":                            dir,
		"npm --prefix=sub test":                            dir,
		"cargo test --manifest-path sub/Cargo.toml":        "/w/sub/Cargo.toml",
		"go test ./sub/...":                                dir,
		"go vet ./sub":                                     dir,
		"bash -c 'cd sub && cat f.txt'":                    file,
		`sh -c "cat sub/f.txt | head"`:                     file,
		"python3 -c \"print(open('sub/f.txt').read())\"":   file,
		"python3 - <<'EOF'\nprint(open('sub/f.txt'))\nEOF": file,
		"python3 sub/f.txt":                                file,
		"sub/f.txt --flag":                                 file,
		"env A=1 timeout 5 cat sub/f.txt":                  file,
		"D=sub; cat $D/f.txt":                              dir,
		"for f in sub/*; do cat $f; done":                  dir,
		`cat "$PWD/sub/f.txt"`:                             file,
		`cat $(pwd)/sub/f.txt`:                             file,
		"cat /w/sub/f.txt":                                 file,
		"find sub -name '*.go' -exec cat {} +":             dir,
		"grep -rn TODO sub/":                               dir,
		"rg TODO --glob '*.go' sub":                        dir,
		"sed -n 1,20p sub/f.txt":                           file,
		"head -n3 sub/f.txt | grep x":                      file,
		"tar czf a.tgz sub":                                dir,
		"cp sub/f.txt /tmp":                                file,
		"ls | xargs -I{} cat sub/f.txt":                    file,
		"if [ -f sub/f.txt ]; then echo; fi":               file,
		"[[ -f sub/f.txt ]]":                               file,
		"export D=sub":                                     dir,
		"cat sub/f.txt; echo 'unclosed":                    file,
	} {
		if got := pathsIn(command, "/w"); !slices.Contains(got, want) {
			t.Errorf("%s: %q lacks %s", command, got, want)
		}
	}
}

func FuzzPathsIn(f *testing.F) {
	f.Add("cd a && cat {b,c}/*.txt")
	f.Add("cat x{1..1000000000}")
	f.Fuzz(func(t *testing.T, command string) {
		if got := pathsIn(command, "/w"); len(got) > mostPaths {
			t.Errorf("%d paths", len(got))
		}
	})
}
