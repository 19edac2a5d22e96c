package main

import (
	"bytes"
	"os"
	"testing"
)

// types_gen.go is the output of the generator.
func TestGenerated(t *testing.T) {
	t.Parallel()
	want, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../types_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")), want) {
		t.Error("types_gen.go is out of date: run go generate ./protocol/acp")
	}
}

func TestGoName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"sessionId": "SessionID", "mcpServers": "MCPServers", "mimeType": "MIMEType", "_meta": "Meta", "uri": "URI", "currentModeId": "CurrentModeID", "fs": "FS",
	} {
		if got := goName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
