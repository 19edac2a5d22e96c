// Package embedded is a scripted model inside the binary, for the demo, a first start
// without a key, and tests. It is not a language model.
//
// [Model] plays the responses in a fenced block of a prompt:
//
//	```hermes-script
//	[{"thought":"Hm."},{"text":"I look. "},{"call":{"name":"read_file","args":{"path":"a.go"}}}]
//	[{"sleep_ms":50},{"text":"It has "},{"result":"total_lines"},{"text":" lines."}]
//	```
//
// Each line is the response to a request, a list of steps. If the last prompt contains no
// script, or the script is at its end, the response is a sentence about setting up a model.
package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// setUp is the response without a script.
const setUp = "I am not a real model (provider embedded). To set one up, choose “Hermes: Choose Provider” in VS Code, `:Hermes setup` in " +
	"Neovim, or run `hermes-ls setup` in a terminal."

var (
	_ model.Sized = Model{}
	_ model.Sees  = Model{}
)

// Model is the scripted model. It is stateless and makes no connection.
type Model struct{ Name string }

// Window returns a fixed context window in tokens.
func (Model) Window() int { return 128000 }

// Sees reports true: the model accepts pictures.
func (Model) Sees(context.Context) bool { return true }

// step is a part of a response. Exactly one field is set.
type step struct {
	Text    string       `json:"text"`
	Thought string       `json:"thought"`
	Call    *call        `json:"call"`
	Result  string       `json:"result"`   // text: a field of the newest tool result, such as "results.0.summary"
	SleepMS int          `json:"sleep_ms"` // a pause
	Finish  model.Finish `json:"finish"`   // in place of stop or tool_calls
	Cut     bool         `json:"cut"`      // the connection breaks
	Status  int          `json:"status"`   // the request fails with this HTTP status
}

// call is a tool call. A string in Args is sent unchanged, valid or not.
type call struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
}

// Stream plays the next line of the newest script.
func (m Model) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		p := &player{ctx: ctx, model: m.Name, req: req, yield: yield}
		line, err := next(req.Messages)
		if err != nil {
			p.text(err.Error())
		}
		for _, s := range line {
			if !p.play(s) {
				return
			}
		}
		p.end()
	}
}

var block = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?ms)^```hermes-script[ \t]*\n(.*?)^```") })

// notice begins a message from hermes-ls, not from the user.
const notice = "Notice from hermes-ls"

// next returns the response to the last message.
func next(messages []model.Message) ([]step, error) {
	responses := 0
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		if m.Role == model.Assistant && (m.Text() != "" || len(m.Calls()) > 0) {
			responses++
		}
		if m.Role != model.User || strings.HasPrefix(m.Text(), notice) {
			continue
		}
		if script := block().FindStringSubmatch(m.Text() + "\n"); script != nil {
			return line(script[1], responses)
		}
		break
	}
	return []step{{Text: setUp}}, nil
}

// line parses line n of a script. Empty lines do not count.
func line(script string, n int) (steps []step, err error) {
	for text := range strings.Lines(script) {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if n--; n < 0 {
			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&steps); err != nil {
				return nil, fmt.Errorf("cannot read this line of the script: %w: %s", err, text)
			}
			return steps, nil
		}
	}
	return []step{{Text: setUp}}, nil
}

// player streams a response.
type player struct {
	ctx    context.Context
	model  string
	req    *model.Request
	yield  func(model.Delta, error) bool
	calls  int
	bytes  int // of the response
	finish model.Finish
}

// play streams a step. If the response ends with it, play returns false.
func (p *player) play(s step) bool {
	switch {
	case s.Thought != "":
		return p.pieces(s.Thought, func(piece string) model.Delta { return model.Delta{Reasoning: piece} })
	case s.Result != "":
		return p.text(p.field(s.Result))
	case s.Call != nil:
		return p.call(s.Call)
	case s.SleepMS > 0:
		select {
		case <-time.After(time.Duration(s.SleepMS) * time.Millisecond):
		case <-p.ctx.Done():
			p.yield(model.Delta{}, p.ctx.Err())
			return false
		}
	case s.Finish != "":
		p.finish = s.Finish
	case s.Cut:
		return p.fail(model.ErrCut, 0)
	case s.Status == 401:
		return p.fail(model.ErrAuth, s.Status)
	case s.Status != 0:
		return p.fail(model.ErrServer, s.Status)
	}
	return p.text(s.Text)
}

func (p *player) fail(kind model.ErrorKind, status int) bool {
	p.yield(model.Delta{}, &model.Error{Kind: kind, Status: status, Endpoint: "the script", Model: p.model})
	return false
}

func (p *player) text(text string) bool {
	return p.pieces(text, func(piece string) model.Delta { return model.Delta{Text: piece} })
}

// pieces streams a text word by word.
func (p *player) pieces(text string, delta func(string) model.Delta) bool {
	p.bytes += len(text)
	for piece := range strings.SplitAfterSeq(text, " ") {
		if piece != "" && !p.yield(delta(piece), nil) {
			return false
		}
	}
	return true
}

// call streams a call: its name, and its arguments in pieces.
func (p *player) call(c *call) bool {
	var args string
	if json.Unmarshal(c.Args, &args) != nil {
		args = string(c.Args)
	}
	p.bytes += len(args)
	d := &model.CallDelta{Index: p.calls, ID: fmt.Sprintf("call_%d_%d", len(p.req.Messages), p.calls+1), Name: c.Name}
	p.calls++
	for {
		n := min(200, len(args))
		if d.Args = args[:n]; !p.yield(model.Delta{Call: d}, nil) {
			return false
		}
		if args = args[n:]; args == "" {
			return true
		}
		d = &model.CallDelta{Index: d.Index}
	}
}

// field returns a field of the newest tool result. If there is no such field, it
// returns the whole result.
func (p *player) field(path string) string {
	result := ""
	for _, m := range p.req.Messages {
		if m.Role == model.ToolRole {
			result = m.Text()
		}
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader([]byte(result)))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return result
	}
	for name := range strings.SplitSeq(path, ".") {
		if list, ok := value.([]any); ok {
			if n, err := strconv.Atoi(name); err == nil && n >= 0 && n < len(list) {
				value = list[n]
				continue
			}
		}
		object, _ := value.(map[string]any)
		if object[name] == nil {
			return result
		}
		value = object[name]
	}
	return fmt.Sprint(value)
}

// end streams the end of the response. Four bytes count as a token.
func (p *player) end() {
	finish := p.finish
	if finish == "" && p.calls > 0 {
		finish = model.FinishCalls
	} else if finish == "" {
		finish = model.FinishStop
	}
	size := len(p.req.System)
	for _, m := range p.req.Messages {
		size += len(m.Text())
		for _, c := range m.Calls() {
			size += len(c.Args)
		}
	}
	for _, t := range p.req.Tools {
		size += len(t.Description) + len(t.Schema)
	}
	p.yield(model.Delta{Finish: finish, Model: p.model, Usage: &model.Usage{Input: size/4 + 1, Output: p.bytes/4 + 1}}, nil)
}
