package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"testing"
)

func setOf(kv ...string) *Set {
	values := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		values[kv[i]] = kv[i+1]
	}
	return New(func() map[string]string { return values })
}

func TestText(t *testing.T) {
	t.Parallel()
	s := setOf("OPENAI_API_KEY", "abcd1234efgh", "SHORT", "hunter2", "WORD", "none", "PATHLIKE", "/run/user/agent", "PEM",
		"-----BEGIN X-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n-----END X-----", "QUOTED", `a"b\c d/e+f`)
	for _, tc := range []struct{ in, want string }{
		{"key=abcd1234efgh.", "key=[secret OPENAI_API_KEY withheld]."},
		{"is hunter2, not hunter22", "is [secret SHORT withheld], not hunter22"},
		{"none at /run/user/agent", "none at /run/user/agent"},
		{"MIIEvQIBADANBgkqhkiG9w0BAQ", "[secret PEM withheld]"},
		{`{"x":"a\"b\\c d/e+f"}`, `{"x":"[secret QUOTED withheld]"}`},
		{url.QueryEscape(`a"b\c d/e+f`), "[secret QUOTED withheld]"},
		{"got sk-proj-aaaaaaaaaaaaaaaa1", "got [token withheld]"},
		{"ghp_" + strings.Repeat("a1", 18), "[token withheld]"},
		{"Authorization: Bearer abcdefabcdefabcdef", "Authorization: Bearer [token withheld]"},
		{"https://me:letmein@host/x", "https://me:[token withheld]@host/x"},
		{"POST https://hooks.zapier.com/hooks/catch/1/a1b2c3d4e5f6g7h8i9/?x=1", "POST https://hooks.zapier.com/hooks/catch/1/[token withheld]/?x=1"},
		{"https://b.s3.amazonaws.com/o?X-Amz-Expires=60&X-Amz-Signature=0123456789abcdef&x=y", "https://b.s3.amazonaws.com/o?X-Amz-Expires=60&X-Amz-Signature=[token withheld]&x=y"},
		{"opened http://localhost/#access_token=abcdefghijklmnop", "opened http://localhost/#access_token=[token withheld]"},
		{"https://react.dev/reference/hooks/useDeferredValue?a=b", "https://react.dev/reference/hooks/useDeferredValue?a=b"},
		{"a task-list of sk-ills, basic authentication", "a task-list of sk-ills, basic authentication"},
	} {
		got := s.Text(tc.in)
		if got != tc.want {
			t.Errorf("Text(%q) = %q, want %q", tc.in, got, tc.want)
		}
		if found := s.Find(got); found != "" {
			t.Errorf("Find(%q) = %q after redaction", got, found)
		}
	}
}

