package modelcmd

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/cmd/cli"
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
