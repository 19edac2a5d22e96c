// Package instructions adds the texts of user and project to the system prompt. The persona is
// SOUL.md and the chosen personality. The project instructions (AGENTS.md and similar files) come
// from the workspace folders and the directories above them, up to the top of the git repository.
// The instructions of a directory below a workspace folder reach the model before its first edit
// there: with the first result of a file tool in this directory, or with the rejection of an
// earlier edit. For edits of a script, they come with its result.
package instructions

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/prompt"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// soulName is the user's file about how the agent behaves, in the home directory.
const soulName = "SOUL.md"

// Loads returns the names of project instructions, which apply in each folder of a workspace.
func Loads() []string { return prompt.InstructionNames() }

// Config is the configuration section.
type Config struct {
	Personality string // the name of the personality; empty: none is chosen
	Text        string // its text
	Elsewhere   bool   // the session works on the files of another machine
}

// New returns the extension. Home is $HERMES_HOME.
func New(home string) extension.Extension { return instructions{home} }

type instructions struct{ home string }

func (instructions) Name() string { return "instructions" }

func (e instructions) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return newInstance(e.home, s), nil
}

func newInstance(home string, s *extension.Session) *instance {
	return &instance{home: home, session: s, told: map[string]bool{}, delivered: map[string]int{}, left: prompt.InstructionsLimit}
}

type instance struct {
	home    string
	session *extension.Session

	mu        sync.Mutex
	tellMu    sync.Mutex
	told      map[string]bool
	delivered map[string]int       // by directory: the last request before its instructions were added
	dir       string               // in which the last command ended
	reached   []string             // paths used by a script
	waiting   []prompt.Instruction // of directories in which edits of a script were rejected
	left      int                  // remaining bytes for instructions
	request   int                  // the number of the last request
}

func (x *instance) Close(context.Context) error { return nil }

// Derive gives subagents the project instructions. For the calls of a script, the functions of
// the session are called.
func (x *instance) Derive(_ context.Context, kind extension.Kind, s *extension.Session) (extension.Instance, error) {
	if kind == extension.Script {
		return nil, nil
	}
	return newInstance(x.home, s), nil
}

// historyChanged resets which instructions of directories were added.
func (x *instance) historyChanged(extension.Change) {
	x.mu.Lock()
	defer x.mu.Unlock()
	clear(x.delivered)
	x.waiting = nil
	x.left = x.limit()
}

// Notices returns nothing. It counts the requests: a call after a request was made with knowledge
// of the results before it.
func (x *instance) Notices(context.Context, extension.When) []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.request++
	return nil
}

// limit returns the limit of the project instructions in bytes. In a small context window, it is a
// tenth of the window.
func (x *instance) limit() int {
	if x.session.Situation == nil {
		return prompt.InstructionsLimit
	}
	if now := x.session.Situation(); now.Small {
		return min(prompt.InstructionsLimit, now.Window/10*bytesOfToken)
	}
	return prompt.InstructionsLimit
}

// bytesOfToken is the number of bytes of a token, rather too low.
const bytesOfToken = 3

// Sections returns the persona, and the instructions of the workspace folders.
func (x *instance) Sections(ctx context.Context) []prompt.Section {
	var persona []prompt.Section
	if x.session.Kind == extension.Main {
		persona = prompt.PersonaSection(x.persona()...)
	}
	own := x.own()
	left := x.limit() - sizeOf(own)
	all := x.read(ctx, left)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.left = left - sizeOf(all)
	return append(persona, prompt.InstructionsSection(own, all)...)
}

func sizeOf(all []prompt.Instruction) (n int) {
	for _, one := range all {
		n += len(one.Text)
	}
	return n
}

// own returns the user's instructions for all projects: AGENTS.md in the home directory.
func (x *instance) own() []prompt.Instruction {
	if x.home == "" {
		return nil
	}
	return prompt.ReadInstructions([]string{x.home}, x.limit(), prompt.InstructionReader{Read: func(_, path string) ([]byte, error) {
		if name := filepath.Base(path); filepath.Dir(path) != filepath.Clean(x.home) || !strings.HasPrefix(name, "AGENTS.") {
			return nil, fs.ErrNotExist
		}
		data, err := textfile.Read(path, aboveLimit)
		x.unread(path, err)
		return data, err
	}})
}

