package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server/app"
)

// TestDoctorWithoutModelList wants an endpoint without a list of models to be no failure.
func TestDoctorWithoutModelList(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(srv.Close)
	home := t.TempDir()
	if err := os.WriteFile(config.Path(home), []byte("model: {provider: custom, base_url: '"+srv.URL+"/v1', default: m}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, f := range modelFindings(t.Context(), app.Config().Load(home, config.Options{})) {
		if f.State == "fail" {
			t.Errorf("%+v", f)
		}
	}
}

// TestDoctorWindow checks the window in use and its source. If a server leaves tools out, the
// doctor must name it.
func TestDoctorWindow(t *testing.T) {
	t.Parallel()
	const llama = `{"data":[{"id":"m","owned_by":"llamacpp","meta":{"n_ctx":%[1]d,"n_ctx_train":131072}}]}`
	for _, tc := range []struct {
		name, settings string
		answers        map[string]string
		want           []string // of the findings: state, name and a part
	}{
		{"llama.cpp", "", map[string]string{"/v1/models": fmt.Sprintf(llama, 8192), "/props": `{"default_generation_settings":{"n_ctx":8192},"chat_template_caps":{"supports_tools":false}}`},
			[]string{"ok window 8,192 tokens (llama.cpp: n_ctx of a slot), so sessions get the profile small", "note tools leaves tools out"}},
		{"too small", "", map[string]string{"/v1/models": fmt.Sprintf(llama, 2048), "/props": `{"n_ctx":2048,"chat_template_caps":{"supports_tools":true}}`},
			[]string{"fail window 2,048 tokens (llama.cpp: n_ctx of a slot): hermes-ls needs at least 4,096"}},
		{"vLLM", "", map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"vllm","max_model_len":32768}]}`}, []string{"ok window 32,768 tokens (the server's list of models)"}},
		{"Ollama", "", map[string]string{"/v1/models": `{"data":[{"id":"m","owned_by":"library"}]}`, "/api/show": `{"parameters":"num_ctx 16384"}`, "/api/ps": `{"models":[]}`},
			[]string{"ok window 16,384 tokens (Ollama: num_ctx of the model)"}},
		{"configured", ", context_window: 50000", map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`}, []string{"ok window 50,000 tokens (config.yaml)"}},
		{"nothing", "", map[string]string{"/v1/models": `{"data":[{"id":"m"}]}`}, []string{"note window 128,000 tokens (a guess"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if answer, ok := tc.answers[r.URL.Path]; ok {
					fmt.Fprint(w, answer)
					return
				}
				if r.URL.Path == "/api/generate" {
					t.Error("doctor loads a model")
				}
				http.NotFound(w, r)
			}))
			t.Cleanup(srv.Close)
			home := t.TempDir()
			if err := os.WriteFile(config.Path(home), []byte("model: {provider: custom, base_url: '"+srv.URL+"/v1', default: m"+tc.settings+"}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			var all []string
			for _, f := range modelFindings(t.Context(), app.Config().Load(home, config.Options{})) {
				all = append(all, string(f.State)+" "+f.What+" "+f.Text)
			}
			for _, want := range tc.want {
				state, rest, _ := strings.Cut(want, " ")
				what, part, _ := strings.Cut(rest, " ")
				if !slices.ContainsFunc(all, func(line string) bool {
					return strings.HasPrefix(line, state+" "+what+" ") && strings.Contains(line, part)
				}) {
					t.Errorf("%q is not in %q", want, all)
				}
			}
		})
	}
}
