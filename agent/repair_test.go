package agent

import (
	"encoding/json"
	"testing"

	"github.com/hermes-ls/hermes-ls/tools"
)

func TestWithNote(t *testing.T) {
	t.Parallel()
	for object, want := range map[string]string{
		`{}`:                       `{"note":"N"}`,
		` { } `:                    `{"note":"N"}`,
		`{"z":1,"a":{"b":[]}}`:     `{"z":1,"a":{"b":[]},"note":"N"}`,
		"{\"a\":\"}\"\n}\n":        `{"a":"}","note":"N"}`,
		`{"note":"old","a":"<&>"}`: `{"a":"<&>","note":"old; N"}`,
		`{"note":"old."}`:          `{"note":"old. N"}`,
		`{"note":3}`:               `{"note":"N"}`,
		`{"a":{"note":"deeper"}}`:  `{"a":{"note":"deeper"},"note":"N"}`,
	} {
		got := tools.WithNote(json.RawMessage(object), "N")
		if string(got) != want {
			t.Errorf("%s becomes %s, want %s", object, got, want)
		}
		if !isObject(string(got)) {
			t.Errorf("%s becomes no object: %s", object, got)
		}
	}
}
