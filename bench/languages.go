package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/lsp"
	"github.com/hermes-ls/hermes-ls/extensions/lsp/own"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// places is the number of files in each answer of the language server.
const places = 30

// languageServer measures a call of the tool for language servers, in this process. The floor is the
// same request to the same server by pipes.
func languageServer(l *lab) (rows []row, err error) {
	dir := filepath.Join(l.dir, "lsp")
	command := []string{l.echo, "server"}
	for i := range places {
		file := filepath.Join(dir, fmt.Sprintf("file%02d.x", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte("first line of the file\nsecond\n"), 0o644); err != nil {
			return nil, err
		}
		command = append(command, file)
	}
	floor, err := askByPipes(command)
	if err != nil {
		return nil, err
	}
	call, err := askByTool(dir, command)
	if err != nil {
		return nil, err
	}
	return []row{{what: fmt.Sprintf("lsp references, %d places", places), value: ms(call), unit: "ms", floor: ms(floor), floorName: "its server, by pipes", goal: "≤ 5 ms more"}}, nil
}

func askByTool(dir string, command []string) (time.Duration, error) {
	ctx := context.Background()
	files, err := workspace.Open([]string{dir}, nil)
	if err != nil {
		return 0, err
	}
	defer files.Close() // nothing was written
	instance, err := lsp.New(lsp.Options{}).Open(ctx, &extension.Session{
		ID: "s", Cwd: dir, Folders: files.Folders, Files: files,
		Config: func(into any) error {
			settings := into.(*lsp.Settings)
			settings.Servers = map[string]own.Custom{"echo": {Command: command, Extensions: []string{".x"}}}
			return nil
		},
	})
	if err != nil {
		return 0, err
	}
	defer instance.Close(ctx) // it ends with this process
	list, err := instance.(extension.Tools).Tools(ctx, nil)
	if err != nil || len(list) != 1 {
		return 0, fmt.Errorf("the tool is not offered: %w", err)
	}
	set := &tools.Set{}
	if err := set.Add(list[0]); err != nil {
		return 0, err
	}
	one := func() (time.Duration, error) {
		began := time.Now()
		result, err := list[0].Run(ctx, &tools.Env{SessionID: "s"}, tools.Call{ID: "c", Name: list[0].Name, Args: json.RawMessage(`{"action":"references","path":"file00.x","line":1,"symbol":"first"}`)})
		if err == nil && result.IsError {
			err = fmt.Errorf("the answer is %s", result.JSON)
		}
		return time.Since(began), err
	}
	if _, err := one(); err != nil { // starts the server
		return 0, err
	}
	return median(201, one)
}

func askByPipes(command []string) (time.Duration, error) {
	c := exec.Command(command[0], command[1:]...)
	in, err := c.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := c.Start(); err != nil {
		return 0, err
	}
	defer func() { in.Close(); _ = c.Wait() }() // it ends without input
	const request = `{"jsonrpc":"2.0","id":1,"method":"textDocument/references","params":{}}`
	answers := bufio.NewReader(out)
	return median(501, func() (time.Duration, error) {
		began := time.Now()
		if _, err := fmt.Fprintf(in, "Content-Length: %d\r\n\r\n%s", len(request), request); err != nil {
			return 0, err
		}
		length := 0
		if _, err := fmt.Fscanf(answers, "Content-Length: %d\r\n\r\n", &length); err != nil {
			return 0, err
		}
		_, err := io.CopyN(io.Discard, answers, int64(length))
		return time.Since(began), err
	})
}
