package search

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/ignore"
)

// Runner runs rg with args (without its own name) in dir, with an empty standard input, and
// returns its exit code. If rg could not be run, or ctx has ended, it returns an error.
type Runner func(ctx context.Context, args []string, dir string, stdout io.Writer) (exit int, err error)

// errRipgrep reports that rg did not search: it is missing, or rejected its arguments.
var errRipgrep = errors.New("ripgrep did not search")

// maxRecord is the maximum size of an rg record in bytes. A longer record contains a binary line.
const maxRecord = 64 << 20

// ripgrep searches below start with rg. It uses only the places of rg's matches: their text is read
// through the root of the folder. If rg does not finish, ripgrep adds no hits, so the other engine
// can search.
func (s *Search) ripgrep(ctx context.Context, start Location) error {
	found := &ripgrepFound{search: s, start: start}
	args := []string{"--no-config", "--no-messages"}
	if s.q.Glob != "" {
		args = append(args, "--glob", s.q.Glob)
	}
	out := &records{}
	if s.q.Files {
		args = append(args, "--files", "--null")
		out.end, out.take = 0, found.file
	} else {
		args = append(args, "--json", "--crlf", "--regexp", s.q.Pattern) // after a "=", rg 13 drops another
		out.end, out.take = '\n', found.message
	}
	args = append(args, "--", filepath.FromSlash(start.Rel))
	if s.scope.Git.UnsafeAbove(start.Abs()) {
		return fmt.Errorf("%w: there are ignore files that it should not open", errRipgrep)
	}
	exit, err := s.runRipgrep(ctx, args, start, out)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %v", errRipgrep, err)
	case !found.complete(exit):
		return fmt.Errorf("%w: exit code %d", errRipgrep, exit)
	}
	s.hits.merge(&found.hits)
	return nil
}

// runRipgrep runs rg, and stops it if it may wait for an ignore file.
func (s *Search) runRipgrep(ctx context.Context, args []string, start Location, out io.Writer) (exit int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	var watched sync.WaitGroup
	defer watched.Wait()
	defer close(done)
	watched.Go(func() { stopUnsafe(ctx, start.Abs(), stop, done) })
	return s.scope.Rg(ctx, args, start.Folder, out)
}

// ripgrepFound reads the output of rg.
type ripgrepFound struct {
	search *Search
	start  Location
	hits   hits

	abs   string // the file of the current records
	lines *lineHits
	done  bool // the summary has come
}

// complete reports whether rg has searched. rg also exits with 2 if it could not read some
// file; the others are results then.
func (f *ripgrepFound) complete(exit int) bool {
	if f.search.q.Files {
		return exit == 0 || exit == 1 || exit == 2 && f.hits.named > 0
	}
	return f.done
}

// file reads a path of rg --files.
func (f *ripgrepFound) file(path []byte) error {
	if abs, ok := f.ours(string(path)); ok {
		f.search.name(&f.hits, f.start, abs)
	}
	return nil
}

// ours returns the absolute path of an rg result. If it belongs to another workspace folder inside
// this folder, ok is false.
func (f *ripgrepFound) ours(path string) (abs string, ok bool) {
	abs = filepath.Join(f.start.Folder, path)
	l, ok := f.search.scope.Locate(abs)
	return abs, ok && l.Folder == f.start.Folder
}

// message reads a record of rg --json.
func (f *ripgrepFound) message(record []byte) error {
	if line, ok := matchLine(record); ok {
		if f.lines != nil {
			f.lines.add(line)
		}
		return nil
	}
	var m struct {
		Type string
		Data struct {
			Path         struct{ Text, Bytes *string }
			BinaryOffset *int64 `json:"binary_offset"`
		}
	}
	if err := json.Unmarshal(record, &m); err != nil {
		return fmt.Errorf("record of ripgrep: %w", err)
	}
	switch m.Type {
	case "begin":
		f.begin(m.Data.Path.Text, m.Data.Path.Bytes)
	case "end":
		if f.lines != nil && f.lines.count > 0 && m.Data.BinaryOffset == nil {
			f.hits.add(f.search.scope.Name(f.abs), f.abs, f.lines)
		}
		f.lines = nil
	case "summary":
		f.done = true
	}
	return nil
}

// begin starts the records of a file. If the file is open in the editor, they are ignored:
// rg has read the disk.
func (f *ripgrepFound) begin(text, base64 *string) {
	f.lines = nil
	var path []byte
	if text != nil {
		path = []byte(*text)
	} else if base64 == nil || json.Unmarshal([]byte(strconv.Quote(*base64)), &path) != nil {
		return
	}
	abs, ok := f.ours(string(path))
	if _, open := f.search.scope.Texts[abs]; !ok || open && f.search.pattern != nil {
		return
	}
	f.abs, f.lines = abs, f.search.newLines()
}

// matchLine returns the line number of a match record. Quotes inside its strings are
// escaped, so only the key can match.
func matchLine(record []byte) (line int, ok bool) {
	if !bytes.HasPrefix(record, []byte(`{"type":"match",`)) {
		return 0, false
	}
	_, rest, ok := bytes.Cut(record, []byte(`,"line_number":`))
	if !ok {
		return 0, false
	}
	digits, _, _ := bytes.Cut(rest, []byte{','})
	line, err := strconv.Atoi(string(digits))
	return line, err == nil
}

// records cuts its input at each end byte.
type records struct {
	end  byte
	take func(record []byte) error
	open []byte // an unfinished record
}

func (r *records) Write(p []byte) (int, error) {
	n := len(p)
	for {
		at := bytes.IndexByte(p, r.end)
		if at < 0 {
			r.open = append(r.open, p...)
			if len(r.open) > maxRecord {
				return 0, errors.New("a record of ripgrep is too long")
			}
			return n, nil
		}
		record := p[:at]
		if len(r.open) > 0 {
			r.open = append(r.open, record...)
			record = r.open
		}
		if err := r.take(record); err != nil {
			return 0, err
		}
		r.open, p = r.open[:0], p[at+1:]
	}
}

// unsafeAfter is the time after which the ignore files below the start are checked.
const unsafeAfter = 500 * time.Millisecond

// stopUnsafe calls stop if rg still runs after unsafeAfter and unsafe ignore files exist below dir.
// It returns when done is closed.
func stopUnsafe(ctx context.Context, dir string, stop func(), done <-chan struct{}) {
	timer := time.NewTimer(unsafeAfter)
	defer timer.Stop()
	select {
	case <-done:
		return
	case <-timer.C:
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with done
		<-done
		cancel()
	}()
	if ignore.UnsafeBelow(ctx, dir) {
		stop()
	}
	<-done
}
