package servertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.lsp.dev/uri"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/internal/diff"
)

// PlayTrace plays a recorded session against a fresh server, in virtual time. It sends the
// frames of the client and the responses of the model, and compares the frames of the
// server. Beside the sections of a trace, the archive may have files/PATH for files of the
// workspace, home/PATH for files of $HERMES_HOME, and model for further responses. Check is
// called with every frame of either direction. Nil: nothing more is checked.
func PlayTrace(t *testing.T, archive *txtar.Archive, check func(t testing.TB, toServer bool, frame []byte)) {
	t.Helper()
	p := &player{script: script{t: t, check: check}, live: map[string]string{}}
	p.parse(archive)
	p.lines = p.about.Protocol == "acp"
	p.o.Unbegun = true
	p.o.Home = filepath.Join(t.TempDir(), "home")
	p.o.fill(t)
	p.findRoot()
	synctest.Test(t, func(t *testing.T) { p.play(t) })
}

// player plays a trace. Its script contains the editor and the responses of the model.
type player struct {
	script
	about     struct{ Protocol, Version, Cwd, Home string }
	events    []*event
	root      string             // of the recorded workspace
	live      map[string]string  // recorded ids → current ids
	taken     int                // examined frames of the server
	was, is   sorter             // of recorded frames, and of current frames
	edits     map[string]uri.URI // recorded requests to edit a document, by id
	actual    lanes
	expected  lanes
	echoes    map[uri.URI]int // edits of the server whose changes the recorded client still reports
	homeFiles []txtar.File
	responses []string // of the model, a line each
}

// event is a line of a trace.
type event struct {
	client bool
	at     time.Duration
	raw    string // an invalid frame
	stray  string // bytes between frames
	frame  Frame
}

// lanes are messages by kind: messages of the same kind are in order, messages of two kinds race.
type lanes map[string][]Frame

// add adds a message. Pieces of one text become a single message.
func (l lanes) add(lane string, f Frame) int {
	list := l[lane]
	if n := len(list); n > 0 && strings.HasSuffix(lane, "_chunk") {
		if joined, ok := joinChunks(list[n-1], f); ok {
			list[n-1] = joined
			return n - 1
		}
	}
	l[lane] = append(list, f)
	return len(list)
}

func (p *player) parse(archive *txtar.Archive) {
	p.o.Files = map[string]string{}
	var responses []string
	for _, f := range archive.Files {
		text := string(f.Data)
		switch name, path, _ := strings.Cut(f.Name, "/"); {
		case name == "files" && path != "":
			p.o.Files[path] = text
		case name == "home" && path != "":
			p.homeFiles = append(p.homeFiles, txtar.File{Name: path, Data: f.Data})
		case f.Name == "recording":
			if err := json.Unmarshal(f.Data, &p.about); err != nil {
				p.t.Fatalf("recording: %v", err)
			}
		case f.Name == "trace":
			responses = append(responses, p.parseTrace(text)...)
		case f.Name == "model":
			responses = append(responses, stepsOf(text)...)
		default:
			p.t.Fatalf("unknown section %q; a trace has recording, trace, files/…, home/… and model", f.Name)
		}
	}
	p.responses = responses
}

// parseTrace fills the events and returns the responses of the model.
func (p *player) parseTrace(text string) (responses []string) {
	for n, line := range stepsOf(text) {
		seconds, rest, _ := strings.Cut(line, " ")
		at, err := strconv.ParseFloat(seconds, 64)
		if err != nil {
			p.t.Fatalf("trace, line %d: %q is no time", n+1, seconds)
		}
		kind, body, _ := strings.Cut(rest, " ")
		e := &event{client: kind == "client", at: time.Duration(at * float64(time.Second))}
		how, quoted, _ := strings.Cut(body, " ")
		switch {
		case kind == "model":
			responses = append(responses, body)
			continue
		case kind != "client" && kind != "server":
			p.t.Fatalf("trace, line %d: %q is neither client, server nor model", n+1, kind)
		case body == "":
			p.t.Fatalf("trace, line %d is empty", n+1)
		case how == "raw" || how == "stray":
			text, err := strconv.Unquote(quoted)
			if err != nil {
				p.t.Fatalf("trace, line %d: %v", n+1, err)
			}
			if e.raw = text; how == "stray" {
				e.raw, e.stray = "", text
			}
		default:
			e.frame.raw = []byte(body)
			if body[0] != '{' || json.Unmarshal(e.frame.raw, &e.frame) != nil {
				e.raw = body
			}
		}
		p.events = append(p.events, e)
	}
	return responses
}

