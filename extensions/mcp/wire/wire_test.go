package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestKeepAlive checks that comments between events are no part of an event.
func TestKeepAlive(t *testing.T) {
	t.Parallel()
	r := &readMessages{dropped: new(Dropped), events: true}
	for range 2*LongestMessage/5 + 1 {
		r.add([]byte(": hi\n"))
	}
	if n := len(r.event) + len(r.line); n > 0 {
		t.Errorf("comments count as %d bytes of an event", n)
	}
	for range 3 {
		r.add([]byte("data: " + strings.Repeat("a", LongestMessage/2) + "\r\n\r\n"))
	}
	if n := len(r.event) + len(r.line); n > 0 {
		t.Errorf("three events count as %d bytes of one", n)
	}
}

// TestLineEndings checks all line endings permitted by the standard of event streams, also in the
// middle of a read.
func TestLineEndings(t *testing.T) {
	t.Parallel()
	const message = `{"jsonrpc":"2.0","id":1,"result":{}}`
	want := "event: message\ndata: " + message + "\n\n"
	for _, ending := range []string{"\n", "\r\n", "\r"} {
		first := strings.Replace(want, ",", ", ", 1)
		for size := 1; size < 9; size++ {
			r := &readMessages{dropped: new(Dropped), events: true}
			in := []byte(strings.ReplaceAll(": hi\nevent: message\ndata: "+message[:17]+"\ndata: "+message[17:]+"\n\n"+want, "\n", ending))
			for len(in) > 0 {
				n := min(size, len(in))
				r.add(in[:n])
				in = in[n:]
			}
			if got := string(r.out); got != ": hi\n"+first+want {
				t.Errorf("%q in pieces of %d: %q", ending, size, got)
			}
		}
	}
}

// through returns the messages of an output that reach the SDK, and the other lines. size is the
// length of the output's pieces.
func through(t *testing.T, in []byte, size int) (out, other string, faults []string) {
	t.Helper()
	var to, rest bytes.Buffer
	d := new(Dropped)
	m := &Messages{To: &to, Other: &rest, Dropped: d}
	for len(in) > 0 {
		n := min(size, len(in))
		if _, err := m.Write(in[:n]); err != nil {
			t.Fatal(err)
		}
		in = in[n:]
	}
	return to.String(), rest.String(), d.Faults()
}

