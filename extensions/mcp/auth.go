package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/secure"
)

// Values of Server.Auth. If it is empty, a login is needed if the server answers 401.
const (
	AuthOAuth = "oauth"
	AuthNone  = "none"
)

// errLogin reports a response with status 401 before the user's login.
var errLogin = errors.New("the user must log in")

// errRights means a token without a required scope: the user must log in again.
var errRights = errors.New("its token lacks rights")

// errForbidden means a call without a required scope after the user was already asked for it.
var errForbidden = errors.New("the server forbids this call (403): the login lacks rights for it, and the user was told so before")

// errToken means an invalid configured token.
var errToken = errors.New("it rejects requests without a valid token (401). Set its token in mcp_servers.NAME.headers.Authorization")

// errNoChallenge means a response with status 401 without a way to log in, as from servers with
// keys.
var errNoChallenge = errors.New("it rejects requests without a valid token (401) and does not say how to log in. " +
	"Set its token in mcp_servers.NAME.headers.Authorization, or run hermes-ls mcp login NAME if it has a login")

// logsIn reports whether the server may get the tokens of a login.
func (s *server) logsIn() bool {
	return s.Server.LogsIn() && s.owner.cfg.Logins != nil
}

// LogsIn reports whether the user can log in at the server: it is reached by URL, and no token is
// configured.
func (s Server) LogsIn() bool {
	if s.URL == "" || s.Auth == AuthNone {
		return false
	}
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return false
		}
	}
	return true
}

// LoginTarget returns the target of a login at a server. The TLS settings of the server apply to it.
func (s Server) LoginTarget() login.Target {
	t := login.Target{Name: s.Name, URL: s.URL, Settings: s.OAuth}
	if checks, err := secure.Config(s.Verify, s.Certificate); err == nil && checks != nil { // connecting reports the error
		t.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: checks, ForceAttemptHTTP2: true, DisableKeepAlives: true}
	}
	return t
}

// lacks handles a response 403. If the token lacks scopes, the next login requests them, and
// lacks returns errRights.
func (r *remote) lacks(ctx context.Context, resp *http.Response) error {
	wanted, err := r.logins.Want(ctx, r.target, resp.Header)
	if err != nil || !wanted {
		return err
	}
	r.unauthorized.Store(true)
	s := r.server
	if !s.notices.moreRights() {
		return errForbidden
	}
	s.notice("needs more rights for this call: " + s.howToLogIn())
	return fmt.Errorf("%w. %s", errRights, s.needsLogin())
}

// howToLogIn names the commands.
func (s Server) howToLogIn() string {
	return fmt.Sprintf("hermes-ls mcp login %s, or /mcp login %s in the chat", s.Name, s.Name)
}

// needsLogin is the text for the model.
func (s Server) needsLogin() string {
	return fmt.Sprintf("The MCP server %s needs the user to log in (%s). Continue without it and tell the user.", s.Name, s.howToLogIn())
}

// noticeLogin notifies the user once per session of a required login.
func (s *server) noticeLogin() {
	if !s.notices.setLogin(true) {
		s.notice("needs login: " + s.howToLogIn())
	}
}

// loggedOut ends a connection with an expired login. The server's state is then that it needs a
// login.
func loggedOut(ctx context.Context, s *server, conn *connection) {
	s.drop(ctx, conn, needsLogin, errLogin)
	s.noticeLogin()
}

// recheck connects servers with a login stored since their last attempt, also by another process,
// and waits for them.
func (s *Servers) recheck(ctx context.Context) {
	var begun []*server
	for _, one := range s.all() {
		if loggedIn(one) {
			begun = append(begun, one)
		}
	}
	for _, one := range begun {
		one.await(ctx)
	}
}

// loggedIn reports whether a login was stored since the last attempt failed. Then another attempt
// has begun.
func loggedIn(s *server) bool {
	st := s.now()
	waits := st.phase == needsLogin || st.phase == down && errors.Is(st.err, errNoChallenge)
	if !waits || !s.logsIn() || !s.owner.cfg.Logins.Changed(s.URL, st.since) {
		return false
	}
	s.requestReconnect(s.ctx)
	return true
}

func isLogin(err error) bool { return errors.Is(err, errLogin) || errors.Is(err, errRights) }
