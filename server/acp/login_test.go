package acp_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/config"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
)

func TestAuthMethods(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		client protocol.ClientCapabilities
		want   string // ids and types
		older  bool   // with a command of our own
	}{
		"neither":  {protocol.ClientCapabilities{}, "key ", false},
		"terminal": {protocol.ClientCapabilities{Auth: &protocol.ClientAuthCapabilities{Terminal: true}}, "key  login terminal", false},
		"older":    {protocol.ClientCapabilities{Meta: protocol.Meta{"terminal-auth": true}}, "key  login terminal", true},
	} {
		c := dial(t, setup{})
		var r protocol.InitializeResponse
		c.must(protocol.MethodInitialize, protocol.InitializeRequest{ProtocolVersion: 1, ClientCapabilities: tc.client}, &r)
		var got []string
		for _, m := range r.AuthMethods {
			got = append(got, m.ID+" "+m.Type)
			if _, has := m.Meta["terminal-auth"]; m.ID == "login" && has != tc.older {
				t.Errorf("%s: _meta of login is %v", name, m.Meta)
			}
		}
		if strings.Join(got, " ") != tc.want || r.AgentCapabilities.Auth == nil || r.AgentCapabilities.Auth.Logout == nil {
			t.Errorf("%s: methods %q, auth %+v", name, got, r.AgentCapabilities.Auth)
		}
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{})
	id := c.newSession()
	needs := func(what string, r response) {
		t.Helper()
		if r.Error == nil || r.Error.Code != protocol.CodeAuthRequired || !strings.Contains(r.Error.Message, "OPENAI_API_KEY") {
			t.Errorf("%s: %+v", what, r.Error)
		}
	}
	login := protocol.AuthenticateRequest{MethodID: "key"}
	needs("a prompt without a key", c.call(protocol.MethodSessionPrompt, say(id, "hello")))
	needs("logging in without a key", c.call(protocol.MethodAuthenticate, login))
	if r := c.call(protocol.MethodAuthenticate, protocol.AuthenticateRequest{MethodID: "smoke"}); r.Error == nil || r.Error.Code != protocol.CodeInvalidParams {
		t.Errorf("an unknown way to log in: %+v", r)
	}
	if err := config.SetEnv(c.home, "OPENAI_API_KEY", "sk-a-key-for-nobody"); err != nil {
		t.Fatal(err)
	}
	c.must(protocol.MethodAuthenticate, login, nil)
	c.must(protocol.MethodLogout, protocol.LogoutRequest{}, nil)
	if got := read(t, config.EnvPath(c.home)); strings.Contains(got, "sk-a-key") {
		t.Errorf(".env is %q after logging out", got)
	}
	needs("after logging out", c.call(protocol.MethodSessionPrompt, say(id, "hello")))
}

func TestLogoutCannotReachEverywhere(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{env: []string{"OPENAI_API_KEY=sk-of-the-environment"}})
	r := c.call(protocol.MethodLogout, protocol.LogoutRequest{})
	if r.Error == nil || !strings.Contains(r.Error.Message, "comes from the environment (OPENAI_API_KEY)") {
		t.Errorf("logging out: %+v", r.Error)
	}
}

// TestSlashSettings checks that a setting changed by a command arrives like any other change.
func TestSlashSettings(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(reply("never"))
	c := connect(t, setup{model: m, config: "skills: {bundled: false}\n"}) // commands of skills ask the model
	id := c.newSession()
	var commands protocol.CommandsUpdate
	decodeUpdate(t, c.until("commands", kind(protocol.UpdateCommands)), &commands)
	for _, a := range commands.AvailableCommands {
		if a.Description == "" || strings.HasPrefix(a.Name, "/") {
			t.Errorf("command %+v", a)
		}
	}
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "/mode auto"))); got != "end_turn" {
		t.Fatal(got)
	}
	var mode protocol.ModeUpdate
	decodeUpdate(t, c.until("the mode", kind(protocol.UpdateMode)), &mode)
	var options protocol.OptionsUpdate
	decodeUpdate(t, c.until("the options", kind(protocol.UpdateOptions)), &options)
	if mode.CurrentModeID != "auto" || options.ConfigOptions[0].CurrentValue != "auto" {
		t.Errorf("mode %+v, options %+v", mode, options)
	}
	for _, command := range commands.AvailableCommands {
		c.call(protocol.MethodSessionPrompt, say(id, "/"+command.Name))
	}
	if got := text(c.seen(), protocol.UpdateAgentMessage); !strings.Contains(got, "Session: (no title yet)") {
		t.Errorf("the answers are %s", got)
	}
	if n := len(m.Requests()); n != 0 {
		t.Errorf("%d requests to the model", n)
	}
}

// TestConfigSettings wants a change in config.yaml to arrive like any other.
func TestConfigSettings(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.Script(), config: "approvals: {mode: ask}\n"})
	c.newSession()
	writing, stop := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	defer writer.Wait()
	defer stop()
	writer.Go(func() { // again and again: when the file is watched cannot be seen
		for i := 0; writing.Err() == nil; i++ {
			_ = os.WriteFile(config.Path(c.home), fmt.Appendf(nil, "approvals: {mode: off} # %d\n", i), 0o600)
			time.Sleep(300 * time.Millisecond)
		}
	})
	var mode protocol.ModeUpdate
	decodeUpdate(t, c.until("the mode", kind(protocol.UpdateMode)), &mode)
	if mode.CurrentModeID != "auto" {
		t.Errorf("the mode is %+v", mode)
	}
}
