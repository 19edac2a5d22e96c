package store

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// TransferVersion is the version of the format written by [Store.Export]. Import reads it and
// all older versions. Version 2 added the order and the state of parts, and the forms of
// pictures.
//
// The format is JSON Lines. Each line is an object with its type in "record". A "session"
// starts a session and contains the "version" of the format. The "message" lines after it are
// its log, in order. Texts are JSON strings, or {"base64": "…"} if the bytes are not valid
// UTF-8. Times are RFC 3339 with microseconds.
const TransferVersion = 2

// text is a JSON string of arbitrary bytes.
type text string

func (t text) MarshalJSON() ([]byte, error) {
	if utf8.ValidString(string(t)) {
		return json.Marshal(string(t))
	}
	return json.Marshal(map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(t))})
}

func (t *text) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var odd struct {
			Base64 []byte `json:"base64"`
		}
		if err := json.Unmarshal(data, &odd); err != nil {
			return err
		}
		*t = text(odd.Base64)
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

type sessionRecord struct {
	Record    string    `json:"record"` // "session"
	Version   int       `json:"version"`
	ID        string    `json:"id"`
	Cwd       text      `json:"cwd"`
	Folders   []text    `json:"folders,omitempty"`
	Title     text      `json:"title"`
	Notes     text      `json:"notes,omitempty"`
	Model     text      `json:"model,omitempty"`
	Mode      text      `json:"mode,omitempty"`
	Preferred text      `json:"preferred,omitempty"`
	Thinking  text      `json:"thinking,omitempty"`
	Parent    string    `json:"parent,omitempty"`
	Root      string    `json:"root,omitempty"`
	ForkedAt  string    `json:"forkedAt,omitempty"`
	Origin    text      `json:"origin,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
	System    text      `json:"system"`
	Tools     text      `json:"tools,omitempty"` // JSON, as offered to the model
}

type messageRecord struct {
	Record    string        `json:"record"` // "message"
	ID        string        `json:"id"`
	Time      time.Time     `json:"time"`
	Role      text          `json:"role"`
	Note      bool          `json:"note,omitempty"`
	Typed     int           `json:"typed,omitempty"`
	Keeps     int64         `json:"keeps,omitempty"`
	IsError   bool          `json:"isError,omitempty"`
	Usage     *model.Usage  `json:"usage,omitempty"`
	CallID    text          `json:"callId,omitempty"`
	Name      text          `json:"name,omitempty"`
	Text      text          `json:"text"`
	Reasoning text          `json:"reasoning,omitempty"`
	Calls     []callRecord  `json:"calls,omitempty"`
	Images    []model.Image `json:"images,omitempty"` // and files
	Parts     []layoutPart  `json:"parts,omitempty"`  // order and state, if the order is unusual
	Shown     text          `json:"shown,omitempty"`  // JSON, as shown in the editor
	// Sent is the form in which each endpoint received the images.
	Sent      map[string]model.PictureForm `json:"sent,omitempty"`
	Described []model.Description          `json:"described,omitempty"`
}

type callRecord struct {
	ID   text `json:"id"`
	Name text `json:"name"`
	Args text `json:"args"`
}

// Export writes a session with its log to w, page by page; see [TransferVersion]. Each text
// goes through hide, which redacts secrets; nil: the texts stay unchanged. If the session is
// rewound during the export, it returns an error.
func (s *Store) Export(ctx context.Context, id string, w io.Writer, hide func(text string) string) error {
	head, err := s.Session(ctx, id)
	if err != nil {
		return err
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if hide != nil {
		head = hiddenSession(head, hide)
	}
	if err := out.Encode(recordOf(head)); err != nil {
		return fmt.Errorf("writing session %s: %w", id, err)
	}
	const page = 200
	for after := int64(0); ; {
		log, err := s.Messages(ctx, id, after, page)
		if err != nil {
			return err
		}
		for i := range log {
			m := log[i]
			if hide != nil {
				m = hiddenMessage(m, hide)
			}
			if err := out.Encode(m.record()); err != nil {
				return fmt.Errorf("writing session %s: %w", id, err)
			}
			after = log[i].Seq
		}
		if len(log) < page {
			break
		}
	}
	now, err := s.Totals(ctx, id)
	if err == nil && now.Rewinds != head.Rewinds {
		err = s.explain("exporting session "+id, errors.New("the session was rewound during the export; try again"))
	}
	return err
}

// hiddenSession returns a session whose texts went through hide.
func hiddenSession(x Session, hide func(string) string) Session {
	x.Title, x.Notes, x.System, x.Origin = hide(x.Title), hide(x.Notes), hide(x.System), hide(x.Origin)
	return x
}

// hiddenMessage returns a message whose texts went through hide. The typed part of a text is
// passed separately, so Typed stays right.
func hiddenMessage(m Message, hide func(string) string) Message {
	m.Parts, m.Described = slices.Clone(m.Parts), slices.Clone(m.Described)
	typed := m.Typed
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Type == model.TextType || p.Type == model.ResultType {
			own := min(typed, len(p.Text))
			typed -= own
			before := hide(p.Text[:own])
			m.Typed += len(before) - own
			p.Text = before + hide(p.Text[own:])
		} else {
			p.Text = hide(p.Text)
		}
		p.Call.Args = hide(p.Call.Args)
	}
	for i := range m.Described {
		m.Described[i].Text = hide(m.Described[i].Text)
	}
	if len(m.Shown) > 0 {
		m.Shown = json.RawMessage(hide(string(m.Shown)))
	}
	return m
}

func recordOf(x Session) sessionRecord {
	r := sessionRecord{
		Record: "session", Version: TransferVersion, ID: x.ID, Cwd: text(x.Cwd), Title: text(x.Title), Notes: text(x.Notes),
		Model: text(x.Model), Mode: text(x.Mode), Preferred: text(x.Preferred), Thinking: text(x.Thinking),
		Parent: x.Parent, Root: x.Root, ForkedAt: x.ForkedAt, Origin: text(x.Origin),
		CreatedAt: x.CreatedAt, UpdatedAt: x.UpdatedAt, System: text(x.System), Tools: text(encode(x.Tools)),
	}
	for _, f := range x.Folders {
		r.Folders = append(r.Folders, text(f))
	}
	return r
}

func (r sessionRecord) session() (Session, error) {
	x := Session{
		ID: r.ID, Cwd: string(r.Cwd), Title: string(r.Title), Notes: string(r.Notes), Model: string(r.Model), Mode: string(r.Mode),
		Preferred: string(r.Preferred), Thinking: string(r.Thinking),
		Parent: r.Parent, Root: r.Root, ForkedAt: r.ForkedAt, Origin: string(r.Origin),
		CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt, System: string(r.System),
	}
	for _, f := range r.Folders {
		x.Folders = append(x.Folders, string(f))
	}
	if r.Tools != "" {
		if err := json.Unmarshal([]byte(r.Tools), &x.Tools); err != nil {
			return x, fmt.Errorf("its tools are no list: %w", err)
		}
	}
	return x, nil
}

func (m *Message) record() messageRecord {
	c := columnsOf(&m.Message)
	r := messageRecord{
		Record: "message", ID: m.ID, Time: m.Time, Role: text(m.Role), Note: m.Note, Typed: m.Typed, Keeps: m.Keeps, IsError: m.IsError,
		Usage: m.Usage, CallID: text(c.callID), Name: text(c.name), Text: text(c.text), Reasoning: text(c.reasoning),
		Images: c.media, Parts: c.layout, Shown: text(m.Shown), Sent: m.Sent, Described: m.Described,
	}
	for _, c := range c.calls {
		r.Calls = append(r.Calls, callRecord{text(c.ID), text(c.Name), text(c.Args)})
	}
	return r
}

func (r messageRecord) message() (*Message, error) {
	m := &Message{
		ID: r.ID, Time: r.Time, Note: r.Note, Typed: r.Typed, Keeps: r.Keeps, IsError: r.IsError, Usage: r.Usage,
		Message: model.Message{Role: model.Role(r.Role), Sent: r.Sent, Described: r.Described},
	}
	c := columns{callID: string(r.CallID), name: string(r.Name), text: string(r.Text), reasoning: string(r.Reasoning), media: r.Images, layout: r.Parts}
	for _, call := range r.Calls {
		c.calls = append(c.calls, model.Call{ID: string(call.ID), Name: string(call.Name), Args: string(call.Args)})
	}
	var err error
	if m.Parts, err = c.parts(m.Role); err != nil {
		return nil, errors.New("its parts do not fit its contents")
	}
	if r.Shown != "" {
		if !json.Valid([]byte(r.Shown)) {
			return nil, errors.New("what it shows is no JSON")
		}
		m.Shown = json.RawMessage(r.Shown)
	}
	switch m.Role {
	case model.User, model.Assistant, model.ToolRole:
		return m, nil
	}
	return nil, fmt.Errorf("its role is %q, not user, assistant or tool", m.Role)
}

// Imported is an added session.
type Imported struct {
	ID, Was  string // Was is the id in the file
	Messages int
}

// ImportOptions configure [Store.Import].
type ImportOptions struct {
	NewIDs bool           // every session gets a new id, and links between the sessions follow
	Change func(*Session) // changes a session before it is added; nil: it stays unchanged
}

// Import adds the sessions in r, each completely or not at all. If an id exists in the store,
// it returns [ErrExists]. If an id is not valid, it returns [ErrID]. An error ends the import.
// Import also returns the sessions added before an error.
func (s *Store) Import(ctx context.Context, r io.Reader, o ImportOptions) (done []Imported, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return nil, err
	}
	in := &transfer{lines: bufio.NewReaderSize(r, 64<<10), ids: map[string]string{}, renew: o.NewIDs}
	for {
		head, log, err := in.next()
		if errors.Is(err, io.EOF) {
			return done, nil
		}
		if err != nil {
			return done, fmt.Errorf("line %d: %w", in.line, err)
		}
		was := head.ID
		in.rename(&head)
		if o.Change != nil {
			o.Change(&head)
		}
		if err := checkIDs(head); err != nil {
			return done, fmt.Errorf("importing session %q: %w", was, err)
		}
		if err := s.insertImported(ctx, db, head, log); err != nil {
			return done, s.explain("importing session "+was, err)
		}
		done = append(done, Imported{ID: head.ID, Was: was, Messages: len(log)})
	}
}

// checkIDs returns [ErrID] if an id of the session is not valid.
func checkIDs(x Session) error {
	for _, id := range []string{x.Parent, x.Root} {
		if id != "" && !safefile.IsName(id) {
			return fmt.Errorf("it names the session %q: %w", id, ErrID)
		}
	}
	if !safefile.IsName(x.ID) {
		return ErrID
	}
	return nil
}

// importSlice is the number of messages to import in a transaction, so no other writer waits
// for long.
const importSlice = 500

// insertImported adds a session with its log. The session is not visible until it is complete.
func (s *Store) insertImported(ctx context.Context, db *database, head Session, messages []*Message) (err error) {
	log := NewID()
	if len(messages) > importSlice {
		release, err := s.Claim(log) // a sweep skips claimed logs
		if err != nil {
			return err
		}
		defer func() {
			release()
			if err != nil {
				db.startSweep()
			}
		}()
	}
	var sums Totals
	for begun := false; ; begun = true {
		part := messages[:min(len(messages), importSlice)]
		messages = messages[len(part):]
		err := db.write(ctx, func(tx *sql.Tx) error {
			if !begun {
				if err := begin(ctx, tx, log, head.ID); err != nil {
					return err
				}
			}
			for _, m := range part {
				sums.Messages++
				m.Seq = int64(sums.Messages)
				m.complete()
				sums.add(m.Usage)
				head.touch(m.Time)
				if err := db.insert(ctx, tx, log, m); err != nil {
					return err
				}
			}
			if len(messages) > 0 {
				return nil
			}
			return db.finish(ctx, tx, log, head, sums)
		})
		if err != nil || len(messages) == 0 {
			return err
		}
	}
}

// begin creates a log without a session. If the session exists, it returns [ErrExists].
func begin(ctx context.Context, tx *sql.Tx, log, session string) error {
	var exists bool
	if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM sessions WHERE id = ?)", session).Scan(&exists); err != nil {
		return err
	}
	if exists {
		return ErrExists
	}
	_, err := tx.ExecContext(ctx, "INSERT INTO logs (id, loose) VALUES (?, 1)", log)
	return err
}

// finish adds the session of a complete log.
func (db *database) finish(ctx context.Context, tx *sql.Tx, log string, head Session, sums Totals) error {
	if err := db.addHead(ctx, tx, head); err != nil {
		return err
	}
	if err := db.attach(ctx, tx, head.ID, 1, log); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE logs SET loose = 0 WHERE id = ?", log); err != nil {
		return err
	}
	return setTotals(ctx, tx, head.ID, sums)
}

func (t *Totals) add(u *model.Usage) {
	if u == nil {
		return
	}
	t.Requests++
	t.Usage.Input += u.Input
	t.Usage.Output += u.Output
	t.Usage.Reasoning += u.Reasoning
	t.Usage.CachedRead += u.CachedRead
	t.Usage.CachedWrite += u.CachedWrite
	t.Usage.Cost += u.Cost
}

// touch sets UpdatedAt if at is later.
func (x *Session) touch(at time.Time) {
	if at.After(x.UpdatedAt) {
		x.UpdatedAt = at
	}
}

// transfer reads the records of an export.
type transfer struct {
	lines *bufio.Reader
	line  int
	size  int               // bytes of the session so far
	ahead *Session          // the next session, if it was read already
	renew bool              // assign new ids
	ids   map[string]string // the new ids, by old id
}

// next reads a session. At the end, it returns [io.EOF].
func (t *transfer) next() (head Session, log []*Message, err error) {
	if t.ahead == nil {
		x, m, err := t.record()
		if err != nil {
			return head, nil, err
		}
		if m != nil {
			return head, nil, errors.New("a message before any session")
		}
		t.ahead = x
	}
	head, t.ahead, t.size = *t.ahead, nil, 0
	for {
		x, m, err := t.record()
		if errors.Is(err, io.EOF) {
			return head, log, nil
		}
		if err != nil {
			return head, nil, err
		}
		if x != nil {
			t.ahead = x
			return head, log, nil
		}
		log = append(log, m)
	}
}

// Limits of an import in bytes: of a line, and of a session, which is held in memory.
const (
	longestRecord  = 256 << 20
	largestSession = 2 << 30
)

// readRecord reads a line. If it has more than limit bytes, or its text does not begin like a JSON
// object, readRecord returns an error without reading the rest.
func readRecord(r *bufio.Reader, limit int) (line []byte, err error) {
	begun := false
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if text := bytes.TrimSpace(part); !begun && len(text) > 0 {
			if begun = true; text[0] != '{' {
				return nil, fmt.Errorf("not a JSON object of an export: it begins with %q", text[0])
			}
		}
		if len(line) > limit {
			return nil, fmt.Errorf("it is longer than %d MB: not an export of hermes-ls", limit>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// record reads a non-empty line: a session or a message.
func (t *transfer) record() (*Session, *Message, error) {
	for {
		line, err := readRecord(t.lines, longestRecord)
		if t.line++; len(line) == 0 && err != nil {
			return nil, nil, err
		}
		if t.size += len(line); t.size > largestSession {
			return nil, nil, fmt.Errorf("the session is larger than %d GB", largestSession>>30)
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return parseRecord(line)
		}
	}
}

func parseRecord(line []byte) (*Session, *Message, error) {
	var kind struct {
		Record  string `json:"record"`
		Version int    `json:"version"`
		ID      string `json:"id"`
	}
	if err := json.Unmarshal(line, &kind); err != nil {
		return nil, nil, fmt.Errorf("not a JSON object of an export: %w", err)
	}
	if kind.ID == "" && (kind.Record == "session" || kind.Record == "message") {
		return nil, nil, fmt.Errorf("the %s has no id", kind.Record)
	}
	switch kind.Record {
	case "session":
		if kind.Version < 1 || kind.Version > TransferVersion {
			return nil, nil, fmt.Errorf("the session is of format version %d; this hermes-ls reads up to %d: update it", kind.Version, TransferVersion)
		}
		var r sessionRecord
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, nil, err
		}
		x, err := r.session()
		return &x, nil, err
	case "message":
		var r messageRecord
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, nil, err
		}
		m, err := r.message()
		return nil, m, err
	}
	return nil, nil, fmt.Errorf("the record is %q, not session or message: not an export of hermes-ls", kind.Record)
}

// rename assigns a new id to a session, if renew is set, and updates its links to earlier
// sessions of the file.
func (t *transfer) rename(x *Session) {
	if !t.renew {
		return
	}
	t.ids[x.ID] = NewID()
	x.ID = t.ids[x.ID]
	for _, link := range []*string{&x.Parent, &x.Root} {
		if id, ok := t.ids[*link]; ok {
			*link = id
		}
	}
}
