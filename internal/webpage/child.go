package webpage

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/helper"
)

const (
	hiddenWord  = "__page"
	answerLimit = textLimit*6 + 1<<20 // an escaped character takes up to six bytes
)

// limits are the limits for a page.
type limits struct {
	time   time.Duration
	memory uint64 // bytes
}

func ordinary() limits { return limits{time: 20 * time.Second, memory: 768 << 20} }

// ServeHelper reads a page and ends the process, if [Read] started this process. In any other
// process it returns at once. See package modes.
func ServeHelper() { helper.Serve(hiddenWord, child) }

// Read converts a source to text. Problems of the source are in Page.Error. It returns an
// error only if ctx ends or no process can be started.
func Read(ctx context.Context, s Source) (Page, error) { return readWithin(ctx, ordinary(), s) }

func readWithin(ctx context.Context, limit limits, s Source) (Page, error) {
	header, err := json.Marshal(s) // the first line of the process's input; the body follows
	if err != nil {
		return Page{}, fmt.Errorf("describing a page: %w", err)
	}
	answer, err := helper.Run(ctx, hiddenWord, helper.Limits{Time: limit.time, Memory: limit.memory, Answer: answerLimit},
		io.MultiReader(bytes.NewReader(append(header, '\n')), bytes.NewReader(s.Body)))
	var p Page
	switch {
	case errors.Is(err, helper.ErrTime):
		return Page{Error: fmt.Sprintf("it took longer than %v to make out; it is broken or hostile", limit.time)}, nil
	case errors.Is(err, helper.ErrMemory):
		return Page{Error: fmt.Sprintf("it unpacks to more than %d MB; it is broken or hostile", limit.memory>>20)}, nil
	case err != nil && !errors.Is(err, helper.ErrFailed):
		return Page{}, fmt.Errorf("reading a page: %w", err)
	case err != nil || json.Unmarshal(answer, &p) != nil:
		return Page{Error: "it cannot be made out: it is broken or hostile"}, nil
	}
	return p, nil
}

// child reads a source and writes a page.
func child(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	header, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	var s Source
	if err := json.Unmarshal(header, &s); err != nil {
		return err
	}
	if s.Body, err = io.ReadAll(lines); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(recovered(s))
}

// recovered runs parse, whose libraries panic on unknown input.
func recovered(s Source) (p Page) {
	defer func() {
		if recover() != nil {
			p = Page{Error: "it cannot be made out: it is broken or of a kind that is not understood"}
		}
	}()
	return parse(s)
}
