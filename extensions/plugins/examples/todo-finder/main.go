// todo-finder is an example of a plugin in Go. It lists the TODO comments of the workspace: as a
// tool, and as the slash command /todos. It is built with: go build -o todo-finder
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Root string `json:"root"`
		Cwd  string `json:"cwd"`
	} `json:"params"`
}

const offer = `{
	"tools": [{"name": "find_todos", "description": "List the TODO comments of the workspace.", "read_only": true,
		"parameters": {"type": "object", "properties": {}}}],
	"commands": [{"name": "todos", "description": "List the TODO comments"}],
	"prompt_sections": [{"id": "todos", "text": "If you leave a TODO comment, write who must do it."}]
}`

const most = 200 // of the list

// todos returns the lines with TODO in the files below a folder.
func todos(folder string) ([]string, error) {
	found := []string{}
	err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || len(found) == most:
			return fs.SkipDir
		case e.IsDir() && strings.HasPrefix(e.Name(), ".") && path != folder:
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		file, err := os.Open(path)
		if err != nil {
			return nil // others can be read
		}
		defer file.Close()
		rel, _ := filepath.Rel(folder, path) // path is below folder
		lines := bufio.NewScanner(file)
		for n := 1; lines.Scan() && len(found) < most; n++ {
			if _, text, ok := strings.Cut(lines.Text(), "TODO"); ok {
				found = append(found, fmt.Sprintf("%s:%d:%s", filepath.ToSlash(rel), n, strings.TrimRight(text, " */->")))
			}
		}
		return nil
	})
	return found, err
}

func main() {
	in, out := bufio.NewReader(os.Stdin), json.NewEncoder(os.Stdout)
	cwd := "."
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			fmt.Fprintln(os.Stderr, err) // stderr is the plugin's log
			continue
		}
		if r.Params.Cwd != "" {
			cwd = r.Params.Cwd
		}
		var result any
		switch r.Method {
		case "initialize":
			result = json.RawMessage(offer)
		case "tool":
			list, err := todos(cwd)
			if err != nil {
				_ = out.Encode(map[string]any{"jsonrpc": "2.0", "id": r.ID, "error": map[string]any{"code": -32000, "message": err.Error()}})
				continue
			}
			result = map[string]any{"todos": list}
		case "command":
			list, _ := todos(cwd) // a command has no cwd of its own
			result = map[string]any{"text": "- " + strings.Join(list, "\n- ")}
		case "shutdown":
			return
		default:
			continue
		}
		if err := out.Encode(map[string]any{"jsonrpc": "2.0", "id": r.ID, "result": result}); err != nil {
			return
		}
	}
}
