// Package scratch creates private temporary directories that do not outlive their server.
//
// A [Dir] holds a lock as long as its process lives, so another server can distinguish a dead
// server's directories: [New] and [Sweep] remove them. Directories that may contain the user's work
// are marked by [Dir.Keep], and stay for [TakeOver].
package scratch

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// prefix begins the name of all our directories in the temporary directory, and of no others:
// directories with this prefix and without a server are removed.
const prefix = "hermes-ls-"

// lockName is a file locked by the server of a directory. keepMark is a file in a directory that
// must stay, at least for keptFor.
const (
	lockName = "lock"
	keepMark = "kept"
	keptFor  = 14 * 24 * time.Hour
)

// making is how long a directory may exist without its lock, if its name does not identify its
// process: it is just being created.
const making = time.Minute

// A socket's path has room for about 100 bytes; a longer temp folder leaves none.
const longest = 64

// Dir is a directory that only this user can enter, and everything below it.
type Dir struct {
	path string
	lock *os.File
}

// New removes the directories of dead servers and creates a directory whose name begins with
// "hermes-ls-" and kind.
func New(kind string) (*Dir, error) {
	Sweep()
	return Make(kind)
}

// Make is New without Sweep: for directories created often.
func Make(kind string) (*Dir, error) { return makeIn(temp(), kind) }

// MakeIn is New in dir, which commands may share with us, instead of the temporary directory. It
// creates dir if it is missing.
func MakeIn(dir, kind string) (*Dir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	sweepIn(dir)
	return makeIn(dir, kind)
}

func makeIn(dir, kind string) (*Dir, error) {
	for tries := 0; ; tries++ {
		d, err := create(dir, kind)
		if err == nil && d.there() {
			return d, nil
		}
		if err == nil {
			err = errTaken
		}
		if tries == 5 {
			return nil, fmt.Errorf("making a private folder: %w", err)
		}
	}
}

func create(dir, kind string) (*Dir, error) {
	name := prefix + kind + "-" + strconv.FormatInt(int64(os.Getpid()), 36) + "-"
	path, err := os.MkdirTemp(dir, name) // 0700, and always new
	if err != nil {
		return nil, err
	}
	d := &Dir{path: path}
	if d.path, err = filepath.EvalSymlinks(path); err == nil {
		d.lock, err = Lock(filepath.Join(path, lockName), os.O_CREATE|os.O_EXCL)
	}
	if err != nil {
		removeAll(path)
		return nil, err
	}
	return d, nil
}

var errTaken = errors.New("another server took it for a dead one's")

// there reports whether the directory still exists: between the creation of its lock and the
// locking, another server could mistake it for a dead server's.
func (d *Dir) there() bool {
	ours, err := d.lock.Stat()
	if err != nil {
		return false
	}
	now, err := os.Stat(d.Path(lockName))
	if err != nil || !os.SameFile(ours, now) {
		_ = d.lock.Close() // the file is gone
		return false
	}
	return true
}

// Keep makes the directory stay when its server dies.
func (d *Dir) Keep() error { return os.WriteFile(d.Path(keepMark), nil, 0o600) }

// TakeOver locks a dead server's directory. The caller must know the path from a place out of reach
// of commands: commands can create other directories beside ours. [Dir.Remove] or [Dir.Leave]
// follows. If the directory is gone, the error is [fs.ErrNotExist].
func TakeOver(path string) (*Dir, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() || !mine(info) || !strings.HasPrefix(filepath.Base(path), prefix) {
		return nil, fmt.Errorf("%s is no folder of ours", path)
	}
	lock, err := Lock(filepath.Join(path, lockName), os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("%s is in use: %w", path, err)
	}
	return &Dir{path: path, lock: lock}, nil
}

func kept(path string) bool {
	_, err := os.Lstat(filepath.Join(path, keepMark))
	return err == nil
}

// Leave gives the folder up for another server to take.
func (d *Dir) Leave() { filelock.Release(d.lock) }

// Lock opens a file to read and write, with further flags of [os.OpenFile], and locks it
// until it is closed or the process has died. If another process holds the lock, it
// returns an error.
func Lock(path string, flags int) (*os.File, error) {
	f, err := filelock.Open(path, flags)
	if err != nil {
		return nil, err
	}
	locked, err := filelock.Try(f, filelock.Exclusive)
	if !locked {
		_ = f.Close() // nothing was written
		return nil, cmp.Or(err, errLocked)
	}
	return f, nil
}

var errLocked = errors.New("another process has locked it")

// LockLeft is [Lock] for a file locked by the process maker. If it was killed while it started a
// program, this program holds the lock until it runs. LockLeft waits for it until deadline;
// Inherited is enough on most machines.
func LockLeft(path string, maker int, deadline time.Time) (*os.File, error) {
	for {
		f, err := Lock(path, 0)
		if err == nil || os.IsNotExist(err) || maker <= 0 || !Dead(maker) || !time.Now().Before(deadline) {
			return f, err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Inherited is how long a lock may outlive its process.
const Inherited = 2 * time.Second

// Dead reports whether process pid has ended. If the system does not report it, it returns false.
func Dead(pid int) bool { return dead(pid) || zombie(pid) }

func temp() string {
	if dir := os.TempDir(); len(dir) <= longest {
		return dir
	}
	return "/tmp"
}

// Path is a place in the folder.
func (d *Dir) Path(names ...string) string {
	return filepath.Join(append([]string{d.path}, names...)...)
}

// Remove removes the directory with its contents. The lock is held and removed last: if the server
// is killed meanwhile, the next server can continue.
func (d *Dir) Remove() {
	_ = os.Remove(d.Path(keepMark)) // first: a half removed folder is of no use
	entries, _ := os.ReadDir(d.path)
	for _, e := range entries {
		if e.Name() != lockName {
			removeAll(d.Path(e.Name()))
		}
	}
	filelock.Release(d.lock) // before the end, since Windows removes no open file
	_ = os.Remove(d.Path(lockName))
	if os.Remove(d.path) != nil {
		removeAll(d.path)
	}
}

// removeAll also removes directories that a command has left without permission to enter. It
// follows no link put there meanwhile.
func removeAll(dir string) {
	above, err := safefile.OpenFolder(filepath.Dir(dir))
	if err != nil {
		return
	}
	defer above.Close()                     // nothing is written through it later
	_ = above.RemoveAll(filepath.Base(dir)) // the next server tries again
}

// Sweep removes the directories of dead servers.
func Sweep() { sweepIn(temp()) }

func sweepIn(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, path := range left {
		sweep(path)
	}
}

func sweep(path string) {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !mine(info) {
		return
	}
	stays := func() bool { return kept(path) && time.Since(info.ModTime()) <= keptFor }
	if stays() { // a lock, even for a moment, would keep it from [Take]
		return
	}
	lock, err := Lock(filepath.Join(path, lockName), 0)
	switch {
	case err == nil:
		if !stays() { // it may have been marked since
			removeAll(path)
		}
		_ = lock.Close()
	case os.IsNotExist(err) && (madeByDead(path) || time.Since(info.ModTime()) > making):
		removeAll(path) // its server died while it made or removed it
	}
}

// madeByDead reports whether the process named by a directory is dead. A live process in another
// container also looks dead, and then creates another directory.
func madeByDead(path string) bool {
	parts := strings.Split(strings.TrimPrefix(filepath.Base(path), prefix), "-")
	if len(parts) != 3 {
		return false
	}
	pid, err := strconv.ParseInt(parts[1], 36, 32)
	return err == nil && pid > 0 && dead(int(pid))
}
