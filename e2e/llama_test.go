//go:build e2e

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// cacheSlack is the number of tokens evaluated again at the seam of two requests: the server's own
// token, and the tokens changed by the next text.
const cacheSlack = 8

// TestLlamaServer plays sessions with a real server of llama.cpp.
func TestLlamaServer(t *testing.T) {
	t.Parallel()
	model := llamaModel(t)
	t.Run("long work", func(t *testing.T) { t.Parallel(); llamaWorks(t, model, 8192, 1, 30) })
	t.Run("least window", func(t *testing.T) { t.Parallel(); llamaWorks(t, model, 4096, 1, 30) })
	t.Run("two slots", func(t *testing.T) { t.Parallel(); llamaWorks(t, model, 12288, 2, 5) })
	t.Run("too small", func(t *testing.T) { t.Parallel(); llamaRefused(t, model) })
	t.Run("no tools", func(t *testing.T) { t.Parallel(); llamaAsText(t, model) })
	t.Run("hidden window", func(t *testing.T) { t.Parallel(); llamaRecovers(t, model) })
}

// llamaWorks plays turns of a session over compactions. Nothing is refused, and nothing is
// evaluated twice.
func llamaWorks(t *testing.T, model string, window, slots, turns int) {
	server := newLlama(t, model, window, slots)
	x := newLlamaBed(t, server, "")
	slot := window / slots
	server.say(llamaReply{text: "Hello."})
	if said, failure := x.prompt("Hello"); failure != "" {
		t.Fatalf("%s\n%s", failure, said)
	}
	if said, failure := x.prompt("/status"); failure != "" || !strings.Contains(said, comma(slot)+" tokens (llama.cpp: n_ctx of a slot)") || !strings.Contains(said, "Profile: small") {
		t.Errorf("/status: %s %s", failure, said)
	}
	for n := range turns {
		x.work(n + 1)
	}
	x.line.end()
	all := server.since(0)
	first := all[0]
	t.Logf("the first request has %d bytes, %d tokens", first.size, first.prompt)
	if first.prompt > 1900 || first.prompt == 0 || first.tools != 5 {
		t.Errorf("the first request has %d tokens and %d tools", first.prompt, first.tools)
	}
	compactions := checkCache(t, all, slot)
	if least := turns / 10; compactions < least {
		t.Errorf("%d compactions in %d turns, at least %d are expected", compactions, turns, least)
	}
}

// checkCache checks that the server accepted all requests. If a request extends another, only its
// new tokens may be evaluated. checkCache returns the number of compactions.
func checkCache(t *testing.T, all []llamaRequest, window int) (compactions int) {
	t.Helper()
	var anew, afresh []int
	prompt, evaluated := 0, 0
	for i, r := range all {
		if r.status != 200 || r.prompt > window {
			t.Errorf("request %d with %d tokens: %d %s", i, r.prompt, r.status, r.refusal)
		}
		prompt, evaluated = prompt+r.prompt, evaluated+r.anew
		if r.forNotes() {
			compactions++
		}
		switch {
		case i > 0 && r.extends(all[i-1]):
			anew = append(anew, r.anew)
			if r.cached < all[i-1].prompt-cacheSlack {
				t.Errorf("request %d repeats %d tokens, and %d of them were evaluated anew", i, all[i-1].prompt, all[i-1].prompt-r.cached)
			}
		case r.forNotes(): // the first and the newest messages fit beside the notes
		case i > 0 && !all[i-1].forNotes():
			t.Errorf("request %d does not repeat the one before: %.200s", i, r.last())
		case i > 0:
			afresh = append(afresh, r.anew)
		}
	}
	slices.Sort(anew)
	slices.Sort(afresh)
	t.Logf("%d requests with %d tokens, %d of them evaluated; %d compactions", len(all), prompt, evaluated, compactions)
	t.Logf("evaluated in a request that extends another: median %d, most %d; after a compaction: %v", anew[len(anew)/2], anew[len(anew)-1], afresh)
	return compactions
}

// llamaRefused sends a prompt to a server with too small a window.
func llamaRefused(t *testing.T, model string) {
	server := newLlama(t, model, 2048, 1)
	x := newLlamaBed(t, server, "")
	_, failure := x.prompt("Hello")
	contains(t, "the refusal", failure, "2,048", "4,096", "Nothing was sent", "llama-server -c")
	if sent := server.since(0); len(sent) > 0 {
		t.Errorf("%d requests were sent", len(sent))
	}
	x.line.end()
}

// llamaAsText works with a server whose chat template leaves out tools, calls and the roles of
// results. Then the tools are text, the user gets one notice, and doctor reports it.
func llamaAsText(t *testing.T, model string) {
	server := newLlama(t, model, 8192, 1, "own")
	x := newLlamaBed(t, server, "")
	server.say(llamaReply{text: "Hello."})
	said, failure := x.prompt("Hello")
	if failure != "" {
		t.Fatal(failure)
	}
	contains(t, "the first answer", said, "leaves tools out, so they are sent as text", "--jinja")
	for n := range 4 {
		x.work(n + 1)
	}
	x.line.end()
	all := server.since(0)
	for i, r := range all {
		if r.tools > 0 || r.status != 200 || r.prompt < 700 { // the tools have about 600
			t.Errorf("request %d: %d with %d native tools and %d tokens", i, r.status, r.tools, r.prompt)
		}
	}
	checkCache(t, all, 8192)
}

// llamaRecovers works with a server that does not report its window, until it refuses a request.
func llamaRecovers(t *testing.T, model string) {
	server := newLlama(t, model, 8192, 1)
	server.hide = true
	x := newLlamaBed(t, server, "")
	var all []llamaRequest
	refused := func(r llamaRequest) bool { return r.status != 200 }
	n, after := 0, 0
	for ; after < 3 && n < 30; n++ {
		if all = append(all, x.work(n+1)...); slices.ContainsFunc(all, refused) {
			after++
		}
	}
	x.line.end()
	at := slices.IndexFunc(all, refused)
	if at < 0 {
		t.Fatalf("nothing was refused in %d turns", n)
	}
	contains(t, "the refusal", all[at].refusal, "exceed_context_size_error")
	left, notes := 0, 0
	for _, r := range all[at+1:] {
		if refused(r) {
			left++
			t.Errorf("refused again: %s", r.refusal)
		}
		if r.forNotes() {
			notes++
		}
	}
	t.Logf("refused in request %d of %d: %s; then %d requests for notes", at, len(all), all[at].refusal, notes)
}

// comma writes a number of at most six digits as /status does.
func comma(n int) string { return fmt.Sprintf("%d,%03d", n/1000, n%1000) }
