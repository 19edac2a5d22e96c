package main

import (
	"strings"
	"testing"
)

// scripted returns a prompt to which the embedded model gives these responses.
func scripted(text string, responses ...string) string {
	return text + "\n```hermes-script\n" + strings.Join(responses, "\n") + "\n```"
}

// TestRunTellsProblemsOnce checks that a problem of the configuration is on stderr once.
func TestRunTellsProblemsOnce(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.write("home/config.yaml", "model: {provider: embedded}\nterminal: {bakend: x}\n")
	out, errOut, code := p.run("run", scripted("Go.", `[{"text":"Hello."}]`))
	if code != 0 || out != "Hello.\n" || strings.Count(errOut, "terminal.bakend") != 1 {
		t.Errorf("%d, %q, %q", code, out, errOut)
	}
}
