package inside

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnters checks which servers run files of a workspace folder. A server with the folder only as
// data does not.
func TestEnters(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"uv --directory /ws run server.py": true, "uv run --directory=/ws/a server.py": true, "uv run --python 3.12 --project /ws s": true, "uvx --from /ws tool": true,
		"npm --prefix /ws run x": true, "npm run go --prefix /ws": true, "pnpm -C /ws start": true, "npx -y /ws/pkg": true, "npx --prefix /ws tool": true,
		"env -C /ws ./bin/tool": true, "env -C/ws ./bin/tool": true, "make -C /ws serve": true, "cargo run --manifest-path /ws/Cargo.toml": true, "go run -C /ws .": true,
		"node /ws": true, "node --import=x /ws/server": true, "python3.12 /ws/pkg": true, "sh -c cd_/ws&&./tool;": true, "python3 -c import_sys;sys.path.insert(0,'/ws')": true,
		"poetry -C /ws run s": true, "bun run /ws/server": true, "PYTHONPATH=/ws python3 -m server": true, "NODE_OPTIONS=--require=/ws/x node /usr/lib/s.js": true, "PATH=/usr/bin:/ws/bin s": true,
		"sh -c cd_/ws": true, "sh -c cd_/ws/": true, "sh -c .('/ws/a')": true, "sh -c cd_/opt/../ws;x": true, "sh -c cd_//ws;x": true, "sh -c X=/ws;x": true,
		"sh -c cat<file:///ws/x>y(": true, "PYTHONPATH=/a:/ws python3 -m s": true, "NODE_OPTIONS=--import=file:///ws/x.mjs node /usr/lib/s.js": true, "PYTHONPATH=/ws/../ws/a s": true,
		"sh -c cd_/ws2;x": false, "sh -c cd_/ws-old/a;x": false, "sh -c cd_/opt/ws;x": false, "sh -c cd_/ws.bak;x": false, "PYTHONPATH=/opt/ws:/wsx python3 -m s": false, "sh -c cd_/ws/../opt;x": false,

		"npx -y @modelcontextprotocol/server-filesystem /ws": false, "uvx mcp-server-git --repository /ws": false, "uvx --from git+https://x/serena serena start --project /ws": false,
		"uv tool run mcp-server-git --repository /ws": false, "node /opt/server.js /ws": false, "python3 -m mcp_server_git --repository /ws": false, "server --directory /ws": false,
		"docker run -v /ws:/ws image": false, "ROOT=/ws server": false, "uv --directory /opt/server run s.py /ws": false,
	} {
		words := strings.Fields(line)
		var env []string
		for strings.Contains(words[0], "=") {
			env, words = append(env, words[0]), words[1:]
		}
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "cd_/", "cd /")
		}
		if got := Enters("/usr/bin/"+words[0], words[1:], env, []string{"/ws"}); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}

// TestMentions checks that every spelling of a workspace folder in a text is found.
func TestMentions(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws := filepath.Join(dir, "my ws")
	for _, name := range []string{ws, ws + " 2", filepath.Join(dir, "other")} {
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(ws, link); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"cd '" + ws + "' && x": true, "import '" + ws + "/a.js'": true, link: true, link + "/new/file": true, "cd " + link + ";x": true, "/opt:" + link + "/a": true,
		dir + "/other/../link/x": true, "file://" + ws: true,
		"cd '" + dir + "/my'": false, dir + "/other": false, "cd '" + ws + "2'": false, ws + "/../other/x": false, link + "s/x": false,
	} {
		if got := mentions(text, []string{ws}); got != want {
			t.Errorf("%q: %v", text, got)
		}
		if got := mentions(text, []string{link}); got != want {
			t.Errorf("%q, where the folder is a link: %v", text, got)
		}
	}
}
