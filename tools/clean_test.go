package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPlainly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string][2]string{
		"plain":            {"a\tb\nc\r\nd\fe", "a\tb\nc\r\nd\fe"},
		"colour":           {"\x1b[31mred\x1b[0m", "red"},
		"clipboard":        {"a\x1b]52;c;ZXZpbA==\x07b", "ab"},
		"clipboard, ST":    {"a\x1b]52;c;ZXZpbA==\x1b\\b", "ab"},
		"C1 clipboard":     {"a\u009d52;c;ZXZpbA==\u009cb", "ab"},
		"C1 colour":        {"a\u009b31mb", "ab"},
		"title":            {"\x1b]0;evil\x07text", "text"},
		"unended string":   {"a\x1b]52;c;x\nb", "a\nb"},
		"unended sequence": {"a\x1b[31", "a"},
		"lone escape":      {"a\x1b", "a"},
		"charset":          {"a\x1b(Bb", "ab"},
		"device control":   {"a\x1bPq#0\x1b\\b", "ab"},
		"reset":            {"a\x1bcb", "ab"},
		"backspace":        {"rm\b\bls", "rmls"},
		"zero":             {"a\x00b", "ab"},
		"delete":           {"a\x7fb", "ab"},
		"next line":        {"a\u0085b", "ab"},
		"no UTF-8":         {"a\xffb\x01", "a\xffb"},
		"other characters": {"é\u00a0\u2028\u202e日本", "é\u00a0\u2028\u202e日本"},
	} {
		if got := StripControl(tc[0]); got != tc[1] {
			t.Errorf("%s: %q, want %q", name, got, tc[1])
		}
	}
}

