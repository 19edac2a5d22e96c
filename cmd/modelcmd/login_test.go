package modelcmd

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server/app"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		provider, answers string
		before            string // config.yaml
		env, key, value   string // the expected contents of .env, and the value of a key of config.yaml
		wrong             string
	}{
		"openai":     {answers: "\nsk-12345678\n", env: "OPENAI_API_KEY=sk-12345678\n", key: "model.provider", value: "openai"},
		"openrouter": {provider: "openrouter", answers: "\nor-key", env: "OPENROUTER_API_KEY=or-key\n", key: "model.provider", value: "openrouter"},
		"custom": {answers: "custom\nhttps://llm.example/v1\nbig\nsecret-key\n", env: "HERMES_API_KEY=secret-key\n",
			key: "model.base_url", value: "https://llm.example/v1"},
		"custom without a key": {answers: "custom\nhttps://llm.example/v1\nbig\n\n", key: "model.default", value: "big"},
		"ollama":               {provider: "ollama", answers: "llama\n", key: "model.default", value: "llama"},
		"no longer custom":     {before: "model: {provider: custom, base_url: 'http://llm.example/v1'}\n", answers: "\nsk-12345678\n", env: "OPENAI_API_KEY=sk-12345678\n", key: "model.base_url", value: ""},
		"unknown":              {answers: "acme\n", wrong: `"acme" is no provider`},
		"no address":           {answers: "custom\nllm.example\n", wrong: "no answer"},
		"no answer":            {answers: "openai\n", wrong: "no answer"},
		"empty key":            {answers: "openai\n\n", wrong: "empty value"},
		"two lines in a key":   {answers: "openai\nsk 1\n", wrong: "white space"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			if err := os.WriteFile(config.Path(home), []byte(tc.before), 0o600); err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			err := login(t.Context(), home, tc.provider, &asker{in: bufio.NewReader(strings.NewReader(tc.answers)), out: &out, terminal: -1})
			if tc.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wrong) {
					t.Errorf("error %v, want %s", err, tc.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			env, _ := os.ReadFile(config.EnvPath(home))
			got, err := app.Config().Load(home, config.Options{}).Get(tc.key)
			if string(env) != tc.env || got != tc.value || err != nil {
				t.Errorf(".env %q, %s = %q, %v", env, tc.key, got, err)
			}
			if strings.Contains(out.String(), "sk-12345678") {
				t.Error("the key is shown")
			}
		})
	}
}
