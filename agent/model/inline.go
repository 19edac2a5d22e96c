package model

import (
	"bytes"
	"iter"
	"strings"
)

// Inline passes a stream on and separates reasoning and calls from its text. A thought in
// <think>…</think> becomes Reasoning. If calls is true, calls that the model writes as
// text become calls at the end of the stream. It accepts these forms:
//
//	<tool_call>{"name": "x", "arguments": {…}}</tool_call>
//	<tool_call><function=x><parameter=a>…</parameter></function></tool_call>
//	<function=x>{…}</function>
//
// It also accepts a fenced block marked json that is the whole response and contains only
// such an object. The tool of a call must be in req. After the call, the response may
// contain only white space and more calls. Quotations are text: in backticks, quotation
// marks, code, block quotes or another tag. A call that a user message, a tool result or
// the system prompt contains is text, too. If one call of a response is text, all of them
// are. If the response has native calls, all other calls are text.
//
// Text that looks like the start of a call is passed on as soon as it cannot be one. If
// the stream ends with an error, text that was not passed on is dropped.
func Inline(req *Request, calls bool, in iter.Seq2[Delta, error]) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		f := inline{req: req, last: '\n', yield: yield}
		if calls {
			f.offered = names(req.Tools)
		}
		for d, err := range in {
			if err != nil {
				yield(d, err)
				return
			}
			if !f.take(d) {
				return
			}
		}
		f.release(FinishStop)
	}
}

func names(tools []Tool) map[string]bool {
	m := make(map[string]bool, len(tools))
	for _, t := range tools {
		m[t.Name] = true
	}
	return m
}

// inline is the state of one stream. held has text that may still be a call. pending has
// calls until the text after them is known.
type inline struct {
	req     *Request
	offered map[string]bool // empty: text is not searched for calls
	yield   func(Delta, error) bool
	broken  bool // the consumer has stopped reading

	held      []byte
	in        *form // the form that starts held; nil: text
	scanned   int   // how much of held was searched for the form's end
	tries     int   // ends of a form that were not the end of a call
	last      byte  // the last byte of text before held
	around    around
	hasText   bool // the response has text
	thinking  bool
	skipSpace bool // after a thought

	pending []byte // the text of the calls
	block   bool   // pending is a fenced block, which must be the whole response
	bodies  []string
	calls   []Call
	next    int // the first index after the native calls
}

// take handles one delta. If the consumer has stopped reading, it returns false.
func (f *inline) take(d Delta) bool {
	if d.Call != nil {
		f.next = max(f.next, d.Call.Index+1)
		f.giveUp()
	}
	if d.Text != "" && !f.plain(d.Text) {
		f.held = append(f.held, d.Text...)
		d.Text = ""
		f.scan()
	}
	if d.Finish != "" {
		f.release(d.Finish)
		d.Finish = f.finish(d.Finish)
	}
	if d != (Delta{}) && !f.broken {
		f.broken = !f.yield(d, nil)
	}
	return !f.broken
}

// giveUp makes the rest of the stream text.
func (f *inline) giveUp() {
	f.offered = nil
	f.decline()
	if f.in != nil {
		f.leave()
		f.scan()
	}
}

// plain passes text on that needs no scan, which is the common case. Otherwise it returns
// false.
func (f *inline) plain(text string) bool {
	if len(f.held) > 0 || len(f.pending) > 0 || f.thinking || f.skipSpace || strings.ContainsAny(text, "<`~") {
		return false
	}
	f.passed(text)
	return true
}

// finish yields the calls and returns the finish of the response.
func (f *inline) finish(reason Finish) Finish {
	for _, c := range f.calls {
		if f.broken {
			break
		}
		f.broken = !f.yield(Delta{Call: &CallDelta{Index: f.next, Name: c.Name, Args: c.Args}}, nil)
		f.next++
	}
	if len(f.calls) > 0 && reason == FinishStop {
		return FinishCalls
	}
	return reason
}