// Added values, such as new tokens, stay secret when others are set.
func TestAddedSecrets(t *testing.T) {
	t.Parallel()
	s := NewSecrets(map[string]string{"A_KEY": "first-value"})
	s.Add(map[string]string{"token": "token-one"})
	s.Add(map[string]string{"token": "token-two"})
	s.Set(map[string]string{"A_KEY": "other-value"})
	if got := s.Hide("first-value other-value token-one token-two"); got != "first-value [secret A_KEY withheld] [secret token withheld] [secret token withheld]" {
		t.Error(got)
	}
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	s := NewSecrets(map[string]string{
		"OPENAI_API_KEY": "sk-abcdef123456", "LONGER_KEY": "sk-abcdef123456-more", "QUOTED": `pass"word\1`,
		"SHORT_KEY": "abc1234", "SSH_AUTH_SOCK": "/run/user/1000/keyring/ssh", "GIT_AUTHOR_NAME": "Somebody Nice",
		"AUTH_URL": "https://auth.example/login", "TOKEN_URL": "https://x.example/services/T00000000000000000000",
		"PRIVATE_KEY": "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nshort\n-----END KEY-----\n",
		"odd name\"<": "value-of-it",
	})
	for _, tc := range [][2]string{
		{"a sk-abcdef123456 b", "a [secret OPENAI_API_KEY withheld] b"},
		{"sk-abcdef123456-more", "[secret LONGER_KEY withheld]"},
		{`x pass"word\1`, "x [secret QUOTED withheld]"},
		{"abc1234 /run/user/1000/keyring/ssh Somebody Nice https://auth.example/login short", "abc1234 /run/user/1000/keyring/ssh Somebody Nice https://auth.example/login short"},
		{"POST https://x.example/services/T00000000000000000000", "POST [secret TOKEN_URL withheld]"},
		{"key: MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "key: [secret PRIVATE_KEY withheld]"},
		{"value-of-it", "[secret odd_name__ withheld]"},
		{"sk-abcdef12345", "sk-abcdef12345"},
	} {
		if got := s.Hide(tc[0]); got != tc[1] {
			t.Errorf("Hide(%q) = %q, want %q", tc[0], got, tc[1])
		}
	}
	if _, found := s.In("https://x.example/?q=pass%22word%5C1"); !found {
		t.Error("a secret in an address was not found")
	}
	for _, spelled := range []string{
		"sk%2Dabcdef123456", "sk%2dabcdef123456", "sk%252Dabcdef123456", "sk-%61bcdef123456", "%73%6B%2D%61%62%63%64%65%66%31%32%33%34%35%36",
		"x%zz%2sk%2Dabcdef123456", "%25252573k%2Dabcdef123456", "Somebody+x%20sk-abcdef12345%36",
	} {
		if _, found := s.In("https://x.example/?q=" + spelled); !found {
			t.Errorf("a secret spelled %s was not found", spelled)
		}
	}
	if _, found := s.In("https://x.example/?q=100%25+%41sk"); found {
		t.Error("found where there is none")
	}
	s.Set(map[string]string{"NEW_KEY": "another-value"})
	if got := s.Hide("sk-abcdef123456 another-value"); got != "sk-abcdef123456 [secret NEW_KEY withheld]" {
		t.Errorf("after a change: %q", got)
	}
	var none *Secrets
	if got := none.Hide("x"); got != "x" {
		t.Errorf("no secrets: %q", got)
	}
}

func TestCleanJSON(t *testing.T) {
	t.Parallel()
	s := NewSecrets(map[string]string{"A": `pass"word1`, "N": "12345678"})
	for name, tc := range map[string][2]string{
		"nothing":           {`{"a":"b", "c": [1,2]}`, `{"a":"b", "c": [1,2]}`},
		"escape":            {`{"z":"\u001b[31mred","a":"x\u0000y"}`, `{"z":"red","a":"xy"}`},
		"source of one":     {`{"a":"\\u001b[31m \\b"}`, `{"a":"\\u001b[31m \\b"}`},
		"C1":                {"{\"a\":\"x\u009b31my\u00a9\"}", "{\"a\":\"xy\u00a9\"}"},
		"secret":            {`{"a":"is pass\"word1"}`, `{"a":"is [secret A withheld]"}`},
		"secret as a key":   {`{"pass\"word1":1}`, `{"[secret A withheld]":1}`},
		"number":            {`{"size":12345678,"a":"12345678"}`, `{"size":12345678,"a":"[secret N withheld]"}`},
		"hidden by escapes": {`{"a":"pass\u001b[0m\"word1"}`, `{"a":"[secret A withheld]"}`},
		"kept order":        {`{"b":"\u0007","a":{"d":"x","c":"\u0007"}}`, `{"b":"","a":{"d":"x","c":""}}`},
	} {
		if got := string(cleanJSON(json.RawMessage(tc[0]), s)); got != tc[1] {
			t.Errorf("%s: %s, want %s", name, got, tc[1])
		}
	}
}

func FuzzCleanJSON(f *testing.F) {
	s := NewSecrets(map[string]string{"A": `pass"word1`, "B": "secret\tvalue"})
	f.Add("a\x1b]52;c;x\x07b", "pass\"word1")
	f.Add("\u009d\u009c\x1b[", "\\u001b")
	f.Add("secret\tvalue", "\x1b\x1b\x9b")
	f.Fuzz(func(t *testing.T, a, b string) {
		value, err := Marshal(map[string]any{"a": a, b: []string{b, a + b}})
		if err != nil {
			return
		}
		got := cleanJSON(value, s)
		if !json.Valid(got) {
			t.Fatalf("%s became %s", value, got)
		}
		var back struct{ A string }
		if err := json.Unmarshal(got, &back); err != nil {
			t.Skip() // b took its place
		}
		if strings.IndexFunc(back.A, control) >= 0 || strings.Contains(back.A, `pass"word1`) {
			t.Errorf("%q became %q", a, back.A)
		}
		if !utf8.ValidString(back.A) {
			t.Errorf("%q is no UTF-8", back.A)
		}
		if again := cleanJSON(got, s); !bytes.Equal(again, got) {
			t.Errorf("%s, cleaned again: %s", got, again)
		}
	})
}

// leaky returns its arguments in every part of a result.
func leaky(kind Kind) Tool {
	type in struct {
		Text string `json:"text"`
	}
	return New(Tool{Name: "leaky", Kind: kind}, func(_ context.Context, env *Env, c Call, in in) (Result, error) {
		if env.Progress != nil {
			env.Progress(Progress{CallID: c.ID, Message: in.Text, Line: in.Text, Shown: []Content{{Text: in.Text}}})
		}
		old := in.Text
		args, err := Marshal(in)
		return OK(map[string]string{"text": in.Text}).With(
			Content{Text: in.Text}, Content{Diff: &Diff{Path: "/f", Old: &old, New: in.Text}}, Content{Inner: &Inner{Tool: "x", Arguments: args}},
		), err
	})
}

// TestCallShowsNoSecret: neither the model nor the editor, nor the file with the
// whole of a result that was cut.
func TestCallShowsNoSecret(t *testing.T) {
	t.Parallel()
	var all bytes.Buffer
	dir := t.TempDir()
	env := &Env{
		OutputDir: dir,
		Progress:  func(p Progress) { fmt.Fprintf(&all, "%+v", p) },
	}
	text := "\x1b]52;c;x\x07 s3cret-value " + strings.Repeat("x", 2*defaultResultCap)
	args, err := Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	s := setOf(t, leaky(KindFetch))
	s.Secrets = NewSecrets(map[string]string{"THE_KEY": "s3cret-value"})
	r, err := s.Call(t.Context(), env, Call{ID: "1", Name: "leaky", Args: args})
	if err != nil {
		t.Fatal(err)
	}
	shown, err := json.Marshal(r.Shown)
	if err != nil {
		t.Fatal(err)
	}
	all.Write(r.JSON)
	all.Write(shown)
	kept := savedOutput(r.JSON)
	whole, err := os.ReadFile(kept)
	if err != nil {
		t.Fatal(err)
	}
	all.Write(whole)
	if bytes.Contains(all.Bytes(), []byte("s3cret")) || bytes.Contains(r.JSON, []byte(`\u001b`)) {
		t.Error("it got out")
	}
	if n := bytes.Count(all.Bytes(), []byte("[secret THE_KEY withheld]")); n < 8 {
		t.Errorf("%d stand-ins", n)
	}
	if *r.Shown[1].Diff.Old == text {
		t.Error("the diff shows it")
	}
}

// Texts of servers, plugins and pages have no controls and no marks of direction in a result, escaped in JSON or not. Text of files
// keeps its characters, because an edit must contain them.
func TestOutside(t *testing.T) {
	t.Parallel()
	s := &Set{Secrets: NewSecrets(nil)}
	raw := json.RawMessage("{\"a\":\"x\\u001b]52;c;eA==\\u0007y\\u202E\u202ez\u009b31m\\u061c\u061c\\u200f\u2066é\U000e0061\\udb40\\udc62\"}")
	for name, tt := range map[string]struct {
		tool Tool
		want string
	}{
		"server":  {Tool{Kind: KindOther, Group: &Group{Name: "s"}}, `{"a":"xyzé"}`},
		"page":    {Tool{Kind: KindFetch}, `{"a":"xyzé"}`},
		"foreign": {Tool{Kind: KindSearch, Foreign: true}, `{"a":"xyzé"}`},
		"file":    {Tool{Kind: KindRead}, string(raw)},
		"command": {Tool{Kind: KindExecute}, "{\"a\":\"xy\u202e\u202ez\u061c\u061c\u200f\u2066é\U000e0061\U000e0062\"}"},
	} {
		r := s.cleaned(tt.tool, Result{JSON: raw, Shown: []Content{{Text: "a\u009b31m\u202eb\U000e0061"}}})
		if string(r.JSON) != tt.want {
			t.Errorf("%s: %q, want %q", name, r.JSON, tt.want)
		}
		if got := r.Shown[0].Text; tt.tool.outside() && got != "ab" {
			t.Errorf("%s shows %q", name, got)
		}
	}
}

// TestStandInIsNotWritten: the placeholder of a secret does not replace the secret in a
// file.
func TestStandInIsNotWritten(t *testing.T) {
	t.Parallel()
	call := Call{ID: "1", Name: "leaky", Args: json.RawMessage(`{"text":"KEY=[secret THE_KEY withheld]\n"}`)}
	for kind, refused := range map[Kind]bool{KindEdit: true, KindExecute: true, KindRead: false} {
		s := setOf(t, leaky(kind))
		s.Secrets = NewSecrets(map[string]string{"THE_KEY": "s3cret-value"})
		r, err := s.Call(t.Context(), nil, call)
		if err != nil || r.IsError != refused || refused && !strings.Contains(string(r.JSON), "Nothing was done") {
			t.Errorf("%s: %s, %v", kind, r.JSON, err)
		}
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	s, env := &Set{}, &Env{OutputDir: t.TempDir()}
	r := OK(map[string]string{"output": strings.Repeat("abc ", 10_000)})
	once := s.Fit(env, "terminal", r, 9_000)
	twice := s.Fit(env, "terminal", once, 2_000)
	if len(once.JSON) > 9_000 || len(twice.JSON) > 2_000 {
		t.Errorf("%d and %d bytes", len(once.JSON), len(twice.JSON))
	}
	kept := savedOutput(twice.JSON)
	if kept == "" || kept != savedOutput(once.JSON) {
		t.Errorf("kept in %q and %q", savedOutput(once.JSON), kept)
	}
	if whole, err := os.ReadFile(kept); err != nil || !sameCompact(whole, r.JSON) {
		t.Errorf("the whole has %d bytes, %v", len(whole), err)
	}
	if same := s.Fit(env, "terminal", twice, 2_000); !bytes.Equal(same.JSON, twice.JSON) {
		t.Error("what fits was changed")
	}
}

func BenchmarkCleaned(b *testing.B) {
	values := map[string]string{}
	for i := range 30 {
		values[fmt.Sprintf("KEY_%d", i)] = fmt.Sprintf("sk-%d-abcdefghijklmnop", i)
	}
	s := &Set{Secrets: NewSecrets(values)}
	r := OK(map[string]string{"output": strings.Repeat("an ordinary line of output, not a secret in it\n", 2000)})
	b.SetBytes(int64(len(r.JSON)))
	for b.Loop() {
		s.cleaned(Tool{}, r)
	}
}
