package tools

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// fillIn is an input of plain values.
type fillIn struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"`
}

type fillMode string

// fillText is a string, or a list of lines.
type fillText string

func (t *fillText) UnmarshalJSON(data []byte) error {
	var lines []string
	if json.Unmarshal(data, &lines) == nil {
		*t = fillText(strings.Join(lines, ""))
		return nil
	}
	return json.Unmarshal(data, (*string)(t))
}

type filled struct {
	Name  string   `json:"name"`
	Mode  fillMode `json:"mode,omitempty"`
	Count int      `json:"count,omitempty"`
	Long  float64  `json:"long,omitempty"`
	All   bool     `json:"all"`
	Size  int64    `json:"size"`
	Text  fillText `json:"text"` // reads itself
	List  []string `json:"list"`
	Left  int      `json:"left,string"`
}

// FuzzFill compares the fast reader with encoding/json.
func FuzzFill(f *testing.F) {
	for _, args := range []string{
		`{"name":"main.go","count":5,"all":true,"long":7,"size":123456789,"mode":"files"}`,
		" {\"name\" : \"a\" ,\n\"all\":false}\t", `{}`, ``, `{"name":"é"}`, "{\"name\":\"\xff\"}", `{"name":"a\n"}`,
		`{"Name":"a"}`, `{"name":"a","name":"b"}`, `{"text":"a"}`, `{"text":["a"]}`, `{"list":["a"]}`, `{"left":"5"}`, `{"left":5}`,
		`{"all":truefalse}`, `{"all":"true"}`, `{"count":1.5}`, `{"count":01}`, `{"count":true}`, `{"count":null}`, `{"other":1}`, `{"name":5}`,
		`{"name":"a"} x`, `{"name":"a",}`, `{"long":-1}`, `{"all":t}`,
	} {
		f.Add(args)
	}
	fields := plainFieldsOf(reflect.TypeFor[filled]())
	f.Fuzz(func(t *testing.T, args string) {
		var got, want filled
		if !fields.fill(reflect.ValueOf(&got).Elem(), []byte(args)) {
			return
		}
		if err := json.Unmarshal([]byte(args), &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q became %+v, and not %+v, %v", args, got, want, err)
		}
	})
}

func TestFill(t *testing.T) {
	t.Parallel()
	fields := plainFieldsOf(reflect.TypeFor[fillIn]())
	for args, want := range map[string]bool{
		`{"path":"a","offset":1,"limit":20}`: true,
		` { "path" : "é" } `:                 true,
		`{"path":"a\n"}`:                     false,
		`{"path":"a","limit":"20"}`:          false,
		`{"path":"a","more":1}`:              false,
	} {
		var in fillIn
		if got := fields.fill(reflect.ValueOf(&in).Elem(), []byte(args)); got != want {
			t.Errorf("%s: %v", args, got)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	fields := plainFieldsOf(reflect.TypeFor[fillIn]())
	args := json.RawMessage(`{"path":"a","offset":1,"limit":20}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode[fillIn](fields, args); err != nil {
			b.Fatal(err)
		}
	}
}
