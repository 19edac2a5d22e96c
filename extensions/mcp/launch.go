package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/inside"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	programs "github.com/hermes-ls/hermes-ls/internal/program"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// Sandboxing selects whether a server's program runs in the session's sandbox.
type Sandboxing int

const (
	SandboxAuto  Sandboxing = iota // only if it runs files of the workspace
	SandboxOn                      // always
	SandboxNever                   // the user has set it
)

// Permission is a request to start a program with files of the workspace.
type Permission struct {
	Server    string
	Title     string // the command line
	Reason    string // "runs tools/server.py of the workspace", for the user
	Key       string // identifies the command line and the content of the files
	Sandboxed bool
}

// errPermission means that the server runs unapproved files of the workspace.
var errPermission = errors.New("it runs files of the workspace. You are asked before it is started")

// largestProgram limits the size of workspace files run by a server.
const largestProgram = 64 << 20

// start holds the command of a server's program, and the required approval.
type start struct {
	cmd     proc.Cmd
	confine bool
	files   map[string][]byte // workspace files run by the program, by absolute path
	ask     Permission        // Key is empty if the program runs no file of the workspace
}

// plan finds the program, its directory and its environment. By default, a program starts
// in an empty directory of hermes-ls, because python3 -m, npx and others load files of
// their working directory.
func (a attempt) plan(ctx context.Context) (*start, error) {
	roots := a.owner.folders()
	env := environ(a.owner.cfg.Path.Environ(ctx, a.owner.cfg.Environ), a.values.Env, roots)
	p := &start{files: map[string][]byte{}}
	dir, err := a.workingDir(roots)
	if err != nil {
		return nil, err
	}
	path, err := a.values.find(env, roots)
	if err != nil {
		return nil, err
	}
	p.cmd = proc.Cmd{Args: append([]string{path}, a.values.Args...), Dir: dir, Env: programs.Environ(env, roots), Grace: gentle}
	runs := inside.Within(dir, roots) || inside.Enters(path, a.values.Args, a.values.Env, roots)
	for _, file := range append([]string{path}, argumentFiles(a.values.Args, dir)...) {
		if !inside.Within(file, roots) {
			continue
		}
		runs = true
		if p.files[file], err = safefile.Read(file, largestProgram); err != nil {
			return nil, fmt.Errorf("its file %s cannot be read to judge it: %w", file, err)
		}
	}
	p.confine = a.Sandbox == SandboxOn || runs && a.Sandbox == SandboxAuto
	if runs && a.Workspace == nil {
		p.ask = a.permission(p, roots)
	}
	if p.confine && a.values.Dir == "" {
		p.cmd.Dir = string(filepath.Separator) // the sandbox hides the directory of hermes-ls
	}
	return p, nil
}

// workingDir returns the directory in which the program starts. A relative cwd belongs to
// the first workspace folder.
func (a attempt) workingDir(roots []string) (string, error) {
	switch {
	case a.values.Dir == "":
		if err := os.MkdirAll(a.owner.cfg.Dir, 0o700); err != nil {
			return "", fmt.Errorf("the folder that it starts in cannot be made: %w", err)
		}
		return a.owner.cfg.Dir, nil
	case filepath.IsAbs(a.values.Dir) || len(roots) == 0:
		return a.values.Dir, nil
	}
	return filepath.Join(roots[0], a.values.Dir), nil
}