// reader reads instructions. above maps directories above the workspace folders to the functions
// that read them.
func (x *instance) reader(ctx context.Context, above map[string]func(string) ([]byte, error)) prompt.InstructionReader {
	read := func(dir, path string, imported bool) ([]byte, error) {
		if read := above[dir]; read != nil {
			return read(path)
		}
		return readBelow(ctx, x.session.Files, path, imported)
	}
	return prompt.InstructionReader{
		Read: func(dir, path string) ([]byte, error) {
			data, err := read(dir, path, false)
			if err == nil {
				data, err = textfile.Decode(data)
			}
			x.unread(path, err)
			x.unseen(path, data)
			return data, err
		},
		Import: func(dir, path string) ([]byte, error) {
			data, err := read(dir, path, true)
			if err != nil {
				return nil, err
			}
			data, err = textfile.Decode(data)
			x.unseen(path, data)
			return data, err
		},
		Missing: func(from string, line int, name string, err error) {
			x.tell(fmt.Sprintf("%s:%d: the import @%s is not read: %s", x.session.Files.Name(from), line, name, whyUnread(err)))
		},
	}
}

// whyUnread returns the reason for the user. The errors of the workspace have advice for the model.
func whyUnread(err error) string {
	switch {
	case errors.Is(err, workspace.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.Is(err, workspace.ErrOutside):
		return "it is outside the workspace"
	case errors.Is(err, workspace.ErrTooLarge):
		return "it is too large"
	}
	return err.Error()
}

// unread notifies the user of an instruction file that cannot be read as text.
func (x *instance) unread(path string, err error) {
	var encoding *textfile.EncodingError
	if errors.As(err, &encoding) || errors.Is(err, safefile.ErrTooLarge) {
		place := x.session.Files.Name(path)
		if encoding != nil && encoding.Line > 0 {
			place += fmt.Sprintf(":%d", encoding.Line)
		}
		x.tell(fmt.Sprintf("%s: the instructions are not read: %v", place, err))
	}
}

// unseen notifies the user of omitted invisible characters in instructions.
func (x *instance) unseen(path string, data []byte) {
	if escape.HasUnseen(strings.TrimPrefix(string(data), "\ufeff")) {
		x.tell(fmt.Sprintf("%s has characters that a reader cannot see. They are left out: the model follows the text that you see.", escape.Line(x.session.Files.Name(path))))
	}
}

// tell notifies the user of something, once.
func (x *instance) tell(text string) {
	x.tellMu.Lock()
	told := x.told[text]
	x.told[text] = true
	x.tellMu.Unlock()
	if !told {
		x.session.Notify(text)
	}
}

// remoteLimit limits the time in which the instructions on another machine are read.
const remoteLimit = 20 * time.Second

// read reads the instructions of the workspace folders, and of the directories above them up to
// the top of the git repository.
func (x *instance) read(ctx context.Context, limit int) []prompt.Instruction {
	files := x.session.Files
	elsewhere := tools.Local(files) == nil
	var c Config
	if x.session.Config(&c) == nil && c.Elsewhere && !elsewhere {
		return nil // this machine's instructions are for other files
	}
	if elsewhere {
		var stop func()
		ctx, stop = context.WithTimeout(ctx, remoteLimit)
		defer stop()
		if _, err := files.Stat(ctx, "."); err != nil {
			x.session.Notify(fmt.Sprintf("Project instructions were not read: %v", err))
			return nil
		}
	}
	var dirs []string
	above := map[string]func(string) ([]byte, error){}
	for _, folder := range files.Folders() {
		top, read, err := repository(ctx, files, folder)
		if err != nil {
			top = folder
		}
		for _, dir := range append(between(top, real(files, folder)), folder) {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
			if !slices.Contains(files.Folders(), dir) {
				above[dir] = read
			}
		}
	}
	all := prompt.ReadInstructions(dirs, max(limit, 0), x.reader(ctx, above))
	for i, one := range all {
		all[i].Outside = above[one.Dir] != nil
	}
	return all
}

// persona returns the user's file, and the text of the chosen personality.
func (x *instance) persona() []string {
	soul, err := readSoul(x.home)
	if err != nil {
		x.session.Notify(err.Error())
	}
	var c Config
	if err := x.session.Config(&c); err != nil {
		x.session.Notify(err.Error())
	}
	if c.Personality != "" && c.Text == "" {
		x.session.Notify(fmt.Sprintf("agent.personality is %q, but agent.personalities has no text for it: the default applies.", c.Personality))
	}
	return []string{soul, c.Text}
}

// readSoul returns the text of SOUL.md. If there is none, or Hermes Agent wrote it, it returns an empty text.
func readSoul(home string) (string, error) {
	path := filepath.Join(home, soulName)
	data, err := textfile.Read(path, aboveLimit)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s could not be read: %w", path, err)
	}
	if untouched(string(data)) {
		return "", nil
	}
	return string(bytes.ToValidUTF8(data, []byte("\uFFFD"))), nil
}

// Hooks adds the instructions of a directory to the first result from below it. If an edit comes
// first, the edit is rejected with them. To read all of them in advance, the whole tree would have
// to be walked.
func (x *instance) Hooks() extension.Hooks {
	return extension.Hooks{
		Events:         []extension.Handlers{{PreToolCall: x.beforeEdit, FailOpen: true, TransformToolResult: x.addInstructions}},
		HistoryChanged: x.historyChanged,
	}
}