// TestMessages checks the messages that reach the SDK. An empty want is the same as in.
func TestMessages(t *testing.T) {
	t.Parallel()
	result := func(r string) string { return `{"jsonrpc":"2.0","id":1,"result":` + r + `}` }
	for _, tc := range []struct{ name, in, want, other, fault string }{
		{name: "a request", in: `{"jsonrpc":"2.0","id":"abc","method":"ping"}`},
		{name: "a notification", in: `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":[1]}}`},
		{name: "no version", in: `{"id":1,"result":{}}`, want: result(`{}`)},
		{name: "another version", in: `{"jsonrpc":2,"id":1,"result":{}}`, want: result(`{}`)},
		{name: "an id as text", in: `{"jsonrpc":"2.0","id":"1","result":{}}`, want: result(`{}`)},
		{name: "an id as a float", in: `{"jsonrpc":"2.0","id":1.0,"result":{}}`, want: result(`{}`)},
		{name: "null beside the result", in: `{"jsonrpc":"2.0","id":1,"result":{},"error":null,"method":null}`, want: `{"jsonrpc":"2.0","id":1,"result":{},"error":null}`},
		{name: "an error as text", in: `{"jsonrpc":"2.0","id":1,"error":"no"}`, want: `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`},
		{name: "a code as text", in: `{"jsonrpc":"2.0","id":1,"error":{"code":"-5","message":7,"data":{"a":1}}}`, want: `{"jsonrpc":"2.0","id":1,"error":{"code":-5,"message":"7","data":{"a":1}}}`},
		{name: "a list", in: `[1,2,3]`, want: "-", other: "[1,2,3]\n"},
		{name: "a text", in: `"x"`, want: "-", other: "\"x\"\n"},
		{name: "no message", in: `{"level":"info","msg":"started","id":3}`, want: "-", other: `{"level":"info","msg":"started","id":3}` + "\n"},
		{name: "an answer to no request", in: `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, want: "-", other: `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}` + "\n"},
		{name: "a batch", in: `[{"jsonrpc":"2.0","method":"a"},7,{"id":1,"result":{}}]`, want: `{"jsonrpc":"2.0","method":"a"}` + "\n" + result(`{}`)},
		{name: "two in a line", in: `{"jsonrpc":"2.0","method":"a"} ` + result(`{}`), want: `{"jsonrpc":"2.0","method":"a"}` + "\n" + result(`{}`)},
		{name: "several lines", in: "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n    \"a\": [\n      {}\n,     {\"b\": 1}\n    ]\n  }\n}", want: "{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {\n    \"a\": [\n      {}\n,     {\"b\": 1}\n    ]\n  }\n}"},
		{name: "an open brace in a log", in: "{ starting [\n" + result(`{}`), want: result(`{}`), other: "{ starting [\n"},
		{name: "an answer that is no JSON", in: `{"jsonrpc":"2.0","id":7,"result":{"a":NaN}}`, want: `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,"message":"the server's answer is not valid JSON"}}`, other: `{"jsonrpc":"2.0","id":7,"result":{"a":NaN}}` + "\n"},
		{name: "an unknown protocol", in: result(`{"protocolVersion":"2030-01-01","capabilities":{"tools":true,"logging":7},"serverInfo":"x","instructions":5}`), want: result(`{"capabilities":{"tools":{}},"protocolVersion":"2025-11-25"}`)},
		{name: "a known protocol", in: result(`{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)},
		{name: "tools", in: result(`{"tools":[{"name":"a","description":"b","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`)},
		{name: "a tool with a number", in: result(`{"tools":[{"name":5},{"name":"a","inputSchema":{}}]}`), want: result(`{"tools":[{"name":"a","inputSchema":{}}]}`), fault: "entry 1 is left out (its name is no text: 5)"},
		{name: "a text among tools", in: result(`{"tools":["x",null,{"name":"a","inputSchema":{}},{}]}`), want: result(`{"tools":[{"name":"a","inputSchema":{}}]}`), fault: "entry 1 is left out (it is no object); entry 2 is left out (it is no object); entry 4 is left out (its name is no text: )"},
		{name: "wrong fields of a tool", in: result(`{"tools":[{"name":"a","title":1,"description":["x"],"inputSchema":"{\"type\":\"object\"}","outputSchema":7,"annotations":{"readOnlyHint":"true","title":"T"},"icons":"x","_meta":[]}]}`),
			want: result(`{"tools":[{"annotations":{"title":"T"},"inputSchema":{"type":"object"},"name":"a"}]}`), fault: "a without title, description, outputSchema, a part of annotations, icons, _meta"},
		{name: "tools that are no list", in: result(`{"tools":{"a":{}}}`), want: result(`{"tools":[]}`), fault: "its list of tools is no list"},
		{name: "a cursor that is a number", in: result(`{"nextCursor":7,"tools":[]}`), want: result(`{"nextCursor":"7","tools":[]}`)},
		{name: "a result", in: result(`{"content":[{"type":"text","text":"x"},{"type":"image","data":"QQ==","mimeType":"image/png"}],"isError":false}`)},
		{name: "parts that cannot be read", in: result(`{"content":[{"type":"text","text":"x"},{"type":"video","text":"said"},{"type":"hologram"},{"type":"image","data":"%%","mimeType":"image/png"},null,"plain",{"type":"text","text":5},7]}`),
			want: result(`{"content":[{"type":"text","text":"x"},{"type":"text","text":"said"},{"type":"text","text":"[a part of the type hologram that cannot be read]"},{"type":"text","text":"[a part of the type image that cannot be read]"},{"type":"text","text":"null"},{"type":"text","text":"plain"},{"type":"text","text":"5"},{"type":"text","text":"7"}]}`)},
		{name: "a result that is a text", in: result(`{"content":"done","isError":"true"}`), want: result(`{"content":[{"type":"text","text":"done"}],"isError":true}`)},
		{name: "one part that is no list", in: result(`{"content":{"type":"text","text":"x"}}`), want: result(`{"content":[{"type":"text","text":"x"}]}`)},
		{name: "resources", in: result(`{"resources":[{"uri":"a","name":"b","size":"x"},7]}`), want: result(`{"resources":[{"name":"b","uri":"a"}]}`)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			want := tc.want
			switch want {
			case "":
				want = strings.TrimSpace(tc.in)
			case "-":
				want = ""
			}
			for _, size := range []int{1, 7, 1 << 20} {
				out, other, faults := through(t, []byte(tc.in+"\n"), size)
				if strings.TrimSpace(out) != want || other != tc.other || strings.Join(faults, "; ") != tc.fault {
					t.Errorf("became\n%s\nwant\n%s\nother %q, faults %q", out, want, other, faults)
				}
			}
			// The same in an event, and as a body.
			for _, kind := range []string{"text/event-stream", "application/json"} {
				body := tc.in
				if kind == "text/event-stream" {
					body = "event: message\ndata: " + strings.ReplaceAll(tc.in, "\n", "\ndata: ") + "\n\n"
				}
				resp := &http.Response{Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body))}
				new(Dropped).Watch(resp)
				got, err := io.ReadAll(resp.Body)
				if first, _, more := strings.Cut(want, "\n"); err != nil || !more && tc.other == "" && !strings.Contains(string(got), first) {
					t.Errorf("%s: %s, %v", kind, got, err)
				}
			}
		})
	}
}

