package modelcmd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// Setup writes the key and the model only after the model has answered with a tool call.
func TestSetup(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := new(bytes.Buffer)
		_, _ = body.ReadFrom(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		switch {
		case r.Header.Get("Authorization") != "Bearer ds-good-key":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasPrefix(r.URL.Path, "/bare") && r.Method == http.MethodGet:
			http.NotFound(w, r)
		case strings.HasSuffix(r.URL.Path, "/models"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"data":[{"id":"a"},{"id":"mute"}]}`)
		case strings.Contains(body.String(), `"mute"`), strings.Contains(body.String(), `"role":"tool"`):
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		default:
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ping","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(srv.Close)
	before := "providers:\n  mine: {base_url: '" + srv.URL + "/v1', key_env: MINE_KEY}\n  bare: {base_url: '" + srv.URL + "/bare/v1', key_env: MINE_KEY}\n"
	for name, tc := range map[string]struct {
		answers, key string
		wrong        string
		model        string // expected in config.yaml
	}{
		"the first model":    {answers: "mine\n\n", key: "ds-good-key", model: "a"},
		"a named model":      {answers: "mine\nmine/a\n", key: "ds-good-key", model: "a"},
		"without a list":     {answers: "bare\nb\n", key: "ds-good-key", model: "b"},
		"no list, no model":  {answers: "bare\n\n", key: "ds-good-key", wrong: "no model was named"},
		"a mute model":       {answers: "mine\nmute\n", key: "ds-good-key", wrong: "did not call the tool"},
		"a wrong key":        {answers: "mine\n", key: "ds-wrong-key", wrong: "Nothing was written"},
		"a key at last":      {answers: "mine\nds-other-key\nds-good-key\n\n", key: "ds-wrong-key", model: "a"},
		"a key without list": {answers: "bare\nds-good-key\nb\n", key: "ds-wrong-key", model: "b"},
		"unknown provider":   {answers: "nobody\n", wrong: "no answer"},
		"no answer":          {answers: "", wrong: "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if err := os.WriteFile(config.Path(home), []byte(before), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err := setup(t.Context(), home, []string{"MINE_KEY=" + tc.key}, &asker{in: bufio.NewReader(strings.NewReader(tc.answers)), out: &out, terminal: -1})
			data, _ := os.ReadFile(config.Path(home))
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) || string(data) != before {
					t.Errorf("%v, want %s; config.yaml:\n%s", err, tc.wrong, data)
				}
				return
			}
			if err != nil || !strings.Contains(string(data), "provider: "+strings.SplitN(tc.answers, "\n", 2)[0]) || !strings.Contains(string(data), "default: "+tc.model) ||
				strings.Contains(out.String(), tc.key) || !strings.Contains(out.String(), "hermes-ls run ") {
				t.Errorf("%v\n%s\n%s", err, data, &out)
			}
		})
	}
}

// TestSetupKeepsGoing checks that a wrong address, key or model is told, and only asked for again.
// If another part fails, the provider is asked for again. At the end of the answers, nothing is written.
func TestSetupKeepsGoing(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := new(bytes.Buffer)
		_, _ = body.ReadFrom(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		switch {
		case strings.HasPrefix(r.URL.Path, "/page"):
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html><title>Router</title></html>")
		case !strings.HasPrefix(r.URL.Path, "/v1"):
			http.NotFound(w, r)
		case r.Header.Get("Authorization") != "Bearer good-key":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/models"):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"data":[{"id":"a"},{"id":"mute"}]}`)
		case strings.Contains(body.String(), `"gone"`):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"message":"model gone not found"}}`)
		case strings.Contains(body.String(), `"mute"`), strings.Contains(body.String(), `"role":"tool"`):
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		default:
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ping","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
		}
	}))
	t.Cleanup(srv.Close)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	home := t.TempDir()
	before := "providers:\n  down: {base_url: '" + closed.URL + "/v1', key_env: X_KEY}\n"
	for name, tc := range map[string]struct {
		answers string
		asked   map[string]int // how often
		wrong   string
	}{
		"all parts": {
			answers: "cutsom\ncustom\n" + "no where\n" + closed.URL + "\n" + "bad-key\n" + // address, key
				srv.URL + "/page\n" + "x\n" + host + "/v1\n" + // the test fails: address again
				"good-key\n" + "gone\n" + "mute\n" + "a\n",
			asked: map[string]int{"Provider [": 2, "Key (": 2},
		},
		"another provider": {answers: "down\n" + "custom\n" + host + "/v1\ngood-key\na\n", asked: map[string]int{"Provider [": 2, "Address": 1, "Key (": 1}},
		"no more answers":  {answers: "custom\n" + host + "/v1\ngood-key\nmute\n", wrong: "did not call the tool; hermes-ls requires a model with tool calls. Nothing was written"},
	} {
		t.Run(name, func(t *testing.T) {
			home := filepath.Join(home, strings.ReplaceAll(name, " ", "-"))
			if err := errors.Join(os.Mkdir(home, 0o700), os.WriteFile(config.Path(home), []byte(before), 0o600)); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err := setup(t.Context(), home, []string{"X_KEY=x"}, &asker{in: bufio.NewReader(strings.NewReader(tc.answers)), out: &out, terminal: -1})
			data, _ := os.ReadFile(config.Path(home))
			if tc.wrong != "" {
				if err == nil || err.Error() != "mute "+tc.wrong || string(data) != before {
					t.Errorf("%v\n%s\n%s", err, data, &out)
				}
				return
			}
			if err != nil || !strings.Contains(string(data), "default: a") || !strings.Contains(string(data), "base_url: http://"+host+"/v1") {
				t.Fatalf("%v\n%s\n%s", err, data, &out)
			}
			for text, n := range tc.asked {
				if got := strings.Count(out.String(), text); got != n {
					t.Errorf("%q is asked %d times, want %d:\n%s", text, got, n, &out)
				}
			}
		})
	}
}

// A wrong answer is reported, and only its question is asked again.
func TestSetupAsksAgain(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := &asker{in: bufio.NewReader(strings.NewReader("opnai\nopenrouter\nlocal host\nhttp://\nlocalhost:8080/v1\n")), out: &out, terminal: -1}
	home := t.TempDir()
	provider, err := chooseProvider(home, app.Config().Load(home, config.Options{}), a)
	if err != nil || provider != "openrouter" || !strings.Contains(out.String(), "\"opnai\" is no provider. Did you mean openai?") {
		t.Errorf("%q, %v\n%s", provider, err, &out)
	}
	base, err := a.address("Address: ")
	if err != nil || base != "http://localhost:8080/v1" || strings.Count(out.String(), " is no address") != 2 {
		t.Errorf("%q, %v\n%s", base, err, &out)
	}
}

func TestSetupWithoutTerminal(t *testing.T) {
	t.Parallel()
	_, errOut, code := execute(t, Setup(), "openai\n")
	if want := "use `hermes-ls model set PROVIDER/MODEL` and put the key into .env\n"; code != cli.WrongUse || errOut != want {
		t.Errorf("exit %d: %q", code, errOut)
	}
}
