package trust

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// Server is an MCP server defined by a folder. Its texts are unexpanded, as in the file.
type Server struct {
	Name       string
	From       string // the file with its definition, relative to Folder, such as .mcp.json
	Dir        string // the workspace directory of the file
	Folder     string // see [Root]
	Definition json.RawMessage
	Spec       Spec
	Variables  []string // named by the definition, sorted
	Sum        string   // sha256 of the definition and of each named workspace file; empty: see Problem
	Problem    string   // why it cannot be used; empty: it can
}

// Spec holds the parts of a definition used by hermes-ls.
type Spec struct {
	Type      string            `json:"type"`
	Transport string            `json:"transport"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Cwd       string            `json:"cwd"`
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
}

// Line returns the command line or the URL.
func (s Server) Line() string {
	if s.Spec.Command == "" {
		return s.Spec.URL
	}
	return strings.Join(append([]string{s.Spec.Command}, s.Spec.Args...), " ")
}

func (s Server) approval() approval { return approval{s.Folder, s.Name, s.Sum} }

// files are where a folder can define servers, with the key of the servers.
var files = []struct{ name, key string }{
	{".mcp.json", "mcpServers"}, {".vscode/mcp.json", "servers"}, {".cursor/mcp.json", "mcpServers"},
}

// Loads returns the files and folders of a workspace that can define servers.
func Loads() (all []string) {
	for _, f := range files {
		all = append(all, f.name)
	}
	for _, dir := range agentDirs {
		all = append(all, dir+"/")
	}
	return all
}

const (
	maxServers    = 100
	largestFile   = 64 << 20  // limit for a file named by a server
	mostRead      = 256 << 20 // bytes of all files named by the servers of a folder
	mostFiles     = 1000      // files named by a server
	maxDefinition = 64 << 10
)

// Servers returns the servers defined by a workspace folder and the top directory of its
// repository, also in agent files, sorted by name. If a name is defined several times, the first is
// returned. For an unreadable file, it returns a server without a name, with the problem.
func Servers(folder string) []Server {
	root, err := Root(folder)
	if err != nil {
		return nil
	}
	real, err := filepath.EvalSymlinks(folder)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil
	}
	dirs := []string{real}
	if root != real {
		dirs = append(dirs, root)
	}
	var all []Server
	seen, left := map[string]bool{}, int64(mostRead)
	for _, dir := range dirs {
		for _, s := range serversIn(dir, root, &left) {
			if s.Name != "" && seen[s.Name] {
				continue
			}
			seen[s.Name] = true
			if len(all) < maxServers {
				all = append(all, s)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// serversIn returns the servers of a directory. left is the number of bytes of their files that may
// still be read.
func serversIn(dir, root string, left *int64) (all []Server) {
	top, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	defer top.Close() // only read
	for _, f := range files {
		data, err := textfile.ReadIn(top, filepath.FromSlash(f.name), safefile.Settings)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		found := map[string]json.RawMessage{}
		if err == nil {
			found, err = definitions(data, f.key)
		}
		if err != nil {
			all = append(all, Server{From: f.name, Dir: dir, Folder: root, Problem: fmt.Sprintf("%s is not readable: %v", f.name, err)})
			continue
		}
		names := slices.Sorted(maps.Keys(found))
		for _, name := range names[:min(len(names), maxServers)] {
			s := Server{Name: name, From: f.name, Dir: dir, Folder: root, Definition: found[name]}
			s.decode(left)
			all = append(all, s)
		}
	}
	return append(all, serversOfAgents(top, dir, root, left)...)
}

func definitions(data []byte, key string) (map[string]json.RawMessage, error) {
	var file map[string]json.RawMessage
	if err := json.Unmarshal(textfile.PlainJSON(data), &file); err != nil {
		return nil, textfile.JSONError(data, err)
	}
	found := map[string]json.RawMessage{}
	if file[key] == nil {
		return found, nil
	}
	err := json.Unmarshal(file[key], &found)
	return found, err
}

// named finds variables in a definition. Names of the editor, such as ${workspaceFolder}, are no variables.
var named = lazyregexp.New(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-[^}]*)?\}`)

// ofEditor are names in ${…} other than environment variables.
var ofEditor = []string{"workspaceFolder", "workspaceFolderBasename", "userHome", "workspaceRoot"}

var validName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// decode reads the definition, and computes Variables and Sum.
func (s *Server) decode(left *int64) {
	var compact bytes.Buffer
	switch {
	case !validName.MatchString(s.Name):
		s.Problem = "its name has other characters than letters, digits, dots, dashes and underscores"
	case len(s.Definition) > maxDefinition || json.Compact(&compact, s.Definition) != nil:
		s.Problem = "its definition is too long"
	case json.Unmarshal(s.Definition, &s.Spec) != nil:
		s.Problem = "its definition has values of a wrong type"
	case (s.Spec.Command == "") == (s.Spec.URL == ""):
		s.Problem = "it must have a command or a url, and not both"
	}
	if s.Problem != "" {
		return
	}
	s.Definition = compact.Bytes()
	names := map[string]bool{}
	for _, m := range named.FindAllSubmatch(s.Definition, -1) {
		names[string(m[1])] = true
	}
	for name := range s.Spec.Env {
		names[name] = true
	}
	for _, name := range ofEditor {
		delete(names, name)
	}
	s.Variables = slices.Sorted(maps.Keys(names))
	s.Sum, s.Problem = s.sum(left)
}

