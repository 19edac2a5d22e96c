package config

import (
	"os"
	"runtime"
	"testing"
)

func TestSetEnv(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	file := EnvPath(home)
	check := func(want string) {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil || string(data) != want {
			t.Errorf(".env = %q, %v; want %q", data, err, want)
		}
		if info, err := os.Stat(file); err == nil && runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf(".env has mode %v", info.Mode())
		}
	}
	set := func(name, value string) {
		t.Helper()
		if err := SetEnv(home, name, value); err != nil {
			t.Fatal(err)
		}
	}
	set("A", "1")
	check("A=1\n")
	if err := os.WriteFile(file, []byte("# mine\nexport A=old\nB=2\nA=older"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	set("A", "new")
	check("# mine\nA=new\nB=2\n")
	set("C", "3")
	check("# mine\nA=new\nB=2\nC=3\n")
	for _, quoted := range []string{"a b", `a"`, "a#b", "it's"} {
		set("Q", quoted)
		if got := readEnv(t, home)["Q"]; got != quoted {
			t.Errorf("%q is read as %q", quoted, got)
		}
	}
	if _, err := RemoveEnv(home, "Q"); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "a\nEVIL=1", `'a"`, `a b\`} {
		if SetEnv(home, "A", bad) == nil {
			t.Errorf("%q was written", bad)
		}
	}
	if removed, err := RemoveEnv(home, "A"); !removed || err != nil {
		t.Errorf("removing: %v, %v", removed, err)
	}
	check("# mine\nB=2\nC=3\n")
	for _, last := range []string{"B", "C"} {
		if removed, err := RemoveEnv(home, last); !removed || err != nil {
			t.Errorf("removing %s: %v, %v", last, removed, err)
		}
	}
	check("# mine\n")
	if removed, err := RemoveEnv(home, "A"); removed || err != nil {
		t.Errorf("removing again: %v, %v", removed, err)
	}
}

func readEnv(t *testing.T, home string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(EnvPath(home))
	if err != nil {
		t.Fatal(err)
	}
	return new(reader).dotenv(EnvPath(home), string(data)).values
}
