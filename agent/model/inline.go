package model

import (
	"bytes"
	"iter"
	"slices"
	"strings"
)

// Inline passes a stream on and separates reasoning and calls from its text. A thought in
// <think>…</think> becomes Reasoning. If calls is true, calls written as text become calls at
// the end of the stream. It accepts these forms:
//
//	<tool_call>{"name": "x", "arguments": {…}}</tool_call>
//	<tool_call><function=x><parameter=a>…</parameter></function></tool_call>
//	<function=x>{…}</function>
//
// It also accepts a fenced block marked json, if it is the whole response and contains only
// such an object. The tool of a call must be in req. After the call, the response may contain
// only white space and more calls. Quotations are text: in backticks, quotation marks, code,
// block quotes or another tag. A call quoted from a user message, a tool result or the system
// prompt is text, too. If any call of a response is text, all of them are. If the response has
// native calls, all other calls are text.
//
// Text that looks like the start of a call is held only while it may become a call. If the
// stream ends with an error, held text is dropped.
func Inline(req *Request, calls bool, in iter.Seq2[Delta, error]) iter.Seq2[Delta, error] {
	start := StartsText
	return InlineOpened(req, calls, &start, in)
}

// Start is the kind of a response's start, if it has no markup.
type Start int

const (
	StartsUnknown Start = iota // a thought if its first words sound like a thought, else text
	StartsThought              // a thought, because the prompt opens it
	StartsText
)

// InlineOpened is Inline for a model whose prompt may open a thought, so the response contains
// only its end. start holds earlier knowledge, and InlineOpened updates it from the response.
//
// If the end of a thought comes after text was passed on, the text before it becomes a thought:
// see [Delta.WasThought]. If the end of an assumed thought does not come, the response is
// yielded as text at its end.
func InlineOpened(req *Request, calls bool, start *Start, in iter.Seq2[Delta, error]) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		f := inline{req: req, last: '\n', yield: yield, start: start, unheard: *start == StartsUnknown}
		if *start == StartsThought {
			f.assume()
		}
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

// inline is the state of a stream. held is text that may still be a call. pending holds calls
// until the text after them is known.
type inline struct {
	req     *Request
	offered map[string]bool // empty: text is not searched for calls
	yield   func(Delta, error) bool
	broken  bool // the consumer stopped reading

	held      []byte
	in        *form // the form at the start of held; nil: text
	scanned   int   // length of the part of held searched for the form's end
	tries     int   // ends of a form other than the end of a call
	last      byte  // the last byte of text before held
	around    around
	hasText   bool // the response contains text
	thinking  bool
	ends      []string // of the thought; nil: the ends of an unknown opening
	skipSpace bool     // after a thought
	tokens    bool     // the response uses channels or the like, so their ends are no text
	noBare    bool     // the response is no bare call
	assumed   []byte   // reasoning that becomes text without its end
	start     *Start
	unheard   bool // the first words decide whether the text is a thought

	pending []byte // the text of the calls
	block   bool   // pending is a fenced block, which must be the whole response
	bodies  []string
	calls   []Call
	next    int // the first index after the native calls
}

