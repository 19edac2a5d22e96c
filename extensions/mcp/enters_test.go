package mcp

import (
	"strings"
	"testing"
)

// A server that runs what is in a folder of the workspace is one of the workspace. One that
// is given the folder to work on is not.
func TestEnters(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"uv --directory /ws run server.py": true, "uv run --directory=/ws/a server.py": true, "uv run --python 3.12 --project /ws s": true, "uvx --from /ws tool": true,
		"npm --prefix /ws run x": true, "npm run go --prefix /ws": true, "pnpm -C /ws start": true, "npx -y /ws/pkg": true, "npx --prefix /ws tool": true,
		"env -C /ws ./bin/tool": true, "env -C/ws ./bin/tool": true, "make -C /ws serve": true, "cargo run --manifest-path /ws/Cargo.toml": true, "go run -C /ws .": true,
		"node /ws": true, "node --import=x /ws/server": true, "python3.12 /ws/pkg": true, "sh -c cd_/ws&&./tool;": true, "python3 -c import_sys;sys.path.insert(0,'/ws')": true,
		"poetry -C /ws run s": true, "bun run /ws/server": true, "PYTHONPATH=/ws python3 -m server": true, "NODE_OPTIONS=--require=/ws/x node /usr/lib/s.js": true, "PATH=/usr/bin:/ws/bin s": true,

		"npx -y @modelcontextprotocol/server-filesystem /ws": false, "uvx mcp-server-git --repository /ws": false, "uvx --from git+https://x/serena serena start --project /ws": false,
		"uv tool run mcp-server-git --repository /ws": false, "node /opt/server.js /ws": false, "python3 -m mcp_server_git --repository /ws": false, "server --directory /ws": false,
		"docker run -v /ws:/ws image": false, "ROOT=/ws server": false, "uv --directory /opt/server run s.py /ws": false,
	} {
		words := strings.Fields(line)
		var env []string
		for strings.Contains(words[0], "=") {
			env, words = append(env, words[0]), words[1:]
		}
		if got := enters("/usr/bin/"+words[0], words[1:], env, []string{"/ws"}); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
}