func TestFindsEncodings(t *testing.T) {
	t.Parallel()
	key := "abcd1234efgh5678"
	s := setOf("KEY", key)
	for _, text := range []string{
		key, base64.StdEncoding.EncodeToString([]byte(key)), base64.StdEncoding.EncodeToString([]byte("u:" + key)),
		base64.StdEncoding.EncodeToString([]byte("me:" + key)), base64.URLEncoding.EncodeToString([]byte("root:" + key)), "616263643132333465666768" + "35363738",
	} {
		if s.Find("x "+text+" y") != "KEY" {
			t.Errorf("not found in %s", text)
		}
	}
	if found := s.Find("nothing here"); found != "" {
		t.Errorf("found %s in innocent text", found)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	s := setOf("KEY", `abcd"1234`)
	for _, tc := range []struct{ in, want string }{
		{`{"id":1,"n":1.50,"z":null,"ok":true,"a":[],"o":{}}`, `{"id":1,"n":1.50,"z":null,"ok":true,"a":[],"o":{}}`},
		{`{"text":"is abcd\"1234 <&>"}`, `{"text":"is [secret KEY withheld] <&>"}`},
		{`{"token":"hermes-1","workDoneToken":"t"}`, `{"token":"hermes-1","workDoneToken":"t"}`},
		{`{"api_key":"short"}`, `{"api_key":"[secret api_key withheld]"}`},
		{`{"env":[{"name":"GITHUB_TOKEN","value":"v"},{"name":"LANG","value":"C"}]}`, `{"env":[{"name":"GITHUB_TOKEN","value":"[secret GITHUB_TOKEN withheld]"},{"name":"LANG","value":"C"}]}`},
		{`{"text":"says learnedsecret1","model":{"api_key":["learnedsecret1"]}}`, `{"text":"says [secret api_key withheld]","model":{"api_key":["[secret api_key withheld]"]}}`},
		{`{"later":"learnedsecret1"}`, `{"later":"[secret api_key withheld]"}`},
	} {
		got, ok := s.JSON([]byte(tc.in))
		if string(got) != tc.want || !ok {
			t.Errorf("JSON(%s) = %s, %v, want %s", tc.in, got, ok, tc.want)
		}
	}
	if got, ok := s.JSON([]byte(`{"a": learnedsecret1`)); ok || strings.Contains(string(got), "learnedsecret1") {
		t.Errorf("no JSON: %s, %v", got, ok)
	}
}

func TestLog(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	slog.New(slog.NewTextHandler(setOf("K", "abcd1234 \"x\"").Writer(&b), nil)).Info("calling", "with", `abcd1234 "x"`)
	if strings.Contains(b.String(), "abcd1234") || !strings.Contains(b.String(), "withheld") {
		t.Errorf("logged %s", b.String())
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	got := strings.Join((&Set{}).Args([]string{"serve", "--token", "x", "--api-key=y", "--port", "80"}), " ")
	if want := "serve --token [secret token withheld] --api-key=[secret api-key withheld] --port 80"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestMeaning has settings as people write them. The value q7 is a secret in each.
func TestMeaning(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"mcp_servers":{"a":{"command":"x","args":["serve","--token","q7","--api-key=q7","--port","80"],"env":{"PLAIN":"q7"},"headers":{"X-A":"q7"}}}}`: `{"mcp_servers":{"a":{"args":["serve","--token","[secret token withheld]","--api-key=[secret api-key withheld]","--port","80"],"command":"x","env":{"PLAIN":"[withheld]"},"headers":{"X-A":"[withheld]"}}}}`,
		`{"a":{"url":"https://me:q7@host/p?key=q7&b=q7&q7#q7"}}`:                                             `{"a":{"url":"https://me:[token withheld]@host/p?key=withheld&b=withheld&withheld#withheld"}}`,
		`{"hooks":{"pre":[{"command":"curl -H 'X-A: q7' --token q7 https://h/?k=q7 -u me:q7 A_KEY=q7 x"}]}}`: `{"hooks":{"pre":[{"command":"curl -H X-A: [withheld] --token [secret token withheld] https://h/?k=withheld -u [secret u withheld] A_KEY=[secret A_KEY withheld] x"}]}}`,
		`{"u":["https://chat.example/hooks/q7Q7q7Q7q7","https://h/v1/models/gpt-4.1-mini-2025-04-14","https://h/in/550e8400-e29b-41d4-a716-446655440000/x","https://q7q7q7q7q7q7q7q7q7@h.example/2"]}`: `{"u":["https://chat.example/hooks/withheld","https://h/v1/models/gpt-4.1-mini-2025-04-14","https://h/in/withheld/x","https://withheld@h.example/2"]}`,
		`{"u":["https://h/%zz?q7","jdbc:mysql://h/d?user=q7&password=q7","file:///home/me/x.sock","https://q7@h/","ssh://git@h/p","https://maker.h.com/trigger/x/with/key/q7Q7q7q7"]}`:                 `{"u":["https://withheld","jdbc:mysql://h/d?user=withheld&password=[token withheld]","file:///home/me/x.sock","https://withheld@h/","ssh://git@h/p","https://maker.h.com/trigger/x/with/key/withheld"]}`,
		`{"lsp":{"servers":{"x":{"command":["x","--password","q7","https://h/?q=q7"],"env":["PLAIN=q7","q7"]}}}}`:                                                                                      `{"lsp":{"servers":{"x":{"command":["x","--password","[secret password withheld]","https://h/?q=withheld"],"env":["PLAIN=[withheld]","[withheld]"]}}}}`,
		`{"terminal":{"timeout":77,"docker_extra_args":["-v","/a:/b"],"text":"keys are fine","env":{"A":{"B":"q7"}}}}`:                                                                                 `{"terminal":{"docker_extra_args":["-v","/a:/b"],"env":{"A":{"B":"[withheld]"}},"text":"keys are fine","timeout":77}}`,
	} {
		var tree any
		if err := json.Unmarshal([]byte(in), &tree); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		out := json.NewEncoder(&b)
		out.SetEscapeHTML(false)
		if err := out.Encode(new(Set).Meaning(tree)); err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(b.String()); got != want {
			t.Errorf("Meaning(%s)\n= %s\nwant %s", in, got, want)
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add(`{"id":1,"params":{"x":["a",{"name":"A_KEY","value":"b"}]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if got, ok := (&Set{}).JSON([]byte(text)); ok && !json.Valid(got) {
			t.Errorf("%q became %q", text, got)
		}
	})
}
