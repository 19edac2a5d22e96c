package codeexec

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/tools"
)

const (
	wholeLimit = 5 << 20 // bytes of the file with the whole output
	liveTail   = 4000    // bytes that the editor shows while the script runs
)

// output keeps the output of a script in limited memory: all of it up to limit, else two
// fifths of limit from the beginning and the rest from the end. If the middle is cut, the
// whole output goes to a file in dir.
type output struct {
	limit int    // bytes
	dir   string // empty: no file

	mu    sync.Mutex
	plain *tools.PlainText
	head  []byte
	tail  []byte // empty up to the limit
	total int64
	file  *os.File
	filed int
}

func newOutput(limit int, dir string, secrets *tools.Secrets) *output {
	o := &output{limit: limit, dir: dir}
	o.plain = tools.NewPlainText(secrets, o.add)
	return o
}

// Write takes output. It never returns an error.
func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.plain.Write(b)
}

// add takes text without control sequences. Its caller holds mu.
func (o *output) add(text []byte) {
	before := o.total
	o.total += int64(len(text))
	if o.total <= int64(o.limit) {
		o.head = append(o.head, text...)
		return
	}
	if before <= int64(o.limit) {
		o.split()
	}
	o.keep(text)
	most := o.limit - o.limit*2/5
	if len(text) >= most {
		o.tail = append(o.tail[:0], text[len(text)-most:]...)
		return
	}
	o.tail = append(o.tail, text...)
	if len(o.tail) > 2*most {
		o.tail = append(o.tail[:0], o.tail[len(o.tail)-most:]...)
	}
}

// split moves the end of head to tail and opens the file.
func (o *output) split() {
	if o.dir != "" && os.MkdirAll(o.dir, 0o700) == nil {
		o.file, _ = os.CreateTemp(o.dir, "execute_code-*.txt") // mode 0600; on an error there is no file
	}
	o.keep(o.head)
	cut := o.limit * 2 / 5
	for cut > 0 && cut < len(o.head) && !utf8.RuneStart(o.head[cut]) {
		cut--
	}
	cut = min(cut, len(o.head))
	o.tail = append(o.tail, o.head[cut:]...)
	o.head = o.head[:cut]
}

// keep writes to the file, up to wholeLimit. If that fails, keep removes the file.
func (o *output) keep(text []byte) {
	if o.file == nil || o.filed >= wholeLimit {
		return
	}
	text = text[:min(len(text), wholeLimit-o.filed)]
	o.filed += len(text)
	if _, err := o.file.Write(text); err != nil {
		o.file.Close()           // it has failed before
		os.Remove(o.file.Name()) // there is nothing else to do
		o.file = nil
	}
}

// finish ends the stream. It returns the text for the result and the file with the whole
// output, or "".
func (o *output) finish() (text, whole string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.plain.Close()
	if o.file != nil {
		whole = o.file.Name()
		if o.file.Close() != nil {
			os.Remove(whole) // there is nothing else to do
			whole = ""
		}
		o.file = nil
	}
	if o.total <= int64(o.limit) {
		return string(o.head), whole
	}
	from := max(0, len(o.tail)-(o.limit-o.limit*2/5))
	for from < len(o.tail) && !utf8.RuneStart(o.tail[from]) {
		from++
	}
	return fmt.Sprintf("%s\n[output truncated at %s]\n%s", o.head, kilobytes(o.limit), o.tail[from:]), whole
}

// live returns the end of the output so far, and the size of all of it.
func (o *output) live() (end string, size int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	all := o.tail
	if o.total <= int64(o.limit) {
		all = o.head
	}
	all = append(bytes.Clone(all[max(0, len(all)-liveTail):]), o.plain.Pending()...)
	from := max(0, len(all)-liveTail)
	for from < len(all) && !utf8.RuneStart(all[from]) {
		from++
	}
	return string(all[from:]), o.total + int64(len(o.plain.Pending()))
}

func kilobytes(n int) string {
	if n%1000 == 0 {
		return fmt.Sprintf("%dKB", n/1000)
	}
	return fmt.Sprintf("%d bytes", n)
}