// scan handles held until it is empty or more text is required.
func (f *inline) scan() {
	for len(f.held) > 0 && !f.broken {
		var moved bool
		switch {
		case f.thinking:
			moved = f.scanThought()
		case f.in != nil:
			moved = f.scanCall()
		default:
			moved = f.scanText()
		}
		if !moved {
			return
		}
	}
}

// scanText passes text on up to a possible call or thought.
func (f *inline) scanText() bool {
	if f.skipSpace {
		f.held = bytes.TrimLeft(f.held, " \t\r\n")
		f.skipSpace = len(f.held) == 0
		return !f.skipSpace
	}
	if len(f.pending) > 0 && !f.scanAfter() {
		return false
	}
	i := bytes.IndexAny(f.held, "<`~")
	if i < 0 {
		f.text(len(f.held))
		return true
	}
	f.text(i)
	if f.broken {
		return false
	}
	if f.held[0] != '<' {
		return f.scanFence()
	}
	return f.scanTag()
}

// scanAfter handles the text after a call: white space, and perhaps another call. For
// other text, the calls become text. If more text is required, it returns false.
func (f *inline) scanAfter() bool {
	rest := bytes.TrimLeft(f.held, " \t\r\n")
	f.pending = append(f.pending, f.held[:len(f.held)-len(rest)]...)
	f.held = rest
	if len(rest) == 0 {
		return false
	}
	if rest[0] != '<' || f.block {
		f.decline()
	}
	return true
}

// scanFence handles backticks or tildes at the start of held.
func (f *inline) scanFence() bool {
	run := len(f.held) - len(bytes.TrimLeft(f.held, string(f.held[:1])))
	if !f.around.bare() {
		f.text(run)
		return true
	}
	if run == len(f.held) {
		return false // more of them may follow
	}
	switch fence := f.held[:run]; {
	case run < 3:
	case f.around.fenced():
		f.around.closeFence(fence, f.held[run])
	case run == 3 && fence[0] == '`' && len(f.offered) > 0 && !f.hasText:
		line, _, whole := bytes.Cut(f.held, []byte("\n"))
		if line = bytes.TrimSpace(line); whole && string(line) == jsonBlock.open {
			f.enter(&jsonBlock)
			return true
		} else if !whole && isStart(line, jsonBlock.open) {
			return false
		}
		f.around.openFence(fence)
	default:
		f.around.openFence(fence)
	}
	f.text(run)
	return true
}

// thoughtTags start and end a thought, each at the start of a line.
var thoughtTags = []string{"<think>", "<thinking>", "</think>", "</thinking>"}

// scanTag handles a "<" at the start of held.
func (f *inline) scanTag() bool {
	if f.around.fenced() || f.last == '`' {
		f.text(1)
		return true
	}
	wait := false
	if f.last == '\n' {
		for _, tag := range thoughtTags {
			if bytes.HasPrefix(f.held, []byte(tag)) {
				f.held = f.held[len(tag):]
				f.thinking = tag[1] != '/' // if there is only an end, the prompt has the start
				f.skipSpace = true
				return true
			}
			wait = wait || isStart(f.held, tag)
		}
	}
	if len(f.offered) > 0 && !f.around.quotes(f.last) {
		for _, form := range []*form{&toolCall, &function} {
			if bytes.HasPrefix(f.held, []byte(form.open)) {
				f.enter(form)
				return true
			}
			wait = wait || isStart(f.held, form.open)
		}
	}
	if !wait {
		f.decline()
		f.text(1)
	}
	return !wait
}

// scanThought passes reasoning on up to the end of the thought.
func (f *inline) scanThought() bool {
	if f.skipSpace {
		f.held = bytes.TrimLeft(f.held, " \t\r\n")
		f.skipSpace = len(f.held) == 0
		return !f.skipSpace
	}
	for _, end := range []string{"</think>", "</thinking>"} {
		if i := bytes.Index(f.held, []byte(end)); i >= 0 {
			f.thought(i)
			f.held = f.held[len(end):]
			f.thinking, f.skipSpace, f.last = false, true, '\n'
			f.around.line = f.around.line[:0]
			return true
		}
	}
	keep := 0
	for k := min(len(f.held), len("</thinking>")-1); k > 0 && keep == 0; k-- {
		tail := string(f.held[len(f.held)-k:])
		if strings.HasPrefix("</think>", tail) || strings.HasPrefix("</thinking>", tail) {
			keep = k
		}
	}
	f.thought(len(f.held) - keep)
	return false
}

