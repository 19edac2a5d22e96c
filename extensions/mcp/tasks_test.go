package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
)

const offered = `{"tools":[
	{"name":"now","inputSchema":{"type":"object"}},
	{"name":"perhaps","inputSchema":{"type":"object"},"execution":{"taskSupport":"optional"}},
	{"name":"never","inputSchema":{"type":"object"},"execution":{"taskSupport":"forbidden"}},
	{"name":"later","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]}`

const greeted = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`

// answers returns a handler for the protocol's requests up to the list of tools.
func answers(events bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var in struct {
			ID     json.RawMessage
			Method string
		}
		if r.Method != http.MethodPost || json.Unmarshal(body, &in) != nil || len(in.ID) == 0 {
			w.WriteHeader(map[bool]int{true: http.StatusAccepted, false: http.StatusMethodNotAllowed}[r.Method == http.MethodPost])
			return
		}
		result, known := map[string]string{"initialize": greeted, "tools/list": offered, "ping": "{}"}[in.Method]
		message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, in.ID, result)
		if !known {
			message = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, in.ID)
		}
		if !events {
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, message)
			return
		}
		var line []byte
		for _, c := range []byte(message) {
			if c != '\n' && c != '\t' {
				line = append(line, c)
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
	}
}

// TestToolsThatNeedATask checks that a task-only tool is omitted and named.
func TestToolsThatNeedATask(t *testing.T) {
	t.Parallel()
	list := []Server{}
	for name, events := range map[string]bool{"json": false, "events": true} {
		web := httptest.NewServer(answers(events))
		t.Cleanup(web.Close)
		list = append(list, Server{Name: name, URL: web.URL})
	}
	if runtime.GOOS != "windows" {
		script := `answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
			while read -r line; do
				id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
				case $line in
				*'"initialize"'*) answer "$id" "$GREETED" ;;
				*'"tools/list"'*) answer "$id" "$(printf '%s' "$OFFERED" | tr -d '\n\t')" ;;
				esac
			done`
		list = append(list, Server{Name: "program", Command: "sh", Args: []string{"-c", script}, Env: []string{"GREETED=" + greeted, "OFFERED=" + offered}})
	}
	b := newBed(t, list...)
	for _, s := range b.Status() {
		prefix := "mcp__" + s.Name + "__"
		if want := []string{prefix + "now", prefix + "perhaps", prefix + "never"}; s.State != Connected || !slices.Equal(s.Tools, want) || !slices.Equal(s.LeftOut, []string{"later"}) {
			t.Errorf("%+v", s)
		}
	}
}

// TestRejectedToken checks the report about a server that rejects requests without a token, if
// there are no logins.
func TestRejectedToken(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer right" {
			answers(false)(w, r)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(web.Close)
	right := map[string]string{"Authorization": "Bearer right"}
	b := newBed(t, Server{Name: "http", URL: web.URL, Transport: TransportHTTP}, Server{Name: "either", URL: web.URL},
		Server{Name: "sse", URL: web.URL, Transport: TransportSSE}, Server{Name: "in", URL: web.URL, Headers: right})
	for _, s := range b.Status() {
		want := Failed
		if s.Name == "in" {
			want = Connected
		} else {
			b.noticed(`"` + s.Name + `" is not connected: it rejects requests without a valid token`)
		}
		if s.State != want {
			t.Errorf("%+v", s)
		}
	}
}