// findRoot finds the recorded workspace: the client's directory or, without it, the server's
// working directory.
func (p *player) findRoot() {
	p.root = p.about.Cwd
	for _, e := range p.events {
		var params struct {
			Cwd              string
			RootURI          uri.URI
			WorkspaceFolders []struct{ URI uri.URI }
		}
		if !e.client || json.Unmarshal(e.frame.Params, &params) != nil {
			continue
		}
		switch {
		case len(params.WorkspaceFolders) > 0:
			p.root = params.WorkspaceFolders[0].URI.FsPath()
		case params.RootURI != "":
			p.root = params.RootURI.FsPath()
		case params.Cwd != "":
			p.root = params.Cwd
		default:
			continue
		}
		return
	}
}

func (p *player) play(t *testing.T) {
	p.t = t
	p.writeHome()
	p.replies = p.repliesOf(p.here(strings.Join(p.responses, "\n")))
	if len(p.responses) > 0 { // if not, the prompts may have shown the missing model configuration
		p.o.Model = fakemodel.Func(p.replies.next)
	}
	p.actual, p.expected, p.echoes = lanes{}, lanes{}, map[uri.URI]int{}
	p.edits, p.onRequest = map[string]uri.URI{}, p.request
	p.begin()
	defer func() { p.editor.run.end(t) }()
	start := time.Now()
	for i, e := range p.events {
		if !e.client {
			p.expect(e)
			continue
		}
		if !p.await() {
			t.Errorf("before frame %d of the trace, the server did not send what it had sent", i+1)
			break
		}
		time.Sleep(e.at - time.Since(start))
		synctest.Wait()
		p.sendEvent(e)
		synctest.Wait()
	}
	p.await()
	p.compare()
}

// expect adds a recorded message of the server to the expected messages.
func (p *player) expect(e *event) {
	if u, ok := editedURI(e.frame); ok {
		p.echoes[u]++
		p.edits[string(e.frame.ID)] = u
	}
	if lane := p.was.lane(e.frame); lane != "" {
		p.expected.add(lane, e.frame)
	}
}

