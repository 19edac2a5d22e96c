package models

import (
	"log/slog"
	"os"
	"testing"

	"github.com/hermes-ls/hermes-ls/config"
)

// A ~ at the start of ca_file is the user's home.
func TestCAFileInHome(t *testing.T) {
	t.Parallel()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	e := Endpoint(config.Endpoint{Provider: "openai", CAFile: "~/ca.pem"}, nil, slog.New(slog.DiscardHandler))
	if e.CAFile != home+"/ca.pem" {
		t.Errorf("%q", e.CAFile)
	}
}
