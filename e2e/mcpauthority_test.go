//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority is an MCP server with logins at oidc-provider, whose refresh tokens rotate.
type authority struct {
	Resource, Control string
	Issuers           []string
}

type authorityCounts struct {
	Calls, Refused, Refreshes, RefreshErrors, Registered, Foreign int
	Approved                                                      bool
}

// newAuthority starts the authority. life is the lifetime of access tokens.
func newAuthority(t *testing.T, b bed, life time.Duration) *authority {
	t.Helper()
	cmd := exec.Command(newNode(t), filepath.Join(root(t), "e2e", "node", "authority.mjs"), fmt.Sprint(int(life.Seconds())))
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the authorization server said:\n%s", errOut.Bytes())
		}
	})
	a := &authority{}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, a)
	}
	if err != nil {
		t.Fatalf("the authorization server does not start: %v\n%s", err, line)
	}
	write(t, filepath.Join(b.home, "config.yaml"), fmt.Sprintf("model: {provider: embedded}\nmcp_servers: {corp: {url: %q}}\n", a.Resource))
	return a
}

// control changes the authority and returns its counts.
func (a *authority) control(t *testing.T, query string) (c authorityCounts) {
	t.Helper()
	resp, err := http.Get(a.Control + "?" + query)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

// browse opens an address like the user's browser: it keeps cookies and follows redirects. If
// follow is false, the last page, the callback, does not load. browse returns its address.
func browse(t *testing.T, address string, follow bool) string {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	last := address
	c := http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		last = r.URL.String()
		if !follow && r.URL.Path == "/callback" {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if follow && resp.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s", last, resp.Status)
	}
	return last
}

// lockedBuffer is the output of a running program.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// login runs `hermes-ls mcp login corp`. visit gets the address, and the program's stderr, which
// may come later than the address.
func (b bed) login(t *testing.T, args []string, visit func(address string, said *lockedBuffer, stdin *os.File)) (said string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), b.binary, append([]string{"mcp", "login", "corp"}, args...)...)
	cmd.Dir, cmd.Env = b.workspace, b.environ()
	in, stdin, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	var errOut lockedBuffer
	cmd.Stdin, cmd.Stderr = in, &errOut
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	address, _ := bufio.NewReader(out).ReadString('\n')
	if address = strings.TrimSpace(address); address != "" {
		visit(address, &errOut, stdin)
	}
	err = cmd.Wait()
	return errOut.String(), err
}

// mcp runs `hermes-ls mcp` and returns its exit code and output.
func (b bed) mcp(t *testing.T, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), b.binary, append([]string{"mcp"}, args...)...)
	cmd.Dir, cmd.Env = b.workspace, b.environ()
	data, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(data)
}

// withheld replaces a token sent back by the server.
const withheld = "access_token withheld]"

func (b bed) whoami(t *testing.T) {
	t.Helper()
	if code, out := b.mcp(t, "test", "corp", "--call", "whoami"); code != 0 || !strings.Contains(out, "logged in as user") || !strings.Contains(out, withheld) {
		t.Errorf("a call: exit %d\n%s", code, out)
	}
}

const needsLogin = 3 // exit code

