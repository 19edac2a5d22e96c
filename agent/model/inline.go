package model

import (
	"bytes"
	"iter"
	"strings"
)

// Inline passes a stream on and takes out of its text what is no text: thoughts
// in <think>…</think> become Reasoning. If calls is true, what a model without native
// calls writes as text becomes calls at the end of the stream. Understood are
//
//	<tool_call>{"name": "x", "arguments": {…}}</tool_call>
//	<tool_call><function=x><parameter=a>…</parameter></function></tool_call>
//	<function=x>{…}</function>
//
// and a fenced block marked json that is the whole reply and holds nothing but such an
// object. A call counts only if its tool is among those of req, and only at the end of
// the reply, after which nothing but white space and further calls come. What is quoted
// is text: in backticks, quotation marks, code, block quotes or another tag, and each
// call that a message of the user, a tool result or the system prompt holds. If one
// call of a reply is text, all are. A reply with native calls has no others.
//
// Text that looked like the beginning of a call is passed on as soon as it turns out not
// to be. On an error, text that is still held back is dropped.
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

// inline is the state of one stream. Text is in held until it is known what it is, and
// calls are in pending until it is known that nothing follows them.
type inline struct {
	req     *Request
	offered map[string]bool // empty: no calls are looked for
	yield   func(Delta, error) bool
	broken  bool // the consumer has broken off

	held      []byte
	in        *form // the form that held begins with; nil: text
	scanned   int   // how much of held was searched for the form's end
	tries     int   // ends that were none
	last      byte  // the last byte of text before held
	around    around
	said      bool // there was text
	thinking  bool
	skipSpace bool // after a thought

	pending []byte // calls as they were written
	block   bool   // pending is a fenced block, which must be the whole reply
	bodies  []string
	calls   []Call
	next    int // the first index after the native calls
}

// take handles one delta and tells whether to go on.
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

// giveUp makes everything text from here on.
func (f *inline) giveUp() {
	f.offered = nil
	f.decline()
	if f.in != nil {
		f.leave()
		f.scan()
	}
}

// plain tells whether text can pass as it is: the usual case, and cheap.
func (f *inline) plain(text string) bool {
	if len(f.held) > 0 || len(f.pending) > 0 || f.thinking || f.skipSpace || strings.ContainsAny(text, "<`~") {
		return false
	}
	f.passed(text)
	return true
}

// finish hands over the calls and returns what the reply's end is with them.
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

// scan moves through held until all is passed on or must wait for more.
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

// scanText passes text on up to something that may be no text.
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

// scanAfter decides about what follows a call: white space, and perhaps another call. If
// it is neither, the calls are text. It returns false if there is nothing to scan for now.
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

// scanFence decides about backticks or tildes at the start of held.
func (f *inline) scanFence() bool {
	run := len(f.held) - len(bytes.TrimLeft(f.held, string(f.held[:1])))
	if !f.around.bare() {
		f.text(run)
		return true
	}
	if run == len(f.held) {
		return false // there may be more of them
	}
	switch fence := f.held[:run]; {
	case run < 3:
	case f.around.fenced():
		f.around.closeFence(fence, f.held[run])
	case run == 3 && fence[0] == '`' && len(f.offered) > 0 && !f.said:
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

// thoughtTags begin and end a thought, each at the beginning of a line.
var thoughtTags = []string{"<think>", "<thinking>", "</think>", "</thinking>"}

// scanTag decides about a "<" at the start of held.
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
				f.thinking = tag[1] != '/' // an end alone: the beginning was in the prompt
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

// mostTries is how many ends a call may seem to have. Each costs a look at all of it.
const mostTries = 64

// scanCall looks for the end of a call, or for a sign that it is none.
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
		f.scanned = end + len(form.close) // the end may stand inside an argument
		if f.tries++; f.tries == mostTries {
			f.giveUp()
			return true
		}
	}
}

// found takes calls that are written in the first n bytes of held.
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

// body is what held has after the form's opening.
func (f *inline) body() []byte {
	if f.in == &jsonBlock {
		return f.held[bytes.IndexByte(f.held, '\n')+1:]
	}
	return f.held[len(f.in.open):]
}

// leave passes the opening on as text: it was no call. So are those before it.
func (f *inline) leave() {
	f.decline()
	n := len(f.in.open)
	if f.in == &jsonBlock {
		f.around.openFence([]byte("```"))
	}
	f.in = nil
	f.text(n)
}

// decline passes the calls so far on as text.
func (f *inline) decline() {
	if len(f.pending) == 0 {
		return
	}
	text := f.pending
	f.pending, f.bodies, f.calls, f.block = nil, nil, nil, false
	f.passed(string(text))
	f.broken = f.broken || !f.yield(Delta{Text: string(text)}, nil)
}

// release decides about what is held when the stream is over.
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

// text passes the first n held bytes on as text.
func (f *inline) text(n int) {
	if n == 0 || f.broken {
		return
	}
	text := string(f.held[:n])
	f.passed(text)
	f.broken = !f.yield(Delta{Text: text}, nil)
	f.held = f.held[n:]
}

// passed notes a text that is passed on.
func (f *inline) passed(text string) {
	f.last = text[len(text)-1]
	f.said = f.said || strings.TrimSpace(text) != ""
	f.around.add(text)
}

// thought passes the first n held bytes on as reasoning.
func (f *inline) thought(n int) {
	if n == 0 || f.broken {
		return
	}
	f.broken = !f.yield(Delta{Reasoning: string(f.held[:n])}, nil)
	f.held = f.held[n:]
}