// find returns the absolute path of the program. It prefers programs outside the workspace. If the
// program exists only in a workspace folder, find returns this path.
func (s Server) find(env, roots []string) (string, error) {
	if strings.ContainsAny(s.Command, `/\`) {
		if base := s.Dir; !filepath.IsAbs(s.Command) && len(roots) > 0 {
			if !filepath.IsAbs(base) {
				base = filepath.Join(roots[0], base)
			}
			return filepath.Join(base, s.Command), nil
		}
		return s.Command, nil
	}
	path, err := programs.FindIn(variable(env, "PATH"), s.Command, roots)
	if err == nil {
		return path, nil
	}
	for _, folder := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(folder) {
			continue
		}
		if path, err := exec.LookPath(filepath.Join(folder, s.Command)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("cannot start %s: not found in PATH", s.Command)
}

func variable(env []string, name string) (value string) {
	for _, kv := range env {
		if n, v, _ := strings.Cut(kv, "="); strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

// dataEndings are the endings of data files. Data files change often, and are not run.
var dataEndings = []string{".db", ".sqlite", ".sqlite3", ".duckdb", ".csv", ".parquet", ".pdf", ".png", ".jpg", ".md", ".txt"}

// argumentFiles returns the files among the arguments that the program may run, also in options
// such as --config=FILE. It omits data files.
func argumentFiles(args []string, dir string) (files []string) {
	for _, arg := range args {
		if _, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(arg, "-") {
			arg = value
		}
		file := strings.TrimPrefix(arg, "file://")
		if !filepath.IsAbs(file) {
			file = filepath.Join(dir, file)
		}
		info, err := os.Stat(file)
		if err == nil && !info.IsDir() && !slices.Contains(dataEndings, strings.ToLower(filepath.Ext(file))) {
			files = append(files, file)
		}
	}
	return files
}

// permission returns the request for the user. Its key applies to the same command line
// and the same content of the files.
func (a attempt) permission(p *start, roots []string) Permission {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q %q %v\n", p.cmd.Args, p.cmd.Dir, withoutSecrets(a.values.Env), p.confine)
	var names []string
	for _, file := range sortedNames(p.files) {
		fmt.Fprintf(sum, "%q %d\n", file, len(p.files[file]))
		sum.Write(p.files[file])
		names = append(names, relative(file, roots))
	}
	reason := "starts an MCP server in the workspace, whose files it may load"
	if len(names) > 0 {
		reason = "starts an MCP server that runs " + list(names) + " of the workspace"
	}
	if !p.confine {
		reason += ", outside of the sandbox"
	}
	return Permission{
		Server: a.Name, Title: strings.Join(p.cmd.Args, " "), Reason: reason, Sandboxed: p.confine,
		Key: "mcp-server " + a.label + "@" + hex.EncodeToString(sum.Sum(nil)[:16]),
	}
}

func sortedNames(files map[string][]byte) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func relative(file string, roots []string) string {
	for _, root := range roots {
		if rel, err := filepath.Rel(root, file); err == nil && filepath.IsLocal(rel) {
			return rel
		}
	}
	return file
}

// approved reports whether the user has approved these files with this content. It stores
// p as the pending permission.
func (a attempt) approved(p Permission) bool {
	a.change(func(st *state) { st.pending = p })
	return p.Key == "" || p.Key == a.state.granted
}

// ask requests the approval required by the last attempt. If the user approves, the server is
// connected again. If the user denies it, ask returns the error.
func (s *server) ask(ctx context.Context) error {
	st := s.now()
	if st.phase != needsApproval {
		return nil
	}
	p := st.pending
	if s.owner.cfg.Permit == nil {
		return fmt.Errorf("the MCP server %s is not connected: it %s, which needs approval, and there is no user to ask", s.Name, p.Reason)
	}
	if err := s.owner.cfg.Permit(ctx, p); err != nil {
		return fmt.Errorf("the MCP server %s is not connected: %w", s.Name, err)
	}
	s.do(ctx, func() {
		s.change(func(st *state) {
			st.granted = p.Key
			if st.phase == needsApproval {
				st.leave(connecting, st.err)
			}
		})
	})
	return nil
}

// Approve asks the user about each server that was not started because it runs files of the
// workspace. It connects the approved servers and waits for them.
func (s *Servers) Approve(ctx context.Context) {
	for _, one := range s.all() {
		if !tried(ctx, one, mostWait) {
			continue // a call asks
		}
		if err := one.ask(ctx); err != nil {
			if ctx.Err() == nil {
				s.cfg.Notice(err.Error())
			}
			continue
		}
		one.await(ctx)
	}
}

// await returns when an approved server is connected or has failed, or after mostWait.
func (s *server) await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	s.until(ctx, nil, func(st state) bool { return st.phase != connecting })
}

// folders returns the current workspace folders.
func (s *Servers) folders() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roots
}