// TestLoginAuthority logs in at oidc-provider in the shell: with a browser, a pasted address and
// a device, after a revoked grant, and after the server has named another issuer.
func TestLoginAuthority(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": ""})
	a := newAuthority(t, b, time.Hour)
	if code, out := b.mcp(t, "test", "corp"); code != needsLogin || !strings.Contains(out, "hermes-ls mcp login corp") {
		t.Errorf("without a login: exit %d\n%s", code, out)
	}
	if code, out := b.mcp(t, "list"); code != 0 || !strings.Contains(out, "needs login") {
		t.Errorf("the list: exit %d\n%s", code, out)
	}
	if c := a.control(t, ""); c.Registered != 0 {
		t.Error("a client was registered without a login")
	}
	byBrowser := func(address string, _ *lockedBuffer, _ *os.File) { browse(t, address, true) }
	if said, err := b.login(t, []string{"--no-browser"}, byBrowser); err != nil {
		t.Fatalf("browser: %v\n%s", err, said)
	}
	b.whoami(t)
	if code, out := b.mcp(t, "logout", "corp"); code != 0 {
		t.Errorf("logout: exit %d\n%s", code, out)
	}
	if code, _ := b.mcp(t, "test", "corp"); code != needsLogin {
		t.Errorf("after the logout: exit %d", code)
	}

	said, err := b.login(t, []string{"--no-browser"}, func(address string, _ *lockedBuffer, stdin *os.File) {
		last := browse(t, address, false)
		fmt.Fprintln(stdin, strings.Replace(last, "state=", "state=x", 1))
		fmt.Fprintln(stdin, last)
	})
	if err != nil || !strings.Contains(said, "does not belong to this login") {
		t.Fatalf("pasted: %v\n%s", err, said)
	}
	b.whoami(t)
	if c := a.control(t, ""); c.Registered != 1 {
		t.Errorf("%d clients were registered", c.Registered)
	}

	a.control(t, "revoke=1")
	if code, out := b.mcp(t, "test", "corp"); code != needsLogin {
		t.Errorf("after the grant was revoked: exit %d\n%s", code, out)
	}
	code := regexp.MustCompile(`code ([A-Z-]+):`)
	if said, err := b.login(t, []string{"--device"}, func(_ string, said *lockedBuffer, _ *os.File) {
		waitFor(t, "the code of the device", func() bool { return code.MatchString(said.String()) })
		if m := code.FindStringSubmatch(said.String()); !a.control(t, "approve="+m[1]).Approved {
			t.Errorf("the authorization server does not know the code: %s", said)
		}
	}); err != nil {
		t.Fatalf("device: %v\n%s", err, said)
	}
	b.whoami(t)

	// The tokens of the first issuer are not sent to the second issuer.
	a.control(t, "revoke=1")
	a.control(t, "issuer=2")
	if code, out := b.mcp(t, "test", "corp"); code != needsLogin {
		t.Errorf("after the issuer has changed: exit %d\n%s", code, out)
	}
	before := a.control(t, "")
	if said, err := b.login(t, []string{"--no-browser"}, func(address string, _ *lockedBuffer, _ *os.File) {
		if !strings.HasPrefix(address, a.Issuers[1]) {
			t.Errorf("the login is at %s", address)
		}
		browse(t, address, true)
	}); err != nil {
		t.Fatalf("the second issuer: %v\n%s", err, said)
	}
	b.whoami(t)
	if c := a.control(t, ""); c.RefreshErrors != before.RefreshErrors || c.Registered != before.Registered+1 {
		t.Errorf("at the second issuer: %+v, before %+v", c, before)
	}
}

// TestLoginRotation checks that four processes refresh rotating tokens over three expiries without
// a refused call. No result shows a token.
func TestLoginRotation(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": ""})
	a := newAuthority(t, b, 6*time.Second)
	if said, err := b.login(t, []string{"--no-browser"}, func(address string, _ *lockedBuffer, _ *os.File) { browse(t, address, true) }); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	var all sync.WaitGroup
	for range 4 {
		l := b.line(t)
		session := l.newSession(b.workspace)
		all.Go(func() {
			deadline := time.Now().Add(time.Minute)
			for a.control(t, "").Refreshes < 3 && time.Now().Before(deadline) {
				said := ""
				l.call("session/prompt", promptOf(session, "Who am I?\n```hermes-script\n"+
					`[{"call":{"name":"mcp__corp__whoami","args":{}}}]`+"\n"+`[{"text":"Done."}]`+"\n```"), nil, func(f frame) {
					said += string(f.Params.Update.Content)
				})
				if !strings.Contains(said, "logged in as user") || !strings.Contains(said, withheld) {
					t.Errorf("a call returned %s", said)
					return
				}
			}
			l.end()
		})
	}
	all.Wait()
	c := a.control(t, "")
	if c.Refused != 0 || c.RefreshErrors != 0 || c.Refreshes < 3 || c.Calls < 12 {
		t.Errorf("%+v", c)
	}
	t.Logf("%+v", c)
}

