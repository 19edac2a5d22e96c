package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/testdir"
	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// A box holds the processes and the files of a stage, so none of them outlives it.
type box struct {
	dir     string        // removed at the end, also if this program is killed
	base    string        // for test files outside of temporary directories; removed at the end
	private bool          // commands see tmp in it as /tmp
	shown   []string      // directories of /tmp still visible to commands
	cpu     time.Duration // processor time of ended commands; zero if unknown on this system
}

// Names in the folder of a box.
const (
	tempName      = "tmp"  // for temporary files
	baseName      = "b"    // of root
	leftName      = "left" // lists processes that outlived their command
	omissionsName = "omitted"
)

// newBox creates a box. If ownTemp is set and this process can do it, its commands see a directory
// of the box as /tmp. root's box is within reach of ordinary users. If kept is not empty, the box
// has the same paths in each run, unless another run uses them.
func newBox(root string, ownTemp bool, kept string) (*box, error) {
	b := &box{private: ownTemp && os.Geteuid() == 0 && exec.Command("unshare", "--mount", "true").Run() == nil}
	if b.private {
		b.shown = belowTemp(root)
	}
	if !b.keep(root, kept) {
		if err := b.make(root); err != nil {
			return nil, err
		}
	}
	if err := os.Chmod(b.dir, 0o755); err != nil {
		return nil, err
	}
	for _, dir := range []string{b.temp(), b.base} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil { // as /tmp
			return nil, err
		}
	}
	omissions := filepath.Join(b.dir, omissionsName)
	if err := os.WriteFile(omissions, nil, 0o666); err != nil {
		return nil, err
	}
	return b, os.Chmod(omissions, 0o666)
}

// make creates the directories of the box. A deep checkout of an ordinary user would make socket
// paths too long, so the temporary files are in the user's temporary directory.
func (b *box) make(root string) (err error) {
	if os.Geteuid() == 0 {
		b.dir, err = testdir.Make("/var/lib", "ht-") // short: see testdir
		b.base = filepath.Join(b.dir, baseName)
		return err
	}
	if b.dir, err = testdir.Make(os.TempDir(), "ht-"); err != nil {
		return err
	}
	cache := filepath.Join(root, ".cache")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	b.base, err = testdir.Make(cache, "ht-")
	return err
}

// keep creates the directories of a box with the same paths in each run. They are outside of the
// checkout: inside, go test compares the files opened by a test.
func (b *box) keep(root, kept string) bool {
	if kept == "" {
		return false
	}
	sum := fnv.New32a()
	sum.Write([]byte(root + "\n" + kept))
	name := "ht-" + strconv.FormatUint(uint64(sum.Sum32()), 36)
	if os.Geteuid() == 0 {
		dir, ok := testdir.Keep("/var/lib", name)
		b.dir, b.base = dir, filepath.Join(dir, baseName)
		return ok
	}
	cache, err := os.UserCacheDir()
	if err != nil || os.MkdirAll(cache, 0o755) != nil {
		return false
	}
	dir, ok := testdir.Keep(os.TempDir(), name)
	if !ok {
		return false
	}
	base, ok := testdir.Keep(cache, name)
	b.dir, b.base = dir, base
	return ok
}

func (b *box) temp() string { return filepath.Join(b.dir, tempName) }

// belowTemp returns the directories below /tmp for commands: the checkout, the home, and Go's.
func belowTemp(root string) []string {
	dirs := []string{root, os.Getenv("HOME")}
	if out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT").Output(); err == nil {
		dirs = append(dirs, strings.Split(strings.TrimSpace(string(out)), "\n")...)
	}
	return slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := os.Stat(dir)
		return !strings.HasPrefix(dir, "/tmp/") || err != nil || !info.IsDir()
	})
}

// grace is the grace period of a canceled stage.
const grace = 10 * time.Second

// privateTemp mounts a directory as /tmp and runs a command. The directories of /tmp in $1 stay in
// place.
const privateTemp = `set -e
printf '%s\n' "$1" | while IFS= read -r dir; do
	[ -z "$dir" ] || { mkdir -p "$0/${dir#/tmp/}" && mount --rbind "$dir" "$0/${dir#/tmp/}"; }
done
mount --rbind "$0" /tmp
cd "$PWD" # the folder under the new /tmp
shift
exec "$@"`

// run runs a command. Everything it started ends with it.
func (b *box) run(ctx context.Context, dir string, args, env []string, stdout, stderr io.Writer) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	temp := b.temp()
	if b.private {
		args = append([]string{"unshare", "--mount", "--propagation", "private", "sh", "-c", privateTemp, temp, strings.Join(b.shown, "\n")}, args...)
		temp = "/tmp"
	}
	env = environ(env, "TMPDIR="+temp, testneed.BaseVariable+"="+b.base,
		testneed.OmissionsVariable+"="+filepath.Join(b.dir, omissionsName))
	exit, err := proc.Run(ctx, proc.Cmd{
		Args: append([]string{self, insideMode, filepath.Join(b.dir, leftName)}, args...), Dir: dir, Env: env,
		Stdout: stdout, Stderr: stderr, Scratch: b.dir, Trusted: true, Grace: grace,
	})
	if text, err := os.ReadFile(filepath.Join(b.dir, leftName+".cpu")); err == nil {
		used, _ := time.ParseDuration(string(text))
		b.cpu += used
	}
	if err == nil && exit.Code != 0 {
		err = fmt.Errorf("exit status %d", exit.Code)
	}
	return err
}

// environ returns the environment of this process, changed by the variables of a step and then by more.
func environ(step []string, more ...string) []string {
	changes := append(slices.Clone(step), more...)
	env := slices.DeleteFunc(os.Environ(), func(old string) bool {
		name, _, _ := strings.Cut(old, "=")
		return slices.ContainsFunc(changes, func(new string) bool { return strings.HasPrefix(new, name+"=") })
	})
	return append(env, changes...)
}

// omission is a skipped test.
type omission struct{ test, needs string }

// omitted returns the tests skipped because something is missing.
func (b *box) omitted() (all []omission) {
	text, _ := os.ReadFile(filepath.Join(b.dir, omissionsName))
	for line := range strings.Lines(string(text)) {
		test, needs, _ := strings.Cut(strings.TrimSpace(line), "\t")
		all = append(all, omission{test, needs})
	}
	return all
}

// close removes the box. It returns the leftover processes and files of commands.
func (b *box) close() (left []string, err error) {
	text, _ := os.ReadFile(filepath.Join(b.dir, leftName))
	for line := range strings.Lines(string(text)) {
		left = append(left, strings.TrimSpace(line))
	}
	for _, dir := range []string{b.temp(), b.base} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return left, err
		}
		for _, e := range entries {
			if slices.ContainsFunc(b.shown, func(dir string) bool { return strings.HasPrefix(dir+"/", "/tmp/"+e.Name()+"/") }) {
				continue
			}
			left = append(left, "the file "+filepath.Join(dir, e.Name()))
		}
	}
	return left, errors.Join(testdir.Remove(b.base), testdir.Remove(b.dir))
}