// await lets time pass until all recorded messages have come. If a message does not come, it
// returns false.
func (p *player) await() bool {
	for range 6000 {
		synctest.Wait()
		p.take()
		if p.complete() {
			return true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return false
}

// take examines the received messages.
func (p *player) take() {
	frames := p.editor.conn.seen()
	for _, f := range frames[p.taken:] {
		if p.check != nil {
			p.check(p.t, false, f.raw)
		}
		if lane := p.is.lane(f); lane != "" {
			at := p.actual.add(lane, f)
			if want := p.expected[lane]; at < len(want) {
				p.bind(want[at].raw, f.raw)
			}
		}
	}
	p.taken = len(frames)
}

func (p *player) complete() bool {
	for lane, want := range p.expected {
		got := p.actual[lane]
		if len(got) < len(want) {
			return false
		}
		for i := range want { // messages received before they were expected
			p.bind(want[i].raw, got[i].raw)
		}
		if n := len(want); n > 0 && strings.HasSuffix(lane, "_chunk") && len(chunkText(got[n-1])) < len(chunkText(want[n-1])) {
			return false
		}
	}
	return true
}

// bind maps recorded ids to current ids.
func (p *player) bind(recorded, now []byte) {
	was, is := uuids.FindAll(recorded, -1), uuids.FindAll(now, -1)
	for i := range min(len(was), len(is)) {
		if _, known := p.live[string(was[i])]; !known && len(was) == len(is) {
			p.live[string(was[i])] = string(is[i])
		}
	}
}

// request answers requests that the recorded client did not get, and edits, which come in different
// pieces. All others get the recorded answer.
func (p *player) request(f Frame) {
	if f.Method == "workspace/applyEdit" || p.is.lane(f) == "" {
		p.editor.request(f)
	}
}

// sendEvent sends a recorded message of the client.
func (p *player) sendEvent(e *event) {
	if e.stray != "" {
		p.editor.Raw(p.here(e.stray))
		return
	}
	if e.raw != "" {
		p.sendText(p.here(e.raw))
		return
	}
	text := p.here(string(e.frame.raw))
	var f Frame
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
	switch {
	case f.Method == "" && f.ID != nil:
		p.answerNow(e, f, text)
	case p.document(f):
	default:
		if f.Method == "initialize" && strings.Contains(text, `"utf-8"`) {
			p.editor.units.utf16 = false
		}
		p.sendText(withoutProcess(f, text))
	}
}

func (p *player) sendText(text string) {
	if p.check != nil {
		p.check(p.t, true, []byte(text))
	}
	if err := p.editor.conn.send([]byte(text)); err != nil {
		p.t.Errorf("sending %s: %v", text, err)
	}
}

// answerNow answers the current request for a recorded answer.
func (p *player) answerNow(e *event, f Frame, text string) {
	if u, ok := p.edits[string(e.frame.ID)]; ok { // has been answered by the editor
		if !bytes.Contains(f.Result, []byte(`"applied":true`)) {
			p.echoes[u]--
		}
		return
	}
	for lane, list := range p.expected {
		for i, want := range list {
			if want.Method == "" || !bytes.Equal(want.ID, e.frame.ID) {
				continue
			}
			list[i].ID = json.RawMessage("null") // answered
			got := p.actual[lane][i]
			m := map[string]json.RawMessage{}
			if err := json.Unmarshal([]byte(text), &m); err != nil {
				p.t.Fatalf("%s: %v", text, err)
			}
			m["id"] = got.ID
			body, err := json.Marshal(m)
			if err != nil {
				p.t.Fatal(err)
			}
			p.sendText(string(body))
			return
		}
	}
}

// here replaces recorded paths and ids in a text by current ones.
func (p *player) here(text string) string {
	text = uuids.ReplaceAllStringFunc(text, func(id string) string {
		if now, ok := p.live[id]; ok {
			return now
		}
		return id
	})
	for _, pair := range [][2]string{{p.about.Home, p.o.Home}, {p.root, p.o.Root}} {
		if len(pair[0]) < 2 {
			continue
		}
		text = strings.ReplaceAll(text, string(uri.File(pair[0])), string(uri.File(pair[1])))
		text = strings.ReplaceAll(text, pair[0], pair[1])
	}
	return text
}

// compare compares the received messages with the recorded messages, kind by kind.
func (p *player) compare() {
	was, is := p.list(p.expected, true), p.list(p.actual, false)
	if was != is {
		p.t.Errorf("the server's frames differ from the recorded ones:\n%s",
			diff.Unified("server", []byte(was), []byte(is)))
	}
}

func (p *player) list(l lanes, recorded bool) string {
	var names []string
	for lane := range l {
		names = append(names, lane)
	}
	slices.Sort(names)
	var b strings.Builder
	for _, lane := range names {
		for _, f := range l[lane] {
			if recorded {
				f.raw = []byte(p.here(string(f.raw)))
			}
			fmt.Fprintln(&b, varying(p.line(f), p.about.Version))
		}
	}
	return p.hideTimes(b.String())
}