// TestLoginChat logs in from a session of an ACP client: with the address in the chat, a pasted
// address, and an elicitation in mode url. Running sessions of other processes use the login.
func TestLoginChat(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": ""})
	a := newAuthority(t, b, time.Hour)
	l := b.line(t)
	session := l.newSession(b.workspace)
	say := func(text string) (said string) {
		l.call("session/prompt", promptOf(session, text), nil, func(f frame) {
			if f.Params.Update.SessionUpdate == "agent_message_chunk" {
				said += f.text()
			}
		})
		return said
	}
	if said := say("/mcp"); !strings.Contains(said, "needs login") {
		t.Errorf("/mcp says %s", said)
	}
	said := say("/mcp login corp")
	address := regexp.MustCompile(`http://\S+/auth\?\S+`).FindString(said)
	if address == "" {
		t.Fatalf("/mcp login says %s", said)
	}
	last := browse(t, address, false)
	if u, err := url.Parse(last); err != nil || u.Hostname() != "127.0.0.1" {
		t.Errorf("the callback is %s", last)
	}
	if said := say("/mcp login corp " + last); !strings.Contains(said, "The address is right") {
		t.Errorf("the pasted address: %s", said)
	}
	for end := time.Now().Add(screenLimit); ; time.Sleep(50 * time.Millisecond) {
		if said = say("/mcp"); strings.Contains(said, "whoami") || time.Now().After(end) {
			break
		}
	}
	if !strings.Contains(said, "whoami") {
		t.Errorf("after the login, /mcp says %s", said)
	}
	if strings.Contains(said, "needs login") || a.control(t, "").Registered != 1 {
		t.Errorf("after the login: %s", said)
	}

	// The same by the methods of plugins.
	state := func() (s string) {
		var r struct {
			MCP []struct {
				Name, State, Log string
				Tools            int
			}
		}
		for end := time.Now().Add(screenLimit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			l.call("_hermes/extensions", map[string]any{"sessionId": session}, &r, nil)
			if len(r.MCP) != 1 || r.MCP[0].Log == "" {
				t.Fatalf("the servers are %+v", r.MCP)
			}
			if s = r.MCP[0].State; s != "connecting" {
				return fmt.Sprintf("%s, %d tools", s, r.MCP[0].Tools)
			}
		}
		return s
	}
	do := func(method string, more map[string]any) string {
		args := map[string]any{"sessionId": session, "server": "corp"}
		maps.Copy(args, more)
		var r struct{ Text string }
		l.call("_hermes/mcp/"+method, args, &r, nil)
		return r.Text
	}
	if s := state(); s != "connected, 3 tools" {
		t.Errorf("logged in: %s", s)
	}
	if text := do("logout", nil); !strings.Contains(text, "is logged out") {
		t.Errorf("logout: %s", text)
	}
	if s := state(); s != "needs login, 0 tools" {
		t.Errorf("logged out: %s", s)
	}
	address = regexp.MustCompile(`http://\S+/auth\?\S+`).FindString(do("login", nil))
	if text := do("login", map[string]any{"address": browse(t, address, false)}); !strings.Contains(text, "The address is right") {
		t.Errorf("the pasted address: %s", text)
	}
	for end := time.Now().Add(screenLimit); state() != "connected, 3 tools" && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond)
	}
	if text := do("restart", nil); !strings.Contains(text, "starts again") {
		t.Errorf("restart: %s", text)
	}
	if s := state(); s != "connected, 3 tools" {
		t.Errorf("restarted: %s", s)
	}
	if said := say("/mcp logs corp"); !strings.Contains(said, "log") {
		t.Errorf("the log: %s", said)
	}
	l.end()
}