const (
	editFirst = "Nothing was changed. Project instructions apply to these files: follow them, then make the call again, changed if they require it.\n%s"
	editAgain = "Nothing was changed. The project instructions in an earlier result of this response apply to these files: follow them, then make the call again, changed if they require it."
	aboutRead = "Follow them for files below their directories (rank 2 of Authority)."
	editLater = "Nothing was changed. Project instructions apply to %s. They come with the result of this script: follow them, then make this edit again."
	aboutEdit = "Edits of the script below these directories were rejected, and nothing was changed there, because you did not have these instructions. Follow them (rank 2 of Authority), then make the edits again."
	aboutDone = "They apply to files that the script used. Follow them (rank 2 of Authority), and correct the changes of the script if they require it."
)

func (x *instance) beforeEdit(ctx context.Context, c extension.ToolCall) (extension.Decision, error) {
	if c.Kind != extension.Script && c.Tool.Kind != tools.KindEdit {
		return extension.Decision{}, nil
	}
	paths := x.pathsOf(ctx, c)
	switch {
	case len(paths) == 0:
		return extension.Decision{}, nil
	case c.Kind == extension.Script:
		return x.inScript(ctx, c, paths), nil
	}
	found, early := x.below(ctx, paths)
	x.mu.Lock()
	found, x.waiting = append(x.waiting, found...), nil
	x.mu.Unlock()
	if len(found) > 0 {
		return extension.Decision{Deny: fmt.Sprintf(editFirst, prompt.InstructionsText(found, x.session.Files.Name))}, nil
	}
	if early {
		return extension.Decision{Deny: editAgain}, nil
	}
	return extension.Decision{}, nil
}

// inScript rejects an edit of a script below directories with instructions new to the model. These
// come with the result of the script, like the instructions for its other calls.
func (x *instance) inScript(ctx context.Context, c extension.ToolCall, paths []string) extension.Decision {
	if c.Tool.Kind != tools.KindEdit {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.reached = append(x.reached, paths...)
		return extension.Decision{}
	}
	found, early := x.below(ctx, paths)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting = append(x.waiting, found...)
	if len(found) == 0 && !early {
		return extension.Decision{}
	}
	return extension.Decision{Deny: fmt.Sprintf(editLater, tools.OneLine(strings.Join(paths, ", "), 200))}
}

// addInstructions adds the instructions of directories reached by a call or by the calls of a
// script.
func (x *instance) addInstructions(ctx context.Context, c extension.ToolCall, r tools.Result) (tools.Result, error) {
	if c.Kind == extension.Script {
		return r, nil
	}
	about := aboutRead
	var paths []string
	if !r.IsError {
		paths = append(x.pathsOf(ctx, c), x.commandIn(c, r)...)
	}
	x.mu.Lock()
	var found []prompt.Instruction
	if !c.Tool.ReadOnly {
		if len(x.waiting) > 0 {
			about = aboutEdit
		} else if len(x.reached) > 0 {
			about = aboutDone
		}
		found, x.waiting = x.waiting, nil
		paths, x.reached = append(paths, x.reached...), nil
	}
	x.mu.Unlock()
	more, _ := x.below(ctx, paths)
	if found = append(found, more...); len(found) == 0 {
		return r, nil
	}
	return r.WithField("project_instructions", map[string]string{"about": about, "text": x.textOf(c, r, found)}), nil
}

