// Package embedded is a small scripted model inside the binary, for the demo, a
// first start without a key, and tests. It is no language model, and says so in the
// first words of a session.
//
// It speaks the same HTTP and the same event stream as a real endpoint, over a pipe
// in memory: no port is opened. What it does next it decides from the request's
// messages alone, by the rules in [answer]; it has no state, and a tool's result is
// never made up: everything it says of the workspace it has read there.
//
// It understands
//
//   - "The tests fail …, fix it": it makes a plan, runs the tests (the command in
//     backticks in the prompt, or guessed from the files), reads the failing test
//     and the code that it imports, mends one cause by the rules in mend.go, runs
//     the tests again, and so on until they pass or no rule helps;
//   - "Count … with a script": it has execute_code look into every Python file;
//   - a question: it lists the files, reads the README and what the question
//     names, and answers with what stands there;
//   - "Have subagents read …": it lists the files and hands two of them to subagents,
//     each of which is asked as in a question, and tells what they report;
//   - lines such as "read PATH", "run COMMAND", "search PATTERN",
//     "write PATH: text", "replace A with B in PATH": the matching calls;
//   - a fenced block marked hermes-script, see [script]: exactly those replies.
//
// The demo project that the fixing rules were written for is a Python package
// inventory/ whose pricing.py takes a discount off twice and has "> 50.00" where
// its docstring says "from 50.00 on", with tests in tests/test_pricing.py.
package embedded

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model/internal/memhttp"
)

// Transport returns a round tripper that reaches the model, whatever the host of
// the request. Nothing runs between requests, and nothing needs to be closed.
func Transport() http.RoundTripper { return memhttp.Transport(http.HandlerFunc(serve)) }

const maxRequest = 64 << 20

// serve answers one request for a chat completion.
func serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	var req request
	switch {
	case err != nil:
		refuse(w, http.StatusRequestEntityTooLarge, "reading the request: "+err.Error())
	case !strings.HasSuffix(r.URL.Path, "/chat/completions"):
		refuse(w, http.StatusNotFound, "the embedded model has chat completions only, not "+r.URL.Path)
	case json.Unmarshal(body, &req) != nil || len(req.Messages) == 0:
		refuse(w, http.StatusBadRequest, "the request is no chat completion")
	default:
		reply := answer(converse(&req))
		s := &sender{w: w, ctx: r.Context(), model: req.Model, asked: len(body), call: len(req.Messages)}
		s.send(reply)
	}
}

func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{ // the client is gone if this fails
		"error": map[string]any{"message": message, "type": http.StatusText(status)},
	})
}

// rules are tried in order; the first that has a reply gives it.
var rules = [...]func(*conversation) (reply, bool){delegation, direct, count, fix, question}

// answer decides what to say next.
func answer(c *conversation) reply {
	if strings.HasPrefix(c.prompt, compaction) {
		return say("The embedded model keeps no notes: what you asked, the plan and the files are told above.")
	}
	if r, ok := script(c); ok {
		return r
	}
	r, ok := reply(nil), false
	for _, rule := range rules {
		if r, ok = rule(c); ok {
			break
		}
	}
	if !ok {
		r = say(fmt.Sprintf("I cannot do that: %s\n\n%s", standIn, understood))
	}
	if c.first {
		r = append(say(introduction), r...)
	}
	return r
}

const (
	introduction = "I am the embedded model: a small script inside hermes-ls, not a real language model. "

	standIn = "I only stand in where no model is configured. For real work, choose one: " +
		"`hermes-ls config set model.provider openrouter` (or openai, ollama, lmstudio, custom), " +
		"then `hermes-ls config set model.default NAME`, with the key in the provider's environment variable."

	understood = "What I can do: answer a question about the project from its README and code, mend simple bugs that its tests show, " +
		"count its lines with a script, and follow lines such as `read PATH`, `run COMMAND`, `search PATTERN`, `write PATH: text`, `replace A with B in PATH`."
)