// TestApproveServer approves a server of the workspace in a session, and calls its tool.
func TestApproveServer(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{".mcp.json": fmt.Sprintf(`{"mcpServers":{"all":{"command":%q,"args":[%q]}}}`,
		newNode(t), filepath.Join(nodeModules(t), "@modelcontextprotocol", "server-everything", "dist", "index.js"))})
	l := b.line(t)
	session := l.newSession(b.workspace)
	say := func(text string) (said string) {
		l.call("session/prompt", promptOf(session, text), nil, func(f frame) { said += f.text() })
		return said
	}
	if said := say("/trust yes"); !strings.Contains(said, "is trusted") {
		t.Errorf("/trust says %s", said)
	}
	if said := say("/mcp"); !strings.Contains(said, "not approved") || !strings.Contains(said, "/mcp approve all") {
		t.Errorf("/mcp says %s", said)
	}
	if said := say("/mcp approve all"); !strings.Contains(said, "is approved as it is now") {
		t.Errorf("/mcp approve says %s", said)
	}
	waitFor(t, "the tools of the approved server", func() bool { return strings.Contains(say("/mcp"), "mcp__all__echo") })
	if said := say("/mcp revoke all"); !strings.Contains(said, "is not approved anymore") {
		t.Errorf("/mcp revoke says %s", said)
	}
	if said := say("/mcp"); !strings.Contains(said, "not approved") || strings.Contains(said, "mcp__all__echo") {
		t.Errorf("without the approval, /mcp says %s", said)
	}
	if said := say("/mcp revoke all"); !strings.Contains(said, "The MCP server all is not approved.") {
		t.Errorf("a second /mcp revoke says %s", said)
	}
	l.end()
}

// TestLoginKeyring keeps tokens in a Secret Service, GNOME's. Without a service, the login fails
// with the next step.
func TestLoginKeyring(t *testing.T) {
	t.Parallel()
	found(t, "dbus-run-session")
	found(t, "gnome-keyring-daemon")
	found(t, "dbus-send")
	b := newBed(t, map[string]string{"a.txt": ""})
	a := newAuthority(t, b, 6*time.Second)
	file := filepath.Join(b.home, "config.yaml")
	settings, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, string(settings)+"mcp: {token_store: keyring}\n")
	byBrowser := func(address string, _ *lockedBuffer, _ *os.File) { browse(t, address, true) }
	without := b
	without.binary = filepath.Join(filepath.Dir(b.home), "without")
	writeScript(t, without.binary, fmt.Sprintf("unset DBUS_SESSION_BUS_ADDRESS XDG_RUNTIME_DIR\nexec %s \"$@\"\n", b.binary))
	if said, err := without.login(t, []string{"--no-browser"}, byBrowser); err == nil || !strings.Contains(said, "Set mcp.token_store to file") {
		t.Errorf("without a store: %v\n%s", err, said)
	}
	with := b
	with.binary = filepath.Join(filepath.Dir(b.home), "with")
	// The daemon owns its name on the bus only after it has gone into the background. Before, a
	// request would start a second, locked daemon.
	writeScript(t, with.binary, fmt.Sprintf(`exec dbus-run-session -- sh -c '
printf test | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1
until dbus-send --print-reply --dest=org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus.NameHasOwner string:org.freedesktop.secrets | grep -q true; do :; done
exec "$@"' sh %s "$@"
`, b.binary))
	if said, err := with.login(t, []string{"--no-browser"}, byBrowser); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for end := time.Now().Add(time.Minute); a.control(t, "").Refreshes == 0 && !t.Failed() && time.Now().Before(end); {
		with.whoami(t) // until the token has expired: its refresh token is in the store, too
	}
	if c := a.control(t, ""); c.Refreshes == 0 || c.Refused != 0 {
		t.Errorf("%+v", c)
	}
	stored, _ := filepath.Glob(filepath.Join(b.home, "mcp-auth", "*.json"))
	if len(stored) != 1 {
		t.Fatalf("files %v", stored)
	}
	data, err := os.ReadFile(stored[0])
	if err != nil || strings.Contains(string(data), "_token\"") || !strings.Contains(string(data), a.Issuers[0]) {
		t.Errorf("%v: %s", err, data)
	}
	if code, out := with.mcp(t, "logout", "corp"); code != 0 || !strings.Contains(out, "corp: logged out") {
		t.Errorf("logout: exit %d\n%s", code, out)
	}
	if code, out := with.mcp(t, "test", "corp"); code != needsLogin {
		t.Errorf("after the logout: exit %d\n%s", code, out)
	}
}

