package model

import (
	"bytes"
	"iter"
	"strings"
)

// Inline passes a stream on and takes out of its text what is no text: thoughts
// in <think>…</think> become Reasoning, and calls that a model without native
// calls writes as text become calls at the end of the stream. Understood are
//
//	<tool_call>{"name": "x", "arguments": {…}}</tool_call>
//	<tool_call><function=x><parameter=a>…</parameter></function></tool_call>
//	<function=x>{…}</function>
//
// and a fenced block marked json that holds nothing but such an object. A call
// counts only if its tool is among offered; text that looked like the beginning of
// one is passed on as soon as it turns out not to be.
//
// On an error what is still held back is dropped: nobody has seen it.
func Inline(offered []Tool, in iter.Seq2[Delta, error]) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		f := inline{last: '\n', offered: names(offered), yield: yield}
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

// inline is the state of one stream. Text is in held until it is known what it is.
type inline struct {
	offered map[string]bool
	yield   func(Delta, error) bool
	broken  bool // the consumer has broken off

	held      []byte
	in        *form // the form that held begins with; nil: text
	scanned   int   // how much of held was searched for the form's end
	last      byte  // the last byte of text before held
	fenced    bool  // inside a fenced block, where nothing counts
	thinking  bool
	skipSpace bool // after a thought or a call

	calls []Call
	next  int // the first index after the native calls
}

// take handles one delta and tells whether to go on.
func (f *inline) take(d Delta) bool {
	if d.Call != nil && d.Call.Index >= f.next {
		f.next = d.Call.Index + 1
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

// plain tells whether text can pass as it is: the usual case, and cheap.
func (f *inline) plain(text string) bool {
	if len(f.held) > 0 || f.thinking || f.skipSpace || strings.ContainsAny(text, "<`") {
		return false
	}
	f.last = text[len(text)-1]
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
	i := bytes.IndexAny(f.held, "<`")
	if i < 0 {
		f.text(len(f.held))
		return true
	}
	f.text(i)
	if f.broken {
		return false
	}
	if f.held[0] == '`' {
		return f.scanFence()
	}
	return f.scanTag()
}

// scanFence decides about a backtick at the start of held.
func (f *inline) scanFence() bool {
	const fence = "```"
	if f.last != '\n' || (len(f.held) >= len(fence) && !bytes.HasPrefix(f.held, []byte(fence))) {
		f.text(1)
		return true
	}
	if len(f.held) < len(fence) && bytes.HasPrefix([]byte(fence), f.held) {
		return false
	}
	if len(f.held) < len(fence) {
		f.text(1)
		return true
	}
	line, _, whole := bytes.Cut(f.held, []byte("\n"))
	if f.fenced {
		f.fenced = false
		f.text(len(fence))
		return true
	}
	if len(f.offered) > 0 && f.in == nil {
		switch {
		case whole && string(bytes.TrimSpace(line)) == jsonBlock.open:
			f.enter(&jsonBlock)
			return true
		case !whole && strings.HasPrefix(jsonBlock.open, string(bytes.TrimSpace(line))):
			return false
		}
	}
	f.fenced = true
	f.text(len(fence))
	return true
}

// scanTag decides about a "<" at the start of held.
func (f *inline) scanTag() bool {
	if f.fenced || f.last == '`' {
		f.text(1)
		return true
	}
	wait := false
	if f.last == '\n' {
		for _, tag := range []string{"<think>", "<thinking>", "</think>", "</thinking>"} {
			if bytes.HasPrefix(f.held, []byte(tag)) {
				f.held = f.held[len(tag):]
				f.thinking = tag[1] != '/' // an end alone: the beginning was in the prompt
				f.skipSpace = true
				return true
			}
			wait = wait || strings.HasPrefix(tag, string(f.held))
		}
	}
	if len(f.offered) > 0 {
		for _, form := range []*form{&toolCall, &function} {
			if bytes.HasPrefix(f.held, []byte(form.open)) {
				f.enter(form)
				return true
			}
			wait = wait || strings.HasPrefix(form.open, string(f.held))
		}
	}
	if !wait {
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
			f.calls = append(f.calls, calls...)
			f.held = body[end+len(form.close):]
			f.in, f.skipSpace, f.last = nil, true, '\n'
			return true
		}
		f.scanned = end + len(form.close) // the end may stand inside an argument
	}
}

// body is what held has after the form's opening.
func (f *inline) body() []byte {
	if f.in == &jsonBlock {
		return f.held[bytes.IndexByte(f.held, '\n')+1:]
	}
	return f.held[len(f.in.open):]
}

// leave passes the opening on as text: it was no call.
func (f *inline) leave() {
	n := len(f.in.open)
	f.fenced = f.in == &jsonBlock
	f.in = nil
	f.text(n)
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
			f.calls = append(f.calls, calls...)
			f.held = nil
		}
	}
	f.in = nil
	if f.thinking {
		f.thought(len(f.held))
		return
	}
	f.text(len(f.held))
}

// text passes the first n held bytes on as text.
func (f *inline) text(n int) {
	if n == 0 || f.broken {
		return
	}
	f.last = f.held[n-1]
	f.broken = !f.yield(Delta{Text: string(f.held[:n])}, nil)
	f.held = f.held[n:]
}

// thought passes the first n held bytes on as reasoning.
func (f *inline) thought(n int) {
	if n == 0 || f.broken {
		return
	}
	f.broken = !f.yield(Delta{Reasoning: string(f.held[:n])}, nil)
	f.held = f.held[n:]
}
