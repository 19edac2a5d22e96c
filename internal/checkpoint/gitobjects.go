package checkpoint

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// gitReader reads the indexes and the objects of the user's repositories, and never writes into
// them. It is safe for concurrent use.
type gitReader struct {
	dir string // the folder of our repositories, which borrow the user's objects

	mu       sync.Mutex
	searched bool
	path     string
	avoided  []string             // folders of workspaces
	indexes  map[string]*gitIndex // by folder
}

// avoid excludes the git programs in these folders, because commands can write them.
func (r *gitReader) avoid(folders []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range folders {
		if !slices.Contains(r.avoided, f) {
			r.avoided, r.searched = append(r.avoided, f), false
		}
	}
}

// program returns the path of git. If there is no git, it returns "".
func (r *gitReader) program() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.searched {
		r.path, _ = program.Find("git", r.avoided)
		r.searched = true
	}
	return r.path
}

// index returns the index of the repository in folder. If there is no readable index, it returns
// nil. It caches indexes, because reading an index takes as long as a scan of the files.
func (r *gitReader) index(folder string) *gitIndex {
	r.mu.Lock()
	known := r.indexes[folder]
	r.mu.Unlock()
	x := openRepo(folder, known)
	if x == known || x == nil {
		return x
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.indexes) >= mostIndexes || r.indexes == nil {
		r.indexes = map[string]*gitIndex{}
	}
	r.indexes[folder] = x
	return x
}

// folder creates our own repository with borrowed objects, and returns its path. In it, git reads
// the objects without the other repository's settings.
func (r *gitReader) folder(objects string) (string, error) {
	dir := filepath.Join(r.dir, sumOf([]byte(objects))[:32])
	alternates := filepath.Join(dir, "objects", "info", "alternates")
	if text, err := safefile.Read(alternates, safefile.Line); err == nil && string(text) == quotedAlternate(objects) {
		return dir, nil
	}
	files := []struct{ name, text string }{
		{"HEAD", "ref: refs/heads/none\n"},
		{"config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"},
		{filepath.Join("refs", "none"), ""},
		{filepath.Join("objects", "info", "alternates"), quotedAlternate(objects)},
	}
	for _, f := range files {
		if err := writeAtomic(filepath.Join(dir, f.name), []byte(f.text)); err != nil {
			return "", fmt.Errorf("making a place to read git's objects from: %w", err)
		}
	}
	return dir, nil
}

// quotedAlternate returns a line of git's list of alternates, with the name in C quotes.
func quotedAlternate(objects string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(objects) + "\"\n"
}

// blobs reads objects of a repository and passes each to take. It skips missing objects.
func (r *gitReader) blobs(ctx context.Context, confine Confiner, objects string, ids [][20]byte, take func(id [20]byte, text []byte) error) error {
	return r.catFile(ctx, confine, objects, "--batch", ids, func(id [20]byte, size int64, in *bufio.Reader) error {
		text := make([]byte, size)
		if _, err := io.ReadFull(in, text); err != nil {
			return err
		}
		if _, err := in.Discard(1); err != nil {
			return err
		}
		return take(id, text)
	})
}

// sizes returns the sizes of objects of a repository. It skips missing objects.
func (r *gitReader) sizes(ctx context.Context, confine Confiner, objects string, ids [][20]byte) (map[[20]byte]int64, error) {
	known := make(map[[20]byte]int64, len(ids))
	err := r.catFile(ctx, confine, objects, "--batch-check", ids, func(id [20]byte, size int64, _ *bufio.Reader) error {
		known[id] = size
		return nil
	})
	return known, err
}

// catFile runs git cat-file for ids and calls each for every existing object.
func (r *gitReader) catFile(ctx context.Context, confine Confiner, objects, how string, ids [][20]byte, each func(id [20]byte, size int64, rest *bufio.Reader) error) error {
	if path := unreadableObject(objects, ids, 5); path != "" {
		return fmt.Errorf("reading git's objects: %s is not a regular file of its kind", path)
	}
	dir, err := r.folder(objects)
	if err != nil {
		return err
	}
	var asked bytes.Buffer
	for _, id := range ids {
		asked.WriteString(hex.EncodeToString(id[:]) + "\n")
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	out, into := io.Pipe()
	answered := make(chan error, 1)
	go func() {
		err := readAnswers(bufio.NewReaderSize(out, 64<<10), ids, each)
		_ = out.CloseWithError(err) // always nil
		answered <- err
	}()
	var words bytes.Buffer
	exit, err := r.run(ctx, confine, proc.Cmd{
		Args: []string{r.program(), "--git-dir=" + dir, "cat-file", how}, Dir: dir, Stdin: &asked, Stdout: into, Stderr: &words,
	})
	_ = into.Close() // always nil
	failed := <-answered
	switch {
	case err == nil && exit.Code != 0:
		err = errors.New(strings.TrimSpace(words.String()))
	case err == nil:
		err = failed
	}
	if err != nil {
		return fmt.Errorf("reading git's objects: %w", err)
	}
	return nil
}

// run runs git, in the sandbox if confine is set: commands may have changed the objects, or
// redirected git to others.
func (r *gitReader) run(ctx context.Context, confine Confiner, c proc.Cmd) (proc.Exit, error) {
	r.mu.Lock()
	c.Env = program.Environ(gitEnviron(), r.avoided)
	r.mu.Unlock()
	if confine != nil {
		if err := confine(ctx, &c, c.Dir); err != nil {
			return proc.Exit{}, err
		}
	}
	return proc.Run(ctx, c)
}

// unreadableObject returns the path of a file that could block git, such as a named pipe, when it
// reads the objects with ids. If there is none, it returns "". depth limits the chain of borrowing
// folders, as in git.
func unreadableObject(objects string, ids [][20]byte, depth int) string {
	alternates := filepath.Join(objects, "info", "alternates")
	paths := []string{alternates, filepath.Join(objects, "info", "commit-graph")}
	packs, _ := os.ReadDir(filepath.Join(objects, "pack"))
	for _, e := range packs {
		paths = append(paths, filepath.Join(objects, "pack", e.Name()))
	}
	for _, id := range ids {
		name := hex.EncodeToString(id[:])
		paths = append(paths, filepath.Join(objects, name[:2], name[2:]))
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return path
		}
	}
	text, err := safefile.Read(alternates, safefile.Line)
	if errors.Is(err, safefile.ErrTooLarge) { // git would read all of it
		return alternates
	}
	if err != nil || depth == 0 {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			if path := unreadableObject(within(objects, line), ids, depth-1); path != "" {
				return path
			}
		}
	}
	return ""
}

// gitEnviron returns an environment in which git ignores all settings and does not fetch missing
// objects.
func gitEnviron() []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull,
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "GIT_NO_REPLACE_OBJECTS=1",
	}
}

// readAnswers reads the output of cat-file: a line for each id, in the order of ids.
func readAnswers(in *bufio.Reader, ids [][20]byte, each func([20]byte, int64, *bufio.Reader) error) error {
	for _, id := range ids {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		words := strings.Fields(line)
		if len(words) != 3 {
			continue // missing
		}
		size, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil || size < 0 || size > maxObject || words[1] != "blob" {
			return fmt.Errorf("git answered %q", line)
		}
		if err := each(id, size, in); err != nil {
			return err
		}
	}
	return nil
}

// maxObject is above the size of every saved file.
const maxObject = 1 << 30
