package shell

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/tools"
)

// segmentLimit is the size of a log file. Two files are kept; older output is removed.
const segmentLimit = 5 << 20

// processLog writes the output of a background process as plain text to the disk. It keeps the
// newest part. Memory holds the unfinished line.
type processLog struct {
	dir  string
	seen func(line string) // receives each ended line; nil: not used

	mu    sync.Mutex
	plain *tools.PlainText
	parts []segment
	lines int   // number of ended lines
	lost  error // why something of it could not be kept
	ended bool
}

// segment is a part of a log in a file without a name, which so never stays behind.
type segment struct {
	file  *os.File
	size  int64
	first int // number of its first line, from 0
}

func newProcessLog(dir string, secrets *tools.Secrets, seen func(line string)) (*processLog, error) {
	l := &processLog{dir: dir, seen: seen}
	l.plain = tools.NewPlainText(secrets, l.add)
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("making a folder for the output: %w", err)
		}
	}
	return l, l.rotate()
}

// rotate continues in a new file, and removes the oldest of three.
func (l *processLog) rotate() error {
	f, err := os.CreateTemp(l.dir, "process-*.log")
	if err != nil {
		return fmt.Errorf("making a file for the output: %w", err)
	}
	os.Remove(f.Name()) // if this fails, close removes it
	l.parts = append(l.parts, segment{file: f, first: l.lines})
	if len(l.parts) > 2 {
		l.parts[0].close()
		l.parts = l.parts[1:]
	}
	return nil
}

func (s segment) close() {
	s.file.Close()           // it is not read again
	os.Remove(s.file.Name()) // nearly always gone already
}

// Write stores output. It never fails: a process continues if its log cannot.
func (l *processLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.plain.Write(b)
}

// add takes plain text, mostly a line. Its caller holds mu.
func (l *processLog) add(text []byte) {
	last := &l.parts[len(l.parts)-1]
	n, err := last.file.WriteAt(text, last.size)
	last.size += int64(n)
	if err != nil {
		l.lost = err
	}
	l.lines += strings.Count(string(text), "\n")
	if l.seen != nil {
		l.seen(strings.TrimSuffix(string(text), "\n"))
	}
	if last.size >= segmentLimit {
		if err := l.rotate(); err != nil {
			l.lost = err
		}
	}
}

// end is when nothing more comes.
func (l *processLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.plain.Close()
	l.ended = true
}

func (l *processLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.parts {
		s.close()
	}
	l.parts = nil
}

// page is some lines of a log.
type page struct {
	text string
	from int // number of the first of them
	next int // the first line after the page
	lost error
}

// read returns at most limit lines from line offset on, within the characters of a result. If
// offset is negative, it returns the last lines. An unfinished line is added to the last page, but
// does not count as read.
func (l *processLog) read(offset, limit int) (page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all strings.Builder
	for _, s := range l.parts {
		if _, err := io.Copy(&all, io.NewSectionReader(s.file, 0, s.size)); err != nil {
			return page{}, fmt.Errorf("reading the output that was kept: %w", err)
		}
	}
	if len(l.parts) == 0 {
		return page{}, fmt.Errorf("the output is not kept any more")
	}
	all.Write(l.plain.Pending())
	lines := strings.SplitAfter(all.String(), "\n")
	first, rest := l.parts[0].first, ""
	if n := len(lines) - 1; !strings.HasSuffix(lines[n], "\n") {
		lines, rest = lines[:n], lines[n]
	}
	if offset < 0 {
		offset = first + max(0, len(lines)-limit)
	}
	p := page{from: min(max(offset, first), first+len(lines)), lost: l.lost}
	var text strings.Builder
	tokens := 0
	for p.next = p.from; p.next < first+len(lines) && p.next-p.from < limit; p.next++ {
		line := lines[p.next-first]
		if tokens += tools.Tokens(line); (tokens > modelTokens || text.Len()+len(line) > modelLimit) && text.Len() > 0 {
			break
		}
		text.WriteString(string(firstChars([]byte(line), modelLimit)))
	}
	if p.next == first+len(lines) {
		text.WriteString(string(lastChars([]byte(rest), liveTail)))
	}
	p.text = text.String()
	return p, nil
}
