package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// listing is an endpoint with a list of models.
type listing struct {
	*httptest.Server
	lists atomic.Int64 // requests for the list
	asked atomic.Value // the model of the last request
	down  atomic.Bool
}

func newListing(t *testing.T, models string) *listing {
	t.Helper()
	l := &listing{}
	l.asked.Store("")
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			body := make([]byte, 400)
			n, _ := r.Body.Read(body)
			_, id, _ := strings.Cut(string(body[:n]), `"model":"`)
			id, _, _ = strings.Cut(id, `"`)
			l.asked.Store(id)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		case strings.HasSuffix(r.URL.Path, "/models") && !l.down.Load():
			l.lists.Add(1)
			fmt.Fprintf(w, `{"data":[%s]}`, models)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(l.Close)
	return l
}

func namesOf(x *Session) (names []string) {
	for _, c := range x.Options()[1].Choices {
		names = append(names, c.ID)
	}
	return names
}

// TestModelsOfProviders checks that the option has the models that all configured providers list, with
// their facts. They are requested only when the user opens the list, and are stored for later
// servers. The session asks the chosen model.
func TestModelsOfProviders(t *testing.T) {
	t.Parallel()
	const facts = `,"context_length":64000,"pricing":{"prompt":"0.000002","completion":"0.00001"},"architecture":{"input_modalities":["text","image"]}`
	first := newListing(t, `{"id":"m","object":"model"},{"id":"big/one"`+facts+`}`)
	second := newListing(t, `{"id":"z"},{"id":"m2"}`)
	home := t.TempDir()
	write(t, filepath.Join(home, "config.yaml"), "model: {provider: custom, default: m, base_url: '"+first.URL+"/v1'}\n"+
		"providers: {mine: {base_url: '"+second.URL+"/v1', models: {own: {context_window: 9000}}}, gone: {base_url: 'http://127.0.0.1:1/v1'}}\n")
	svc := open(t, Options{Home: home, Environ: []string{"PATH=" + os.Getenv("PATH")}})
	x, _ := session(t, svc, t.TempDir())
	if got, want := fmt.Sprint(namesOf(x)), "[custom/m mine/own]"; got != want || first.lists.Load() > 0 {
		t.Errorf("before: %s after %d requests, want %s", got, first.lists.Load(), want)
	}

	all, failed := x.Models(t.Context())
	if got, want := fmt.Sprint(namesOf(x)), "[custom/m custom/big/one mine/m2 mine/z mine/own]"; got != want {
		t.Errorf("listed: %s, want %s", got, want)
	}
	if len(failed) != 1 || failed[0].Provider != "gone" {
		t.Errorf("failed %v", failed)
	}
	if m := all[1]; m.Description != "64,000 tokens, $2 in and $10 out for a million, pictures" || m.Used || !all[0].Used || !all[0].Current {
		t.Errorf("models %+v", all)
	}
	if m := all[4]; m.Description != "9,000 tokens (config.yaml)" {
		t.Errorf("models %+v", all)
	}

	requests := first.lists.Load()
	if err := x.SetOption(t.Context(), optionModel, "custom/big/one"); err != nil {
		t.Fatal(err)
	}
	prompt1(t, x, "hi")
	if got := first.asked.Load(); got != "big/one" || x.Options()[1].Value != "custom/big/one" {
		t.Errorf("asked %q, chosen %q", got, x.Options()[1].Value)
	}
	if err := x.SetOption(t.Context(), optionModel, "z"); err != nil {
		t.Fatal(err)
	}
	prompt1(t, x, "hi")
	if got := second.asked.Load(); got != "z" {
		t.Errorf("asked %q", got)
	}
	if err := x.SetOption(t.Context(), optionModel, "mine/none"); err == nil || !strings.Contains(err.Error(), "mine/z") {
		t.Errorf("a model that its provider does not list: %v", err)
	}
	if err := x.SetOption(t.Context(), optionModel, "gone/any"); err != nil {
		t.Errorf("a model of a provider without a list: %v", err)
	}
	if err := x.SetOption(t.Context(), optionModel, "nowhere/any"); err == nil {
		t.Error("a model of a provider that is not configured")
	}

	later, _ := session(t, open(t, Options{Home: home, Environ: svc.Environ}), t.TempDir())
	if got, want := fmt.Sprint(namesOf(later)), "[custom/m gone/any mine/z custom/big/one mine/m2 mine/own]"; got != want || first.lists.Load() != requests+0 && first.lists.Load() > requests+2 {
		t.Errorf("in a later server: %s, want %s", got, want)
	}
	second.down.Store(true)
	if _, failed := later.Models(t.Context()); len(failed) != 2 {
		t.Errorf("failed %v", failed)
	}
	if got := fmt.Sprint(namesOf(later)); !strings.Contains(got, "mine/m2") {
		t.Errorf("the list of a provider that is down is lost: %s", got)
	}
}

// TestModelCommand checks /model with a long list: it shows the used models first, and finds models
// by words.
func TestModelCommand(t *testing.T) {
	t.Parallel()
	var list []string
	for i := range 120 {
		list = append(list, fmt.Sprintf(`{"id":"maker/kind-%03d"}`, i))
	}
	endpoint := newListing(t, strings.Join(list, ","))
	home := t.TempDir()
	write(t, filepath.Join(home, "config.yaml"), "model: {provider: custom, default: m, base_url: '"+endpoint.URL+"/v1'}\n")
	x, _ := session(t, open(t, Options{Home: home, Environ: []string{"PATH=" + os.Getenv("PATH")}}), t.TempDir())
	run := func(words string, want ...string) {
		t.Helper()
		text, err := modelCommand()(t.Context(), x, words)
		if err != nil {
			text = err.Error()
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("/model %s has no %q:\n%s", words, w, text)
			}
		}
		if n := strings.Count(text, "\n- "); n > mostShown {
			t.Errorf("/model %s shows %d models", words, n)
		}
	}
	run("", "Model: **custom/m**", "- `custom/m`", "50 of 121", "/model WORDS")
	run("Maker 117", "Model: **custom/maker/kind-117**")
	run("", "Model: **custom/maker/kind-117**. There are:\n- `custom/m` \n- `custom/maker/kind-117`")
	run("kind-00", "10 models", "custom/maker/kind-003")
	run("maker/kind-001", "Model: **custom/maker/kind-001**")
	run("elsewhere", `"elsewhere"`, "and 101 more")
	if got := x.Options()[1].Value; got != "custom/maker/kind-001" {
		t.Errorf("chosen %s", got)
	}
}
