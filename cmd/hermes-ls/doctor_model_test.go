package main

import (
	"net/http"
	"net/http/httptest"
	"os"
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
		if f.state == "fail" {
			t.Errorf("%+v", f)
		}
	}
}
