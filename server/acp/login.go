package acp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// Ways to log in.
const (
	authKey   = "key"   // a key in the environment or in .env
	authLogin = "login" // `hermes-ls login` in a terminal
)

// authMethods returns the login methods for the client.
func (a *Agent) authMethods() []acp.AuthMethod {
	methods := []acp.AuthMethod{{
		ID: authKey, Name: "API key",
		Description: fmt.Sprintf("Set %s, or the variable of another provider, in the environment or in %s.", config.KeyName("openai"), config.EnvPath(a.svc.Home)),
	}}
	client := a.Client.can.Load()
	older, _ := client.Meta["terminal-auth"].(bool) // older clients announce it so
	if !older && (client.Auth == nil || !client.Auth.Terminal) {
		return methods
	}
	login := acp.AuthMethod{
		ID: authLogin, Type: "terminal", Name: "Log in with an API key",
		Description: "Asks in a terminal who serves the model, and for the key.", Args: []string{"login"},
	}
	if self, err := os.Executable(); err == nil && older {
		login.Meta = acp.Meta{"terminal-auth": map[string]any{"command": self, "args": login.Args, "label": "Log in to Hermes"}}
	}
	return append(methods, login)
}

// authenticate reads the configuration again and checks whether there is a key.
func (a *Agent) authenticate(_ context.Context, p *acp.AuthenticateRequest) (*acp.AuthenticateResponse, error) {
	if p.MethodID != authKey && p.MethodID != authLogin {
		return nil, acp.Errorf(acp.CodeInvalidParams, "methodId: there is no way to log in named %q; there are %s and %s", p.MethodID, authKey, authLogin)
	}
	a.svc.Reload()
	if _, err := a.svc.Config(nil).Endpoints(); err != nil {
		return nil, needsKey(err)
	}
	return &acp.AuthenticateResponse{}, nil
}

func needsKey(err error) error {
	return &acp.Error{Code: acp.CodeAuthRequired, Message: err.Error(), Data: modelData(&model.Error{Kind: model.ErrNoKey, Err: err})}
}

// keyless returns the error with which a client offers to log in, if a turn failed because
// there is no key.
func (a *Agent) keyless(err error) error {
	var failed *model.Error
	if a.canLogin.Load() && errors.As(err, &failed) && failed.Kind == model.ErrNoKey {
		return needsKey(failed)
	}
	return err
}

// logout removes the model's key from .env, where login has written it.
func (a *Agent) logout(context.Context, *acp.LogoutRequest) (*acp.LogoutResponse, error) {
	conf := a.svc.Config(nil)
	all, err := conf.Endpoints()
	if err != nil || all[0].KeyFrom == "" {
		return &acp.LogoutResponse{}, nil // there is no key
	}
	removed, err := config.RemoveEnv(conf.Home, all[0].KeyFrom)
	if err != nil {
		return nil, err
	}
	a.svc.Reload()
	if left, err := a.svc.Config(nil).Endpoints(); err == nil && left[0].KeyFrom != "" {
		where := "the environment (" + left[0].KeyFrom + ")"
		if strings.Contains(left[0].KeyFrom, ".") {
			where = left[0].KeyFrom + " in " + config.Path(conf.Home)
		}
		return nil, acp.Errorf(acp.CodeInvalidRequest, "the key comes from %s, where only you can remove it (removed from .env: %v)", where, removed)
	}
	return &acp.LogoutResponse{}, nil
}
