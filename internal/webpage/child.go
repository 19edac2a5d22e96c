package webpage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

const (
	hiddenWord  = "__page"
	exitMemory  = 3
	answerLimit = textLimit*6 + 1<<20 // an escaped character takes up to six bytes
)

// limits are what one page may cost.
type limits struct {
	time   time.Duration
	memory uint64 // bytes
}

func ordinary() limits { return limits{time: 20 * time.Second, memory: 768 << 20} }

// order is the first line that the process reads; the body follows.
type order struct {
	Source
	Memory uint64 `json:"memory"`
}

// Like proc's supervisor this runs before main, so that no program that can read
// pages, such as a test, runs itself instead.
func init() {
	if len(os.Args) == 2 && os.Args[1] == hiddenWord {
		os.Exit(child(os.Stdin, os.Stdout))
	}
}

// Read makes text of a source. What is wrong with the source is in Page.Error; an
// error is ctx's, or says that no process could be started.
func Read(ctx context.Context, s Source) (Page, error) { return readWithin(ctx, ordinary(), s) }

func readWithin(ctx context.Context, limit limits, s Source) (Page, error) {
	header, err := json.Marshal(order{s, limit.memory})
	if err != nil {
		return Page{}, fmt.Errorf("describing a page: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return Page{}, fmt.Errorf("reading a page: %w", err)
	}
	limited, stop := context.WithTimeout(ctx, limit.time)
	defer stop()
	answer := &bounded{left: answerLimit}
	exit, err := proc.Run(limited, proc.Cmd{
		Args:   []string{self, hiddenWord},
		Dir:    os.TempDir(),
		Stdin:  io.MultiReader(bytes.NewReader(append(header, '\n')), bytes.NewReader(s.Body)),
		Stdout: answer,
	})
	switch {
	case ctx.Err() != nil:
		return Page{}, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return Page{Error: fmt.Sprintf("it took longer than %v to make out; it is broken or hostile", limit.time)}, nil
	case err != nil:
		return Page{}, fmt.Errorf("reading a page: %w", err)
	case exit.Code == exitMemory:
		return Page{Error: fmt.Sprintf("it unpacks to more than %d MB; it is broken or hostile", limit.memory>>20)}, nil
	}
	var p Page
	if exit.Code != 0 || json.Unmarshal(answer.Bytes(), &p) != nil {
		return Page{Error: "it cannot be made out: it is broken or hostile"}, nil
	}
	return p, nil
}

// bounded keeps the beginning.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(data []byte) (int, error) {
	n := min(len(data), b.left)
	b.left -= n
	b.Buffer.Write(data[:n])
	return len(data), nil
}

// child reads one source and writes one page. The exit code is the process's.
func child(in io.Reader, out io.Writer) int {
	lines := bufio.NewReader(in)
	header, err := lines.ReadBytes('\n')
	if err != nil {
		return 2
	}
	var o order
	if json.Unmarshal(header, &o) != nil {
		return 2
	}
	debug.SetMemoryLimit(int64(o.Memory) * 3 / 4)
	go watchMemory(o.Memory) // ends with the process
	s := o.Source
	if s.Body, err = io.ReadAll(lines); err != nil {
		return 2
	}
	if json.NewEncoder(out).Encode(recovered(s)) != nil {
		return 2
	}
	return 0
}

// recovered is parse, whose libraries panic over what they do not understand.
func recovered(s Source) (p Page) {
	defer func() {
		if recover() != nil {
			p = Page{Error: "it cannot be made out: it is broken or of a kind that is not understood"}
		}
	}()
	return parse(s)
}

// watchMemory ends a process that a page has filled. There is no system call for
// that which every system has.
func watchMemory(limit uint64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	for range time.Tick(10 * time.Millisecond) {
		metrics.Read(sample)
		if sample[0].Value.Uint64()+sample[1].Value.Uint64() > limit {
			os.Exit(exitMemory)
		}
	}
}
