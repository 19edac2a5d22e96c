//go:build e2e && linux

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// floods are endless replies, by the event that an endpoint repeats. A %d becomes another number
// each time.
var floods = map[string]struct{ event, says string }{
	"repetition":       {delta(`{"content":"words and words and words "}`), "end_turn"},
	"text":             {delta(`{"content":"%d words and words "}`), "MB of text"},
	"text in pieces":   {delta(`{"content":"%d "}`), "MB"},
	"large text":       {delta(`{"content":"` + manyWords() + `"}`), "MB of text"},
	"control text":     {delta(`{"content":"%d` + strings.Repeat(`\u0001\u001b`, 100) + `"}`), "MB of text"},
	"reasoning":        {delta(`{"reasoning_content":"%d thoughts and thoughts "}`), "MB of reasoning"},
	"arguments":        {delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"todo","arguments":"{\"a\":\"bcdefghijklmnopq"}}]}`), "tool calls"},
	"calls":            {delta(`{"tool_calls":[{"index":%d,"id":"call%[1]d","function":{"name":"todo","arguments":"{}"}}]}`), "tool calls"},
	"calls without id": {delta(`{"tool_calls":[{"function":{"name":"todo","arguments":"{}"}},{"function":{"name":"process","arguments":"{}"}}]}`), "tool calls"},
	"calls as text":    {delta(`{"content":"<tool_call>{\"name\":\"todo\",\"arguments\":{}}</tool_call>"}`), "MB of text"},
	"a call as text":   {delta(`{"content":"<tool_call>{\"name\":\"todo\",\"arguments\":{\"a\":\"%d</tool_call><tool_call>"}`), "MB of text"},
	"comments":         {": " + strings.Repeat("x", 500) + "\n\n", "MB came"},
	"a line":           {"x", "line of more than"},
	"an event":         {"data: " + strings.Repeat("x", 10_000) + "\n", "event of more than"},
}

// manyWords is a text of more than a megabyte without repetition.
func manyWords() string {
	var b strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String()
}

func delta(text string) string {
	return `data: {"id":"1","choices":[{"index":0,"delta":` + text + `}]}` + "\n\n"
}

// endlessEndpoint floods who asks for "flood", and answers others. It reports each end of a flood.
func endlessEndpoint(t *testing.T, event string) (url string, begun <-chan struct{}, ended <-chan int64) {
	t.Helper()
	begins, ends := make(chan struct{}, 16), make(chan int64, 16)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if !strings.HasSuffix(lastPrompt(body), "flood") {
			fmt.Fprint(w, delta(`{"content":"Back."}`), `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "\n\ndata: [DONE]\n\n")
			return
		}
		begins <- struct{}{}
		out := bufio.NewWriterSize(w, 1<<16)
		var sent int64
		for n := 0; ; n++ {
			text := event
			if strings.Contains(event, "%d") {
				text = fmt.Sprintf(event, n)
			}
			k, err := out.WriteString(text)
			if sent += int64(k); err != nil {
				ends <- sent
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", begins, ends
}

// lastPrompt is the first line of the user's last message. The environment follows it.
func lastPrompt(body []byte) (text string) {
	var r struct {
		Messages []struct {
			Role    string
			Content any
		}
	}
	_ = json.Unmarshal(body, &r)
	for _, m := range r.Messages {
		if m.Role == "user" {
			text, _, _ = strings.Cut(strings.TrimSpace(fmt.Sprint(m.Content)), "\n")
		}
	}
	return text
}

func endlessLine(t *testing.T, event string) (l *line, session string, begun <-chan struct{}, ended <-chan int64) {
	t.Helper()
	b := newBed(t, shopFiles)
	url, begun, ended := endlessEndpoint(t, event)
	write(t, filepath.Join(b.home, "config.yaml"), "model: {provider: custom, base_url: \""+url+"\", default: m, api_key: x}\n")
	l = b.line(t)
	return l, l.newSession(b.workspace), begun, ended
}

// peak is the maximum memory of a process so far, in MB.
func peak(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(after)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}

const mostMemory = 150 // MB

// answerOf waits for the response to a request, and returns its text.
func (l *line) answerOf(id string) string {
	l.t.Helper()
	for {
		f, ok := l.next()
		if !ok {
			l.t.Fatal("the server has gone")
		}
		if f.Method == "" && string(f.ID) == id {
			if f.Error != nil {
				return f.Error.Message
			}
			return string(f.Result)
		}
	}
}

// TestEndlessReplies: an endless reply of any kind is bounded. The turn ends with an error about
// it, and the session continues.
func TestEndlessReplies(t *testing.T) {
	for name, flood := range floods {
		t.Run(name, func(t *testing.T) {
			l, session, _, ended := endlessLine(t, flood.event)
			began := time.Now()
			said := l.answerOf(l.send("session/prompt", promptOf(session, "flood")))
			if !strings.Contains(said, flood.says) {
				t.Errorf("the turn ended with %q, which does not say %q", said, flood.says)
			}
			took := time.Since(began)
			sent := <-ended
			if said := l.answerOf(l.send("session/prompt", promptOf(session, "hello"))); !strings.Contains(said, "end_turn") {
				t.Errorf("the next turn ended with %q", said)
			}
			if mb := peak(t, l.cmd.Process.Pid); mb > mostMemory {
				t.Errorf("the server took %d MB", mb)
			} else {
				t.Logf("%v, %d MB sent, %d MB of memory: %s", took, sent>>20, mb, said)
			}
			l.end()
		})
	}
}

// TestEndlessReplyIsCancelled: cancel ends a flood within a second.
func TestEndlessReplyIsCancelled(t *testing.T) {
	for _, name := range []string{"comments", "text in pieces"} {
		t.Run(name, func(t *testing.T) {
			l, session, begun, ended := endlessLine(t, floods[name].event)
			id := l.send("session/prompt", promptOf(session, "flood"))
			<-begun
			began := time.Now()
			_, err := fmt.Fprintf(l.in, `{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`+"\n", session)
			if err != nil {
				t.Fatal(err)
			}
			said := l.answerOf(id)
			took := time.Since(began)
			if !strings.Contains(said, "cancelled") || took > time.Minute { // it takes a second; another minute passes on a busy machine
				t.Errorf("after %v the turn ended with %q", took, said)
			}
			<-ended
			t.Logf("%v: %s; %d MB", took, said, peak(t, l.cmd.Process.Pid))
			l.end()
		})
	}
}

// TestEndlessReplyToAClientThatDoesNotRead: the messages waiting for the client are bounded.
func TestEndlessReplyToAClientThatDoesNotRead(t *testing.T) {
	for _, name := range []string{"text in pieces", "control text", "reasoning"} {
		t.Run(name, func(t *testing.T) {
			l, session, begun, ended := endlessLine(t, floods[name].event)
			id := l.send("session/prompt", promptOf(session, "flood"))
			<-begun
			<-ended
			if mb := peak(t, l.cmd.Process.Pid); mb > mostMemory {
				t.Errorf("the server took %d MB", mb)
			} else {
				t.Logf("%d MB of memory", mb)
			}
			if said := l.answerOf(id); !strings.Contains(said, "did not end") {
				t.Errorf("the turn ended with %q", said)
			}
			l.end()
		})
	}
}