func (f *inline) enter(form *form) {
	f.in, f.scanned = form, 0
}

// mostTries limits the possible ends of a call. Each requires a parse of the whole call.
const mostTries = 64

// scanCall searches for the end of a call, or for a sign that it is not a call.
func (f *inline) scanCall() bool {
	form := f.in
	body := f.body()
	if !form.viable(body, f.offered) {
		f.leave()
		return true
	}
	for {
		i := bytes.Index(body[f.scanned:], []byte(form.close))
		if i < 0 {
			f.scanned = max(0, len(body)-len(form.close)+1)
			return false
		}
		end := f.scanned + i
		if calls, ok := form.parse(body[:end], f.offered); ok {
			f.found(calls, len(f.held)-len(body)+end+len(form.close))
			return true
		}
		f.scanned = end + len(form.close) // an argument may contain the end
		if f.tries++; f.tries == mostTries {
			f.giveUp()
			return true
		}
	}
}

// found stores the calls in the first n bytes of held.
func (f *inline) found(calls []Call, n int) {
	body := f.held[:n]
	if f.in != &function {
		body = bytes.TrimSuffix(f.body()[:len(f.body())-len(f.held)+n], []byte(f.in.close))
	}
	f.bodies = append(f.bodies, string(body))
	f.calls = append(f.calls, calls...)
	f.block = f.in == &jsonBlock
	f.pending = append(f.pending, f.held[:n]...)
	f.held = f.held[n:]
	f.in, f.scanned = nil, 0
}

// body returns the part of held after the opening of the form.
func (f *inline) body() []byte {
	if f.in == &jsonBlock {
		return f.held[bytes.IndexByte(f.held, '\n')+1:]
	}
	return f.held[len(f.in.open):]
}

// leave passes the opening on as text, because it does not start a call. The calls before
// it become text, too.
func (f *inline) leave() {
	f.decline()
	n := len(f.in.open)
	if f.in == &jsonBlock {
		f.around.openFence([]byte("```"))
	}
	f.in = nil
	f.text(n)
}

// decline passes the pending calls on as text.
func (f *inline) decline() {
	if len(f.pending) == 0 {
		return
	}
	text := f.pending
	f.pending, f.bodies, f.calls, f.block = nil, nil, nil, false
	f.passed(string(text))
	f.broken = f.broken || !f.yield(Delta{Text: string(text)}, nil)
}

// release handles held and pending at the end of the stream.
func (f *inline) release(reason Finish) {
	if f.in != nil {
		body := f.body()
		calls, ok := f.in.parse(body, f.offered)
		if !ok && reason == FinishLength {
			calls, ok = f.in.cut(body, f.offered)
		}
		if ok {
			f.found(calls, len(f.held))
		}
	}
	f.in = nil
	if f.thinking {
		f.thought(len(f.held))
	}
	if len(f.pending) > 0 {
		f.held = bytes.TrimLeft(f.held, " \t\r\n")
	}
	if len(f.held) > 0 || quoted(f.bodies, f.req) {
		f.decline()
	}
	f.text(len(f.held))
	f.pending = nil
}

// text passes the first n bytes of held on as text.
func (f *inline) text(n int) {
	if n == 0 || f.broken {
		return
	}
	text := string(f.held[:n])
	f.passed(text)
	f.broken = !f.yield(Delta{Text: text}, nil)
	f.held = f.held[n:]
}

// passed records text that was passed on.
func (f *inline) passed(text string) {
	f.last = text[len(text)-1]
	f.hasText = f.hasText || strings.TrimSpace(text) != ""
	f.around.add(text)
}

// thought passes the first n bytes of held on as reasoning.
func (f *inline) thought(n int) {
	if n == 0 || f.broken {
		return
	}
	f.broken = !f.yield(Delta{Reasoning: string(f.held[:n])}, nil)
	f.held = f.held[n:]
}
