// Package markdown finds commands and agents in Markdown files, in $HERMES_HOME and in trusted
// workspaces.
package markdown

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/extensions/skills"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/frontmatter"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/tools"
)

// File is a Markdown file of a command or an agent.
type File struct {
	Name        string // DIR:FILE of a command, in lower case
	Description string
	Path        string
	Workspace   bool   // it is from the workspace, which the user trusts
	Plugin      string // in lower case; empty: no plugin brings it
	Problem     string // the error of the frontmatter; the fields are empty then
	Fields      frontmatter.Fields
	Body        string
}

// Directories of a workspace with commands and agents.
var (
	CommandDirs = []string{".hermes/commands", ".claude/commands"}
	AgentDirs   = []string{".hermes/agents", ".claude/agents"}
)

// Loads returns the folders of a workspace from which commands and agents are loaded.
func Loads() (all []string) {
	for _, dir := range slices.Concat(CommandDirs, AgentDirs) {
		all = append(all, dir+"/")
	}
	return all
}

const (
	maxFiles = 500
	maxBytes = 256 << 10
	maxDepth = 3
)

// Find returns the files in the directories of trusted workspaces, in home/kind, and in more directories. If a name is
// there several times, the first file is used.
func Find(home string, store trust.Store, folders []string, kind string, more []string) []File {
	names := CommandDirs
	if kind == "agents" {
		names = AgentDirs
	}
	var all []File
	for _, dir := range skills.TrustedDirs(store, folders, names) {
		all = append(all, In(dir, true)...)
	}
	for _, dir := range append([]string{filepath.Join(home, kind)}, more...) {
		all = append(all, In(dir, false)...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(f File) bool {
		double := seen[f.Name]
		seen[f.Name] = true
		return double
	})
}

// OfPlugin returns the files of a plugin in dir. Their names are PLUGIN:NAME.
func OfPlugin(plugin, dir string) []File {
	all := In(dir, true)
	for i := range all {
		all[i].Plugin = strings.ToLower(plugin)
		all[i].Name = all[i].Plugin + ":" + all[i].Name
		all[i].Workspace = false
	}
	return all
}

// In returns the files below dir, sorted by path. In a workspace, links are not followed.
func In(dir string, workspace bool) (all []File) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(dir, path)
		switch {
		case err != nil || relErr != nil || rel == ".":
			return nil
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") || strings.Count(rel, string(filepath.Separator)) >= maxDepth):
			return filepath.SkipDir
		case len(all) >= maxFiles:
			return filepath.SkipAll
		case e.IsDir() || filepath.Ext(path) != ".md" || !regular(path, e, workspace):
			return nil
		}
		if f, ok := read(path, rel); ok {
			f.Workspace = workspace
			all = append(all, f)
		}
		return nil
	})
	return all
}

func regular(path string, e fs.DirEntry, workspace bool) bool {
	if e.Type().IsRegular() || workspace {
		return e.Type().IsRegular()
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func read(path, rel string) (f File, ok bool) {
	data, err := safefile.Read(path, maxBytes)
	if err != nil {
		return f, false
	}
	fields, body, err := frontmatter.Parse(data)
	problem := ""
	if err != nil { // the text of a command is usable
		fields, problem = frontmatter.Fields{}, err.Error()
	}
	name := strings.ToLower(strings.TrimSuffix(filepath.ToSlash(rel), ".md"))
	name = strings.NewReplacer("/", ":", " ", "-", "_", "_").Replace(name)
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_:.") != "" {
		return f, false
	}
	f = File{Name: name, Description: clean(fields.Text("description")), Path: path, Problem: problem, Fields: fields, Body: strings.TrimSpace(escape.Visible(body))}
	if f.Description == "" {
		first, _, _ := strings.Cut(f.Body, "\n")
		f.Description = clean(strings.TrimLeft(first, "# "))
	}
	return f, f.Body != "" || f.Problem != ""
}

func clean(text string) string {
	return tools.OneLine(strings.Join(strings.Fields(escape.Visible(tools.WithoutControls(text))), " "), 200)
}
