// Package picture fits pictures for models: it applies the orientation, removes other
// metadata, and scales a picture down.
//
// Pictures are untrusted, so [Fit] decodes them in a helper process with limits of time and
// memory. A picture with too many pixels is rejected by its header. All functions are safe
// for concurrent use.
//
//	p, err := picture.Fit(ctx, "screenshot.png", data, picture.Limits{Side: 1568, Bytes: 3000000, Pixels: 50000000})
package picture

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/helper"
)

const (
	hiddenWord  = "__picture"
	answerLimit = 64 << 20
	timeLimit   = 20 * time.Second
	memoryLimit = 1 << 30
)

// Limits are the limits of a picture for models.
type Limits struct {
	Side   int `json:"side"`   // pixels of the longest side
	Bytes  int `json:"bytes"`  // of the encoded picture
	Pixels int `json:"pixels"` // of the original picture
}

// Picture is a picture within the limits.
type Picture struct {
	MIMEType      string `json:"type"`
	Width, Height int
	Data          []byte `json:"-"`
}

// Error explains why a picture is rejected.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// answer is the first line of the helper's output. The picture follows.
type answer struct {
	Picture
	Error string `json:"error,omitempty"`
}

// ServeHelper fits a picture and ends the process, if [Fit] started this process. In any other
// process it returns at once. See package modes.
func ServeHelper() { helper.Serve(hiddenWord, child) }

// Fit returns a picture within the limits. If the picture already is, and contains no metadata, its
// data stay unchanged. If the picture is rejected, the error is an [Error]. name is for the text of
// the error. Any other error is ctx's, or means that no process can be started.
func Fit(ctx context.Context, name string, data []byte, limits Limits) (Picture, error) {
	header, err := json.Marshal(limits)
	if err != nil {
		return Picture{}, fmt.Errorf("describing a picture: %w", err)
	}
	out, err := helper.Run(ctx, hiddenWord, helper.Limits{Time: timeLimit, Memory: memoryLimit, Answer: answerLimit},
		io.MultiReader(bytes.NewReader(append(header, '\n')), bytes.NewReader(data)))
	switch {
	case errors.Is(err, helper.ErrTime), errors.Is(err, helper.ErrMemory), errors.Is(err, helper.ErrFailed):
		return Picture{}, &Error{name + " cannot be decoded: it is broken or hostile"}
	case err != nil:
		return Picture{}, fmt.Errorf("fitting a picture: %w", err)
	}
	line, rest, _ := bytes.Cut(out, []byte{'\n'})
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		return Picture{}, &Error{name + " cannot be decoded: it is broken or hostile"}
	}
	if a.Error != "" {
		return Picture{}, &Error{name + " " + a.Error}
	}
	a.Data = rest
	return a.Picture, nil
}

// child reads limits and a picture, and writes an answer.
func child(in io.Reader, out io.Writer) error {
	lines := bufio.NewReader(in)
	header, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	var limits Limits
	if err := json.Unmarshal(header, &limits); err != nil {
		return err
	}
	data, err := io.ReadAll(lines)
	if err != nil {
		return err
	}
	p, err := recovered(data, limits)
	a := answer{Picture: p}
	if err != nil {
		a = answer{Error: err.Error()}
	}
	line, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if _, err = out.Write(append(line, '\n')); err == nil {
		_, err = out.Write(p.Data)
	}
	return err
}

// recovered runs fit, whose libraries can panic on broken input.
func recovered(data []byte, limits Limits) (p Picture, err error) {
	defer func() {
		if recover() != nil {
			p, err = Picture{}, errBroken
		}
	}()
	return fit(data, limits)
}

var (
	errBroken = errors.New("cannot be decoded: it is broken")
	errFormat = errors.New("is in a format that is not read. PNG, JPEG, GIF, WebP, BMP and TIFF are")
)

// tooLarge returns the error for a picture with too many pixels.
func tooLarge(width, height, limit int) error {
	mega := math.Ceil(float64(width) * float64(height) / 1e6)
	return fmt.Errorf("has %.0f megapixels; the limit is %g. Crop it first", mega, float64(limit)/1e6)
}