// FuzzMessages checks that only messages accepted by the SDK reach it, for every split of the
// output.
func FuzzMessages(f *testing.F) {
	f.Add([]byte("{\"a\":1}\nhello\n[1]\n{\n"), uint8(3))
	f.Add([]byte("\n\n{}\r\n"), uint8(1))
	f.Add([]byte("{}\v\n"), uint8(6))
	f.Add([]byte(`{"jsonrpc":"2.0","id":"1","result":{"tools":[{"name":5},{"name":"a","annotations":{"title":7}}],"content":[{"type":"image","data":"x"}]}}`+"\n"), uint8(9))
	f.Add([]byte("{\n\"id\":1.0,\"error\":[\n{}\n]\n}\n"), uint8(200))
	f.Fuzz(func(t *testing.T, in []byte, size uint8) {
		out, _, _ := through(t, in, int(size)+1)
		dec := json.NewDecoder(strings.NewReader(out))
		for {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err == io.EOF {
				return
			} else if err != nil {
				t.Fatalf("passed %q: %v", out, err)
			}
			m, err := jsonrpc.DecodeMessage(raw)
			if err != nil {
				t.Fatalf("passed %q: %v", raw, err)
			}
			r, ok := m.(*jsonrpc.Response)
			if !ok || r.Error != nil {
				continue
			}
			var fields map[string]json.RawMessage
			if json.Unmarshal(r.Result, &fields) != nil {
				continue
			}
			switch {
			case fields["protocolVersion"] != nil:
			case fields["tools"] != nil:
				if err := json.Unmarshal(fields["tools"], new([]*sdk.Tool)); err != nil {
					t.Errorf("%s: %v", fields["tools"], err)
				}
			case fields["content"] != nil:
				if err := json.Unmarshal(r.Result, new(sdk.CallToolResult)); err != nil {
					t.Errorf("%s: %v", r.Result, err)
				}
			}
		}
	})
}

// TestAnswersWithoutID checks which request gets an answer without an id.
func TestAnswersWithoutID(t *testing.T) {
	t.Parallel()
	const (
		lost      = `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"m"}}`
		unread    = `{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`
		note      = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	)
	call := func(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{}}` }
	done := func(id string) string { return `<{"jsonrpc":"2.0","id":` + id + `,"result":{}}` }
	for _, tc := range []struct {
		name  string
		lines []string // sent, or with "<" received
		id    string   // of the last message; empty: it is left out
	}{
		{"one request", []string{call("1"), "<" + lost}, "1"},
		{"a result", []string{call("1"), `<{"jsonrpc":"2.0","id":null,"result":{}}`}, "1"},
		{"no request", []string{"<" + lost}, ""},
		{"two requests", []string{call("1"), call("2"), "<" + lost}, ""},
		{"one of two", []string{call("1"), call("2"), done("1"), "<" + lost}, "2"},
		{"twice", []string{call("1"), "<" + lost, "<" + lost}, ""},
		{"maybe of a notification", []string{note, call("1"), "<" + lost}, ""},
		{"not of a notification", []string{note, call("1"), done("1"), call("2"), "<" + lost}, "2"},
		{"a message that was not read", []string{note, call("1"), "<" + unread}, "1"},
		{"a canceled request", []string{call("1"), call("2"), cancelled, done("2"), "<" + lost}, ""},
		{"our answer", []string{call("1"), `{"jsonrpc":"2.0","id":7,"result":{}}`, "<" + lost}, "1"},
	} {
		d, last := new(Dropped), [][]byte(nil)
		for _, line := range tc.lines {
			if text, received := strings.CutPrefix(line, "<"); received {
				last = d.Mend([]byte(text))
			} else {
				d.Sent([]byte(line))
			}
		}
		var got struct{ ID json.RawMessage }
		if len(last) > 0 {
			if err := json.Unmarshal(last[0], &got); err != nil {
				t.Fatal(err)
			}
		}
		if string(got.ID) != tc.id {
			t.Errorf("%s: %s", tc.name, last)
		}
	}
	of := json.RawMessage("5")
	if got := new(Dropped).mendAll([]byte(lost), of); len(got) != 1 || !bytes.Contains(got[0], []byte(`"id":5`)) {
		t.Errorf("the answer to a POST: %s", got)
	}
}