// commandIn returns the directory at the end of a command. The next command begins there.
func (x *instance) commandIn(c extension.ToolCall, r tools.Result) []string {
	var out struct{ Cwd string }
	if !c.Tool.RunsCommands || json.Unmarshal(r.JSON, &out) != nil || out.Cwd == "" {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dir = out.Cwd
	return []string{out.Cwd}
}

// textOf returns instructions for the model. If the result already contains a file's text, only its
// name is included.
func (x *instance) textOf(c extension.ToolCall, r tools.Result, found []prompt.Instruction) string {
	var in struct {
		Path          string
		Offset, Limit int
	}
	var out struct{ Output string }
	_ = json.Unmarshal(c.Args, &in) // another form has neither
	_ = json.Unmarshal(r.JSON, &out)
	read := ""
	if c.Tool.Toolset == "file" && c.Tool.ReadOnly && in.Offset <= 1 && in.Limit == 0 {
		read, _ = x.session.Files.Abs(in.Path) // an error: it is not among these
	}
	names, others := "", slices.Clone(found)
	others = slices.DeleteFunc(others, func(i prompt.Instruction) bool {
		path, err := x.session.Files.Abs(i.Path)
		there := err == nil && path == read || len(i.Text) > 20 && strings.Contains(strings.ReplaceAll(out.Output, "\r\n", "\n"), i.Text)
		if there {
			names += fmt.Sprintf("\n%s: its text is in this result.\n", x.session.Files.Name(i.Path))
		}
		return there
	})
	return names + prompt.InstructionsText(others, x.session.Files.Name)
}

// inPatch finds the files of a patch.
var inPatch = lazyregexp.New(`(?m)^\s*\*\*\* (?:Add File|Update File|Delete File|Move to):\s*(.+?)\s*$`)

// pathsOf returns the paths named in a call of a file tool or a command.
func (x *instance) pathsOf(ctx context.Context, c extension.ToolCall) (paths []string) {
	var in struct{ Path, Patch, Workdir, Command string }
	if c.Tool.Toolset != "file" && !c.Tool.RunsCommands || json.Unmarshal(c.Args, &in) != nil {
		return nil
	}
	for _, path := range []string{in.Path, in.Workdir} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	for _, found := range inPatch.FindAllStringSubmatch(in.Patch, -1) {
		paths = append(paths, found[1])
	}
	if c.Tool.RunsCommands && in.Command != "" {
		paths = append(paths, x.inCommand(ctx, in.Command, in.Workdir)...)
	}
	return paths
}

// mostRemote limits the paths of a command looked up on another machine.
const mostRemote = 10

// inCommand returns the existing paths in a command, and the paths it can create in an existing
// directory.
func (x *instance) inCommand(ctx context.Context, command, dir string) (paths []string) {
	files := x.session.Files
	x.mu.Lock()
	base := x.dir
	x.mu.Unlock()
	if dir != "" {
		base = dir
	}
	base, err := files.Abs(cmp.Or(base, "."))
	if err != nil {
		return nil
	}
	all := pathsIn(command, base)
	if tools.Local(files) == nil {
		all = all[:min(len(all), mostRemote)]
	}
	for _, path := range all {
		if !slices.ContainsFunc(files.Folders(), func(folder string) bool { return strings.HasPrefix(path, folder+string(filepath.Separator)) }) {
			continue
		}
		if _, err := files.Stat(ctx, path); err != nil {
			path = filepath.Dir(path)
			if info, err := files.Stat(ctx, path); err != nil || !info.IsDir() {
				continue
			}
		}
		paths = append(paths, path)
	}
	return paths
}

// below returns the instructions for paths that are new to the model. early reports whether some
// were added after its last request.
func (x *instance) below(ctx context.Context, paths []string) (found []prompt.Instruction, early bool) {
	files := x.session.Files
	var dirs []string
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, path := range paths {
		for _, dir := range foldersTo(ctx, files, path) {
			request, told := x.delivered[dir]
			if told {
				early = early || request == x.request
				continue
			}
			dirs = append(dirs, dir)
			x.delivered[dir] = noInstructions
		}
	}
	found = prompt.ReadInstructions(dirs, max(x.left, 0), x.reader(ctx, nil))
	for _, one := range found {
		x.left -= len(one.Text)
		x.delivered[one.Dir] = x.request
	}
	return found, early
}

// noInstructions is the request of directories without instructions.
const noInstructions = -1

// foldersTo returns the directories between a workspace folder and path, outermost first. The
// workspace folder's instructions are in the system prompt.
func foldersTo(ctx context.Context, files tools.Files, path string) (folders []string) {
	abs, err := files.Abs(path)
	if err != nil {
		return nil
	}
	if info, err := files.Stat(ctx, abs); err != nil || !info.IsDir() {
		abs = filepath.Dir(abs)
	}
	for !slices.Contains(files.Folders(), abs) && abs != filepath.Dir(abs) {
		folders = append(folders, abs)
		abs = filepath.Dir(abs)
	}
	if abs == filepath.Dir(abs) {
		return nil // not in a workspace folder
	}
	slices.Reverse(folders)
	return folders
}

// hermesSouls lists the hashes of Hermes Agent's default texts of SOUL.md.
var hermesSouls = []string{
	"2765a846e1bb371d78d3b93b403dfb0f8d1ba1a9895edb5f608367abfe81194d", // 0.13 to 0.19
	"f7f66960df0a4d87d8b3a957453ff1e6173e93481f2ebdb49fd87edeaa75e251", // later
	"82fa3438d86f8b95c6e96be89d853c8b561b3e6973ed61c90e70e0231dd24a7e", // a comment with examples
	"6bc146a50e8fe3bd555e89a77e93af1f781cece8cf549f0d7a02ee2389811c72", // a comment without examples
}

// untouched reports whether a SOUL.md is Hermes Agent's default text and not the user's.
func untouched(soul string) bool {
	soul = strings.ReplaceAll(strings.TrimPrefix(soul, "\ufeff"), "\r\n", "\n")
	sum := sha256.Sum256([]byte(strings.TrimSpace(soul)))
	return slices.Contains(hermesSouls, hex.EncodeToString(sum[:]))
}
