package tools

import (
	"encoding/json"
	"testing"
)

func FuzzFitsAsIs(f *testing.F) {
	for _, args := range []string{
		`{"name":"main.go","count":5,"all":true}`, " {\"name\" : \"a\\n\\\"b\\\\\" ,\n\"all\":false}\t",
		``, `{}`, `{"name":"a"`, `{"name":"a"}}`, `{"name":"a",}`, `{,"name":"a"}`, `{"name":"a" "all":true}`, `[]`, `{"name":5}`,
		`{"name":"a","count":1.5}`, `{"name":"a","count":05}`, `{"name":"a","count":-1}`, `{"name":"a","count":"5"}`, `{"name":"a","count":1e3}`,
		`{"name":"a","all":null}`, `{"name":"a","all":truefalse}`, `{"name":"a","name":"b"}`, `{"name":"a","other":1}`, `{"count":1}`,
		`{"name":"\x"}`, "{\"name\":\"a\nb\"}", `{"name":"\u00zz"}`, `{"name":"a\`, `{"n\u0061me":"a"}`, `{"name":"a","count":12345678901234567890}`,
	} {
		f.Add(args)
	}
	tool := sample("x")
	f.Fuzz(func(t *testing.T, args string) {
		if !fitsAsIs(tool.accepts.schema(), []byte(args)) {
			return
		}
		fitted, err := fit(tool.accepts.schema(), json.RawMessage(args))
		if err != nil || string(fitted) != args || !json.Valid([]byte(args)) {
			t.Errorf("%q was taken as it is, and is %q, %v", args, fitted, err)
		}
	})
}

func TestFitsAsIs(t *testing.T) {
	t.Parallel()
	tool := sample("x")
	for args, want := range map[string]bool{
		`{"name":"main.go","count":5,"all":true}`:          true,
		" {\"name\" : \"a\\n\\\"b\\\\\" ,\"all\":false}\t": true,
		`{"name":"a","count":"5"}`:                         false,
		`{"count":1}`:                                      false,
		`{"name":"a","name":"b"}`:                          false,
		`{"name":"a"} x`:                                   false,
	} {
		if got := fitsAsIs(tool.accepts.schema(), []byte(args)); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
}