// sum returns the sha256 of the definition and of each workspace file named by command or args. If
// such a file cannot be read, it returns the problem.
func (s *Server) sum(left *int64) (sum, problem string) {
	top, err := os.OpenRoot(s.Folder)
	if err != nil {
		return "", err.Error()
	}
	defer top.Close() // only read
	h := sha256.New()
	fmt.Fprintf(h, "%q %q %d\n", s.From, s.Dir, len(s.Definition))
	_, _ = h.Write(s.Definition)
	seen := map[string]bool{}
	for _, word := range append([]string{s.Spec.Command}, s.Spec.Args...) {
		for _, name := range s.filesOf(word) {
			if seen[name] {
				continue
			}
			if seen[name] = true; len(seen) > mostFiles {
				return "", fmt.Sprintf("it names more than %d files", mostFiles)
			}
			if problem := addFile(h, top, name, left); problem != "" {
				return "", problem
			}
		}
	}
	return hex.EncodeToString(h.Sum(nil)), ""
}

// entries are the files of a directory that programs run if they receive the directory.
var entries = []string{"package.json", "index.js", "index.mjs", "index.cjs", "__main__.py", "__init__.py", "main.go", "Cargo.toml"}

// addFile adds a workspace file to the sum. If it is missing, problem reports it.
func addFile(h io.Writer, top *os.Root, name string, left *int64) (problem string) {
	info, err := top.Stat(name)
	switch {
	case err != nil:
		if _, err := filepath.EvalSymlinks(filepath.Join(top.Name(), name)); err == nil {
			return fmt.Sprintf("its file %s is a link that leaves the folder", name)
		}
		fmt.Fprintf(h, "%q absent\n", name)
		return ""
	case info.IsDir() && name == ".":
		return ""
	case info.IsDir():
		for _, entry := range entries {
			if problem := addFile(h, top, filepath.Join(name, entry), left); problem != "" {
				return problem
			}
		}
		return ""
	}
	if *left -= info.Size(); *left < 0 {
		return fmt.Sprintf("the files that the servers of this folder name have more than %d MB together", mostRead>>20)
	}
	data, err := safefile.ReadIn(top, name, largestFile)
	if err != nil {
		return fmt.Sprintf("its file %s cannot be read: %v", name, err)
	}
	fmt.Fprintf(h, "%q %x\n", name, sha256.Sum256(data))
	return ""
}

var (
	withDefault = lazyregexp.New(`\$\{[^}]*?:-([^}]*)\}`) // a variable with a default value
	anyVariable = lazyregexp.New(`\$\{[^}]*\}`)
)

// filesOf returns the possible paths of a word in the folder, relative to Folder. It also checks
// options such as --config=FILE, commands such as sh -c's, and default values of variables. The
// value of another variable, such as ${PWD}, can be the directory.
func (s *Server) filesOf(word string) (names []string) {
	home, _ := os.UserHomeDir() // without a home, ${userHome} names no file of the folder
	editor := strings.NewReplacer("${workspaceFolder}", s.Dir, "${workspaceRoot}", s.Dir, "${workspaceFolderBasename}", filepath.Base(s.Dir),
		"${userHome}", home, "${HOME}", home, "${env:HOME}", home, "${/}", string(filepath.Separator))
	base := editor.Replace(s.Spec.Cwd)
	if !filepath.IsAbs(base) {
		base = filepath.Join(s.Dir, base)
	}
	texts := []string{editor.Replace(word)}
	for range 3 { // default values can be nested
		last := texts[len(texts)-1]
		other := string(withDefault.ReplaceAll([]byte(last), []byte("$1")))
		if other == last {
			break
		}
		texts = append(texts, other)
	}
	dir := []byte(strings.ReplaceAll(s.Dir, "$", "$$"))
	for _, text := range texts {
		if other := string(anyVariable.ReplaceAll([]byte(text), dir)); other != text {
			texts = append(texts, other)
		}
	}
	for _, text := range texts {
		for _, w := range wordsOf(text) {
			w = strings.TrimPrefix(w, "file://")
			if !filepath.IsAbs(w) {
				w = filepath.Join(base, w)
			}
			if rel, err := filepath.Rel(s.Folder, w); err == nil && filepath.IsLocal(rel) && !slices.Contains(names, rel) {
				names = append(names, rel)
			}
		}
	}
	return names
}

// wordsOf returns a text, its words, the values of options, and the words of a shell.
func wordsOf(text string) []string {
	words := append([]string{text}, strings.Fields(text)...)
	for _, w := range words {
		if _, value, ok := strings.Cut(w, "="); ok {
			words = append(words, value)
		}
	}
	return append(words, strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`;&|()<>{}=,", r) })...)
}
