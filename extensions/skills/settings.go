package skills

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/trust"
)

// Settings is the section skills of config.yaml.
type Settings struct {
	IndexBytes    int                        `json:"index_bytes" doc:"Bytes of the list of skills in the system prompt. 0: none."`
	ExternalDirs  []string                   `json:"external_dirs" guard:"their skills apply" doc:"More directories with skills. ~ and $NAME are replaced."`
	CreateDir     string                     `json:"create_dir" guard:"skills are written there" doc:"Directory in which skill_manage creates skills. Empty: skills in $HERMES_HOME."`
	Disabled      []string                   `json:"disabled" doc:"Names of skills that are not used."`
	Bundled       bool                       `json:"bundled" doc:"Use the skills of the program."`
	WriteApproval bool                       `json:"write_approval" guard:"changes of skills require approval" safe:"true" doc:"Changes of skills by the agent require approval."`
	Config        map[string]json.RawMessage `json:"config" doc:"Values for skills, by the names that they declare."`
	TrustedDirs   []string                   `json:"trusted_project_dirs" guard:"these folders are trusted" doc:"Folders that are trusted, besides those of hermes-ls trust."`
	TrustFolders  bool                       `json:"trust_folders" guard:"contents of folders apply" doc:"Skills, commands, agents and MCP servers of trusted folders apply. VS Code turns it off in Restricted Mode."`
}

// Section describes the section.
func Section() *config.Section {
	return &config.Section{Name: "skills", Doc: "Skills: instructions for kinds of tasks.", Defaults: Settings{
		IndexBytes: 3000, ExternalDirs: []string{"~/.agents/skills"}, Disabled: []string{}, Bundled: true, WriteApproval: true,
		Config: map[string]json.RawMessage{}, TrustedDirs: []string{}, TrustFolders: true,
	}}
}

// Store returns the store of trust, with the folders of these settings.
func (s Settings) Store(home string) trust.Store {
	store := trust.Open(home, Paths(s.TrustedDirs, home)...)
	if !s.TrustFolders {
		return store.None()
	}
	return store
}

// Library returns the library of a session.
func (s Settings) Library(home string, folders []string) Library {
	return Library{
		Home: home, Folders: folders, Created: s.createDir(home), External: Paths(s.ExternalDirs, home), Disabled: s.Disabled, Bundled: s.Bundled, Trust: s.Store(home),
	}
}

// createDir returns the directory for new skills.
func (s Settings) createDir(home string) string {
	if all := Paths([]string{s.CreateDir}, home); len(all) > 0 {
		return all[0]
	}
	return filepath.Join(home, "skills")
}

// Paths expands ~ and variables. Relative paths belong to home.
func Paths(list []string, home string) (out []string) {
	for _, p := range list {
		p = os.ExpandEnv(p)
		if p == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || rest[0] == '/' || rest[0] == '\\') {
			user, err := os.UserHomeDir()
			if err != nil {
				continue
			}
			p = filepath.Join(user, rest)
		}
		if !filepath.IsAbs(p) {
			p = filepath.Join(home, p)
		}
		out = append(out, filepath.Clean(p))
	}
	return out
}
