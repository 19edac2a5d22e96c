package api

import (
	"bytes"
	"encoding/json"
	"io"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// Pieces is the body of a request. It is sent piece by piece, so encoded messages are not
// copied. Pieces are immutable.
type Pieces [][]byte

// Len returns the length in bytes.
func (p Pieces) Len() (n int64) {
	for _, piece := range p {
		n += int64(len(piece))
	}
	return n
}

// Reader returns a reader of all pieces.
func (p Pieces) Reader() io.Reader {
	rest := slices.Clone(p)
	return &piecesReader{rest}
}

// Bytes returns a joined copy.
func (p Pieces) Bytes() []byte { return bytes.Join(p, nil) }

type piecesReader struct{ rest Pieces }

func (r *piecesReader) Read(b []byte) (n int, err error) {
	for n < len(b) && len(r.rest) > 0 {
		c := copy(b[n:], r.rest[0])
		n += c
		if r.rest[0] = r.rest[0][c:]; len(r.rest[0]) == 0 {
			r.rest = r.rest[1:]
		}
	}
	if n == 0 && len(b) > 0 && len(r.rest) == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// Field is a configured field of requests (providers.NAME.extra_body).
type Field struct {
	Name  string
	Value json.RawMessage
}

// Body writes a JSON object in the order of the calls. The zero value is an empty object. A
// configured field replaces the API's own, written with [Body.Field].
type Body struct {
	Extra  []Field
	pieces Pieces
	buf    bytes.Buffer
	used   map[string]bool // names written so far
	listed bool            // the open list contains an item
	err    error
}

// Field writes a field. If Extra contains its name, the value of Extra is written instead.
func (b *Body) Field(name string, value any) {
	if !b.begin(name) {
		return
	}
	for _, f := range b.Extra {
		if f.Name == name {
			b.buf.Write(f.Value)
			return
		}
	}
	data, err := Marshal(value)
	if err != nil && b.err == nil {
		b.err = err
	}
	b.buf.Write(data)
}

// ExtraFields writes the remaining fields of Extra. Call it before the growing fields, so a
// request extends the previous request.
func (b *Body) ExtraFields() {
	for _, f := range b.Extra {
		if b.begin(f.Name) {
			b.buf.Write(f.Value)
		}
	}
}

// List starts a field whose items follow, see [Body.Item]. Extra does not replace it.
func (b *Body) List(name string) {
	b.listed = false
	delete(b.used, name)
	b.begin(name)
	b.buf.WriteByte('[')
}

// Item writes an encoded item of the open list. It copies only short items, and skips empty
// items.
func (b *Body) Item(item []byte) {
	if len(item) == 0 {
		return
	}
	if b.listed {
		b.buf.WriteByte(',')
	}
	b.listed = true
	b.raw(item)
}

// EndList ends the open list.
func (b *Body) EndList() { b.buf.WriteByte(']') }

// Raw writes a field with an encoded value. It copies only short values.
func (b *Body) Raw(name string, value []byte) {
	if b.begin(name) {
		b.raw(value)
	}
}

const shortPiece = 256 // bytes; shorter pieces are copied

func (b *Body) raw(data []byte) {
	if len(data) < shortPiece {
		b.buf.Write(data)
		return
	}
	b.flush()
	b.pieces = append(b.pieces, data)
}

func (b *Body) flush() {
	if b.buf.Len() > 0 {
		b.pieces = append(b.pieces, bytes.Clone(b.buf.Bytes()))
		b.buf.Reset()
	}
}

// begin writes the name of a field. If the field is already written, it returns false.
func (b *Body) begin(name string) bool {
	if b.used[name] {
		return false
	}
	if b.used == nil {
		b.used = map[string]bool{}
		b.buf.WriteByte('{')
	} else {
		b.buf.WriteByte(',')
	}
	b.used[name] = true
	quoted, err := Marshal(name)
	if err != nil { // a string can always be encoded
		panic(err)
	}
	b.buf.Write(quoted)
	b.buf.WriteByte(':')
	return true
}

// Close returns the body. The error is about the first value that could not be encoded.
func (b *Body) Close() (Pieces, error) {
	if b.used == nil {
		b.buf.WriteByte('{')
	}
	b.buf.WriteByte('}')
	b.flush()
	return b.pieces, b.err
}

// Marshal encodes a value as JSON. It does not escape <, > and &, which are frequent in code.
func Marshal(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Cached keeps encoded messages as long as the messages themselves are in use. It belongs to an
// endpoint, a model and a set of quirks. It is safe for concurrent use.
type Cached struct {
	mu       sync.Mutex
	messages map[cacheKey][]byte
	tools    weak.Pointer[model.Tool]
	list     []byte
	system   string
	prompt   []byte
}

// cacheKey identifies an immutable message by its first part.
type cacheKey struct {
	part    weak.Pointer[model.Part]
	variant int
}

// Message returns the encoded form of a message. If it is not in the cache, encode makes it. A
// message with images has a form for each way to send them; variant is the number of the form.
func (c *Cached) Message(m *model.Message, variant int, encode func() ([]byte, error)) ([]byte, error) {
	if c == nil || len(m.Parts) == 0 {
		return encode()
	}
	key := cacheKey{weak.Make(&m.Parts[0]), variant}
	c.mu.Lock()
	kept, ok := c.messages[key]
	c.mu.Unlock()
	if ok {
		return kept, nil
	}
	made, err := encode()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.messages == nil {
		c.messages = map[cacheKey][]byte{}
	}
	if _, ok := c.messages[key]; !ok {
		runtime.AddCleanup(&m.Parts[0], c.forget, key)
	}
	c.messages[key] = made
	return made, nil
}

func (c *Cached) forget(key cacheKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.messages, key)
}

// Tools returns the encoded tools of a request.
func (c *Cached) Tools(tools []model.Tool, encode func() ([]byte, error)) ([]byte, error) {
	if c == nil || len(tools) == 0 {
		return encode()
	}
	key := weak.Make(&tools[0])
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tools == key && c.list != nil {
		return c.list, nil
	}
	made, err := encode()
	if err == nil {
		c.tools, c.list = key, made
	}
	return made, err
}

// System returns the encoded system prompt of a request.
func (c *Cached) System(text string, encode func() ([]byte, error)) ([]byte, error) {
	if c == nil {
		return encode()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.system == text && c.prompt != nil {
		return c.prompt, nil
	}
	made, err := encode()
	if err == nil {
		c.system, c.prompt = text, made
	}
	return made, err
}