func writeScript(t *testing.T, path, text string) {
	t.Helper()
	write(t, path, "#!/bin/sh\n"+text)
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestLoginElsewhere checks that a running session uses a login of another process. If a call lacks
// a scope, it asks for a login with the scope, at most twice in a session.
func TestLoginElsewhere(t *testing.T) {
	t.Parallel()
	b := newBed(t, map[string]string{"a.txt": ""})
	a := newAuthority(t, b, time.Hour)
	l := b.line(t)
	session := l.newSession(b.workspace)
	call := func(tool string) (said string) {
		l.call("session/prompt", promptOf(session, "Go.\n```hermes-script\n"+
			`[{"call":{"name":"mcp__corp__`+tool+`","args":{}}}]`+"\n"+`[{"text":"Done."}]`+"\n```"), nil, func(f frame) {
			said += f.text() + string(f.Params.Update.Content) + string(f.Params.Update.RawOutput)
		})
		return said
	}
	if said := call("whoami"); !strings.Contains(said, "needs the user to log in (hermes-ls mcp login corp, or /mcp login corp in the chat)") {
		t.Errorf("without a login: %s", said)
	}
	login := func(scopes string) {
		t.Helper()
		if said, err := b.login(t, []string{"--no-browser"}, func(address string, _ *lockedBuffer, _ *os.File) {
			u, err := url.Parse(address)
			if err != nil || u.Query().Get("scope") != scopes {
				t.Errorf("the login requests %q, not %q", u.Query().Get("scope"), scopes)
			}
			browse(t, address, true)
		}); err != nil {
			t.Fatalf("%v\n%s", err, said)
		}
	}
	login("read offline_access")
	if said := call("whoami"); !strings.Contains(said, "logged in as user") {
		t.Errorf("after a login elsewhere: %s", said)
	}
	const more = "needs more rights for this call: hermes-ls mcp login corp"
	if said := call("note"); !strings.Contains(said, more) || !strings.Contains(said, "needs the user to log in") {
		t.Errorf("without the scope: %s", said)
	}
	login("read write offline_access")
	if said := call("note"); !strings.Contains(said, "note: done") {
		t.Errorf("with the scope: %s", said)
	}
	if said := call("rule"); !strings.Contains(said, more) {
		t.Errorf("without the second scope: %s", said)
	}
	for range 2 {
		if said := call("rule"); strings.Contains(said, more) || !strings.Contains(said, "the server forbids this call (403)") {
			t.Errorf("a third request for more rights: %s", said)
		}
	}
	if code, out := b.mcp(t, "logout", "corp"); code != 0 {
		t.Errorf("logout: exit %d\n%s", code, out)
	}
	if said := call("whoami"); !strings.Contains(said, "needs the user to log in") {
		t.Errorf("after a logout elsewhere: %s", said)
	}
	said := ""
	l.call("session/prompt", promptOf(session, "/mcp"), nil, func(f frame) { said += f.text() })
	if !strings.Contains(said, "needs login") {
		t.Errorf("after a logout elsewhere, /mcp says %s", said)
	}
	// The authorization server rejects a client's unregistered scopes.
	if c := a.control(t, ""); c.Registered != 2 {
		t.Errorf("%d clients were registered", c.Registered)
	}
	l.end()
}
