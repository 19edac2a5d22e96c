package trust

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/hermes-ls/hermes-ls/internal/frontmatter"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

const (
	maxAgents    = 100
	largestAgent = 256 << 10
)

// agentDirs are the folders of agent files.
var agentDirs = []string{".hermes/agents", ".claude/agents"}

// serversOfAgents returns the servers in the field mcpServers of the agent files below a directory of the workspace. The
// field is a mapping of names to definitions, or a list of such mappings. Other values are left out.
func serversOfAgents(top *os.Root, dir, root string, left *int64) (all []Server) {
	var files []string
	for _, dir := range agentDirs {
		found, _ := fs.Glob(top.FS(), dir+"/*.md") // the patterns are right
		files = append(files, found...)
	}
	for _, name := range files[:min(len(files), maxAgents)] {
		data, err := textfile.ReadIn(top, filepath.FromSlash(name), largestAgent)
		if err != nil {
			continue
		}
		fields, _, err := frontmatter.Parse(data)
		if err != nil {
			continue
		}
		list, ok := fields["mcpServers"].([]any)
		if !ok {
			list = []any{fields["mcpServers"]}
		}
		for _, item := range list {
			found, _ := item.(map[string]any)
			for _, server := range slices.Sorted(maps.Keys(found)) {
				definition, err := json.Marshal(found[server])
				if err != nil || len(all) == maxServers {
					continue
				}
				s := Server{Name: server, From: name, Dir: dir, Folder: root, Definition: definition}
				s.decode(left)
				all = append(all, s)
			}
		}
	}
	return all
}