// take handles a delta. If the consumer stopped reading, it returns false.
func (f *inline) take(d Delta) bool {
	if d.Reasoning != "" { // the server separates thoughts
		f.unheard = false
		if f.assumed != nil {
			f.unassume()
		}
	}
	if d.Call != nil {
		f.unheard = false
		if f.assumed != nil { // no call starts within a thought
			f.unassume()
			f.scan()
		}
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

// plain passes on text that needs no scan, the common case. Otherwise it returns false.
func (f *inline) plain(text string) bool {
	if len(f.held) > 0 || len(f.pending) > 0 || f.thinking || f.skipSpace || f.unheard || markStart([]byte(text)) >= 0 {
		return false
	}
	if f.mayBeBare() && strings.ContainsAny(text[:1], "{fA \t\r\n") {
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

// scan handles held until it is empty or needs more text.
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
	if f.unheard {
		heard, thought := soundsLikeThought(f.held)
		if !heard {
			return false
		}
		if f.unheard = false; thought {
			f.assume()
			return true
		}
	}
	if len(f.pending) > 0 && !f.scanAfter() {
		return false
	}
	if f.mayBeBare() {
		if viableBare(f.held, f.offered) {
			f.enter(&bare)
			return true
		}
		f.noBare = true
	}
	i := markStart(f.held)
	if i < 0 {
		f.text(len(f.held))
		return true
	}
	f.text(i)
	if f.broken {
		return false
	}
	if f.held[0] == '`' || f.held[0] == '~' {
		return f.scanFence()
	}
	return f.scanTag()
}

// triangle starts the marks of Kimi. Other marks start with an ASCII character.
const triangle = "◁"

// markStart returns the index of the first character that may start a fence or a mark, also if its last
// bytes are missing. If there is none, it returns -1.
func markStart(text []byte) int {
	i := bytes.IndexAny(text, "<`~[")
	at := bytes.IndexByte(text, triangle[0])
	for ; at >= 0 && !begins(text[at:], triangle); at++ {
		next := bytes.IndexByte(text[at+1:], triangle[0])
		if next < 0 {
			return i
		}
		at += next
	}
	if at >= 0 && (i < 0 || at < i) {
		return at
	}
	return i
}

// mayBeBare reports whether the response may be a call without special tokens.
func (f *inline) mayBeBare() bool {
	return !f.noBare && !f.hasText && len(f.offered) > 0 && len(f.pending) == 0 && f.in == nil
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
	if rest[0] != '<' && rest[0] != '[' || f.block {
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
		line = bytes.TrimSpace(line)
		for _, block := range []*form{&jsonBlock, &toolCode} {
			if whole && string(line) == block.open {
				f.enter(block)
				return true
			} else if !whole && isStart(line, block.open) {
				return false
			}
		}
		f.around.openFence(fence)
	default:
		f.around.openFence(fence)
	}
	f.text(run)
	return true
}

// mark is a tag or a special token with a meaning for the text after it.
type mark struct {
	text string
	ends []string // of the thought after it; nil: it opens none
	end  bool     // it ends a thought
	open string   // the end is text after this opening, which may be a part of an answer
	call *form    // the form of a call after it
	// first: only at the start of a response, after a thought, or after another special token; line: at
	// the start of a line.
	first, line bool
	late        bool // also later, outside of quotations
	token       bool // not text, and more of its kind may follow
}

var thinkEnds = []string{"</think>", "</thinking>"}

// marks are the marks of all model families.
var marks = func() []mark {
	const analysis = "<|channel|>analysis<|message|>"
	harmony := []string{"<|end|>", "<|return|>", "<|start|>", "<|channel|>"}
	all := []mark{
		{text: "<think>", ends: thinkEnds, line: true}, {text: "<thinking>", ends: thinkEnds, line: true},
		{text: "<seed:think>", ends: []string{"</seed:think>"}, line: true},
		{text: "<|begin_of_thought|>", ends: []string{"<|end_of_thought|>"}, line: true, token: true},
		{text: "[THINK]", ends: []string{"[/THINK]"}, line: true},
		{text: "<|START_THINKING|>", ends: []string{"<|END_THINKING|>"}, line: true, token: true},
		{text: "<|channel>thought\n", ends: []string{"<channel|>"}, line: true},
		{text: "◁think▷", ends: []string{"◁/think▷"}, line: true},
		{text: "<thought>", ends: []string{"</thought>"}, first: true}, {text: "<reasoning>", ends: []string{"</reasoning>"}, first: true},
		{text: "<reason>", ends: []string{"</reason>"}, first: true}, {text: "<scratchpad>", ends: []string{"</scratchpad>"}, first: true},
		{text: analysis, ends: harmony, first: true, late: true, token: true}, {text: "<|start|>assistant" + analysis, ends: harmony, first: true, late: true, token: true},
		{text: "<|end|><|start|>assistant" + analysis, ends: harmony, first: true, late: true, token: true},
	}
	for _, text := range []string{"<|start|>assistant<|channel|>final<|message|>", "<|channel|>final<|message|>", "<|start|>assistant<|channel|>commentary<|message|>",
		"<|channel|>commentary<|message|>", "<|begin_of_solution|>", "<|START_RESPONSE|>", "<|START_TEXT|>"} {
		all = append(all, mark{text: text, first: true, token: true})
	}
	all = append(all, unopened...)
	for _, text := range []string{"<|return|>", "<|end|>", "<|end_of_solution|>", "<|END_RESPONSE|>", "<|END_TEXT|>"} {
		all = append(all, mark{text: text, token: true})
	}
	for _, text := range tailOpeners {
		all = append(all, mark{text: text, call: &tail})
	}
	return append(all, mark{text: toolCall.open, call: &toolCall}, mark{text: function.open, call: &function})
}()

// applies reports whether a mark is effective at the start of held.
func (f *inline) applies(m *mark) bool {
	switch {
	case m.call != nil:
		return len(f.offered) > 0 && !f.around.quotes(f.last)
	case m.first:
		return !f.hasText || m.token && f.tokens || m.late && !f.around.quotes(f.last)
	case m.line:
		return f.last == '\n'
	case m.end && m.token:
		return f.hasText && !f.tokens && !f.around.quotes(f.last)
	case m.end:
		return (f.last == '\n' || !f.around.quotes(f.last)) && (m.open == "" || !f.around.opened(m.open))
	}
	return f.tokens
}

// scanTag handles a "<" or "[" at the start of held.
func (f *inline) scanTag() bool {
	if f.around.fenced() || f.last == '`' {
		f.text(f.character())
		return true
	}
	var best *mark
	wait := false
	for i := range marks {
		m := &marks[i]
		if m.text[0] != f.held[0] || !f.applies(m) {
			continue
		}
		if bytes.HasPrefix(f.held, []byte(m.text)) {
			if best == nil || len(m.text) > len(best.text) {
				best = m
			}
		} else if isStart(f.held, m.text) {
			wait = true
		}
	}
	switch {
	case wait:
		return false
	case best == nil:
		f.decline()
		f.text(f.character())
		return true
	case best.end && !best.token && f.last != '\n': // at the end of a line, or at its start
		if len(f.held) == len(best.text) {
			return false
		}
		if next := f.held[len(best.text)]; next != '\n' && next != '\r' {
			f.text(f.character())
			return true
		}
	}
	if best.call != nil {
		f.enter(best.call)
		return true
	}
	f.held = f.held[len(best.text):]
	f.tokens = f.tokens || best.token
	f.noBare = false
	f.skipSpace = best.end || best.ends != nil || best.first
	if best.ends != nil {
		f.thinking, f.ends = true, best.ends
	}
	if best.end {
		f.takeBack()
	}
	return true
}

// character returns the length of the character at the start of held, which may start a mark.
func (f *inline) character() int {
	if bytes.HasPrefix(f.held, []byte(triangle)) {
		return len(triangle)
	}
	return 1
}

// takeBack turns the text before the end of a thought into a thought. Its start is in the
// prompt.
func (f *inline) takeBack() {
	*f.start = StartsThought
	if f.hasText && !f.broken {
		f.broken = !f.yield(Delta{WasThought: true}, nil)
	}
	f.hasText, f.last = false, '\n'
	f.around = around{}
}

// assume treats the start of the response as a thought.
func (f *inline) assume() { f.thinking, f.skipSpace, f.assumed = true, true, []byte{} }

// unassume ends an assumed thought: its start was not in the prompt.
func (f *inline) unassume() {
	*f.start = StartsText
	f.held = append(f.assumed, f.held...)
	f.assumed, f.thinking, f.skipSpace = nil, false, false
}

// scanThought passes reasoning on up to the end of the thought.
func (f *inline) scanThought() bool {
	if f.skipSpace {
		f.held = bytes.TrimLeft(f.held, " \t\r\n")
		f.skipSpace = len(f.held) == 0
		return !f.skipSpace
	}
	if f.assumed != nil && len(f.assumed) == 0 { // the response may contain the start anyway
		for i := range marks {
			switch m := &marks[i]; {
			case m.ends == nil:
			case bytes.HasPrefix(f.held, []byte(m.text)):
				f.assumed, f.thinking = nil, false
				return true
			case isStart(f.held, m.text):
				return false
			}
		}
	}
	ends := f.ends
	if f.assumed != nil {
		ends = f.unopenedEnds()
	}
	at, length := -1, 0
	for _, end := range ends {
		if i := bytes.Index(f.held, []byte(end)); i >= 0 && (at < 0 || i < at) {
			at, length = i, len(end)
		}
	}
	if at >= 0 {
		if f.thought(at); f.assumed != nil {
			*f.start = StartsThought
		}
		switch end := string(f.held[:min(length, len(f.held))]); {
		case strings.HasPrefix(end, "<|end|>"):
			f.held = f.held[len("<|end|>"):]
		case !strings.HasPrefix(end, "<|start|>") && !strings.HasPrefix(end, "<|channel|>"): // they start the next part, too
			f.held = f.held[length:]
		}
		f.thinking, f.skipSpace, f.last, f.assumed, f.ends, f.noBare = false, true, '\n', nil, nil, false
		f.around.line = f.around.line[:0]
		return true
	}
	keep := 0
	for _, end := range ends {
		for k := min(len(f.held), len(end)-1); k > keep; k-- {
			if strings.HasPrefix(end, string(f.held[len(f.held)-k:])) {
				keep = k
			}
		}
	}
	f.thought(len(f.held) - keep)
	return false
}

// unopened are the ends of thoughts whose start is in the prompt.
var unopened = []mark{
	{text: "</think>", end: true}, {text: "</thinking>", end: true}, {text: "[/THINK]", end: true}, {text: "</seed:think>", end: true},
	{text: "<|end_of_thought|>", end: true}, {text: "<|END_THINKING|>", end: true}, {text: "◁/think▷", end: true}, {text: "<channel|>", end: true},
	{text: "</thought>", open: "<thought", end: true}, {text: "</reasoning>", open: "<reasoning", end: true},
	{text: "</reason>", open: "<reason", end: true}, {text: "</scratchpad>", open: "<scratchpad", end: true},
	{text: "<|end|><|start|>assistant<|channel|>final<|message|>", end: true, token: true}, {text: "<|start|>assistant<|channel|>final<|message|>", end: true, token: true},
	{text: "<|channel|>final<|message|>", end: true, token: true},
}

// unopenedEnds returns the ends of the thought so far, whose start is in the prompt.
func (f *inline) unopenedEnds() (ends []string) {
	for i := range unopened {
		m := &unopened[i]
		if m.open != "" {
			before, _, ended := bytes.Cut(f.held, []byte(m.text))
			if ended && bytes.Contains(slices.Concat(f.assumed, before), []byte(m.open)) {
				continue // the thought is about such tags
			}
		}
		ends = append(ends, m.text)
	}
	return ends
}

func (f *inline) enter(form *form) {
	f.in, f.scanned = form, 0
}

// mostTries limits the possible ends of a call. Each requires a parse of the whole call.
const mostTries = 64

// scanCall searches for the end of a call, or for proof that it is not a call.
func (f *inline) scanCall() bool {
	form := f.in
	body := f.body()
	if !form.viable(body, f.offered) {
		f.leave()
		return true
	}
	for form.close != "" {
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
	return false
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

// leave passes on the opening as text: it does not start a call. Earlier calls become text,
// too.
func (f *inline) leave() {
	f.decline()
	n := len(f.in.open)
	if f.in == &jsonBlock || f.in == &toolCode {
		f.around.openFence([]byte("```"))
	}
	if f.noBare = true; f.in == &tail {
		n = 1
	}
	f.in = nil
	f.text(n)
}

// decline passes on the pending calls as text.
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
	if f.thinking && f.assumed != nil {
		f.thought(len(f.held))
		f.unassume()
		f.scan()
		if f.in != nil {
			f.release(reason)
			return
		}
	}
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

// text passes on the first n bytes of held as text.
func (f *inline) text(n int) {
	if n == 0 || f.broken {
		return
	}
	text := string(f.held[:n])
	f.passed(text)
	f.broken = !f.yield(Delta{Text: text}, nil)
	f.held = f.held[n:]
}

// passed records passed-on text.
func (f *inline) passed(text string) {
	f.last = text[len(text)-1]
	f.hasText = f.hasText || strings.TrimSpace(text) != ""
	f.around.add(text)
}

// thought passes on the first n bytes of held as reasoning.
func (f *inline) thought(n int) {
	if n == 0 || f.broken {
		return
	}
	f.broken = !f.yield(Delta{Reasoning: string(f.held[:n])}, nil)
	if f.assumed != nil {
		f.assumed = append(f.assumed, f.held[:n]...)
	}
	f.held = f.held[n:]
}
