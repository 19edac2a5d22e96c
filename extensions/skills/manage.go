package skills

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/diff"
	"github.com/hermes-ls/hermes-ls/internal/frontmatter"
	"github.com/hermes-ls/hermes-ls/internal/markup"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

//go:embed skill_manage.md
var manageText string

// action is an action of skill_manage.
type action string

// The actions.
const (
	doCreate     action = "create"
	doPatch      action = "patch"
	doEdit       action = "edit"
	doDelete     action = "delete"
	doWriteFile  action = "write_file"
	doRemoveFile action = "remove_file"
)

// Enum lists the actions.
func (action) Enum() (all []string) {
	for _, a := range []action{doCreate, doPatch, doEdit, doDelete, doWriteFile, doRemoveFile} {
		all = append(all, string(a))
	}
	return all
}

type manageIn struct {
	Action      action `json:"action"`
	Name        string `json:"name"`
	Content     string `json:"content,omitempty"`
	Category    string `json:"category,omitempty"`
	OldString   string `json:"old_string,omitempty"`
	NewString   string `json:"new_string,omitempty"`
	ReplaceAll  bool   `json:"replace_all,omitempty"`
	FilePath    string `json:"file_path,omitempty"`
	FileContent string `json:"file_content,omitempty"`
}

type managed struct {
	Success  bool      `json:"success"`
	Path     string    `json:"path"`
	Diff     string    `json:"diff,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
}

func (x *Instance) manageTool() tools.Tool {
	return tools.New(tools.Tool{
		Name: "skill_manage", Toolset: Toolset, Order: toolOrder, Kind: tools.KindEdit,
		Description: strings.TrimSpace(manageText), Tracked: true,
		Title: tools.Titled(func(in manageIn) string {
			return strings.ReplaceAll(string(in.Action), "_", " ") + " of the skill " + in.Name
		}),
	}, x.manage)
}

// edit is a change of a file below base. If remove is set, the file or the skill is removed.
type edit struct {
	base     string // the directory of all skills
	name     string // of the file, below base
	old, new []byte
	remove   bool
	whole    bool // the whole skill, name is its directory
}

func (x *Instance) manage(ctx context.Context, _ *tools.Env, call tools.Call, in manageIn) (tools.Result, error) {
	f := x.all(ctx, 0)
	e, err := x.plan(f, in)
	if err != nil {
		return tools.Fail("skill_manage: %v. Nothing was changed.", err), nil
	}
	var findings []Finding
	if !e.remove {
		findings = scanText(path.Base(filepath.ToSlash(e.name)), e.new)
		if bad, ok := Blocked(findings); ok {
			return tools.Fail("Rejected: %s. Write it without them.", bad), nil
		}
	}
	text := diff.Unified(filepath.ToSlash(e.name), e.old, e.new)
	if e.whole {
		text = "moves " + e.name + " to .archive/"
	}
	if err := x.approve(ctx, call, in, e, text, findings); err != nil {
		return tools.Result{}, err
	}
	if err := e.apply(); err != nil {
		return tools.Fail("skill_manage: %v", err), nil
	}
	x.trustChanged()
	if changed := x.session.CommandsChanged; changed != nil && (e.whole || strings.EqualFold(filepath.Base(e.name), "SKILL.md")) {
		changed()
	}
	return tools.OK(managed{true, filepath.Join(e.base, e.name), text, findings}).With(tools.Content{Text: text}), nil
}

// approve asks the user, with the whole change.
func (x *Instance) approve(ctx context.Context, call tools.Call, in manageIn, e edit, text string, findings []Finding) error {
	x.mu.Lock()
	needed := x.settings.WriteApproval
	x.mu.Unlock()
	if !needed {
		return nil
	}
	verb := cmp.Or(map[action]string{doCreate: "Create", doDelete: "Delete"}[in.Action], "Change")
	var edits []tools.FileEdit
	if e.whole {
		fence := markup.Fence(text)
		text = fence + "diff\n" + strings.TrimRight(text, "\n") + "\n" + fence + "\n"
	} else { // the request shows the file
		text = ""
		w := &workspace.Written{Path: filepath.Join(e.base, e.name), Name: filepath.ToSlash(e.name), Created: e.old == nil, Old: e.old, New: e.new}
		edits = gate.ShownWithout(x.session.Redact, []*workspace.Written{w})
	}
	for _, f := range findings {
		text += "\n- " + f.String()
	}
	return x.session.Ask.Approve(ctx, extension.Request{
		Kind: tools.KindEdit, Title: verb + " the skill " + in.Name, Text: text, Reason: "changes instructions that later sessions follow", EveryMode: true, Call: call, Edits: edits,
	})
}

// plan checks a call and returns its change.
func (x *Instance) plan(f Found, in manageIn) (edit, error) {
	x.mu.Lock()
	settings := x.settings.Settings
	x.mu.Unlock()
	if !validName.MatchString(in.Name) {
		return edit{}, fmt.Errorf("the name %q must have 1 to 64 lower-case letters, digits and hyphens", tools.OneLine(in.Name, 80))
	}
	if in.Action == doCreate {
		return create(f, settings.createDir(x.Home), in)
	}
	s, base, err := x.own(f, settings, in.Name)
	if err != nil {
		return edit{}, err
	}
	rel, err := filepath.Rel(base, s.Dir)
	if err != nil {
		return edit{}, err
	}
	if in.Action == doDelete {
		return edit{base: base, name: rel, remove: true, whole: true}, nil
	}
	own := filepath.Base(s.Path)
	file := own
	if in.Action == doWriteFile || in.Action == doRemoveFile || in.Action == doPatch && in.FilePath != "" && in.FilePath != "SKILL.md" && in.FilePath != own {
		if file, err = filePath(in.FilePath); err != nil {
			return edit{}, err
		}
	}
	e := edit{base: base, name: filepath.Join(rel, file)}
	dir, err := safefile.OpenFolder(base)
	if err != nil {
		return edit{}, err
	}
	defer dir.Close() // only read
	if e.old, err = dir.Read(e.name, maxFile); err != nil && (in.Action != doWriteFile || !errors.Is(err, fs.ErrNotExist)) {
		return edit{}, err
	}
	switch in.Action {
	case doEdit:
		e.new = []byte(in.Content)
	case doWriteFile:
		e.new = []byte(in.FileContent)
	case doRemoveFile:
		e.remove = true
		return e, nil
	case doPatch:
		if e.new, err = replaced(e.old, in); err != nil {
			return edit{}, err
		}
	}
	if file == own {
		return e, checkSkill(e.new, in.Name)
	}
	if len(e.new) > maxFile {
		return edit{}, fmt.Errorf("the file has %d bytes, at most %d are allowed", len(e.new), maxFile)
	}
	return e, nil
}

func create(f Found, base string, in manageIn) (edit, error) {
	if !ValidNew(in.Name) {
		return edit{}, fmt.Errorf("the name %q must have single hyphens between letters and digits, and none at its ends", tools.OneLine(in.Name, 80))
	}
	if s, ok := find(f.Skills, in.Name); ok && s.Place != Bundled {
		return edit{}, fmt.Errorf("there is a skill %q already (%s). Use patch or edit", in.Name, s.Path)
	}
	if in.Category != "" && !ValidNew(in.Category) {
		return edit{}, fmt.Errorf("the category %q must have 1 to 64 lower-case letters, digits and single hyphens between them", tools.OneLine(in.Category, 80))
	}
	dir := filepath.Join(in.Category, in.Name)
	if slices.Contains(notSearched, in.Name) || slices.Contains(notSearched, in.Category) {
		return edit{}, fmt.Errorf("%q is not searched for skills. Choose another name", dir)
	}
	if _, err := os.Lstat(filepath.Join(base, dir)); err == nil {
		return edit{}, fmt.Errorf("the directory %s exists already", filepath.Join(base, dir))
	}
	return edit{base: base, name: filepath.Join(dir, "SKILL.md"), new: []byte(in.Content)}, checkSkill([]byte(in.Content), in.Name)
}

// own returns a changeable skill of the user, and its parent directory.
func (x *Instance) own(f Found, settings Settings, name string) (s *Skill, base string, err error) {
	s, ok := find(slices.Concat(f.Skills, f.LeftOut), name)
	if !ok {
		return s, "", errors.New(strings.TrimSuffix(noSkill(f.Skills, name), "."))
	}
	if s.Place == User && x.installed(s) {
		return s, "", fmt.Errorf("%s was installed. Only hermes-ls skills update changes it", name)
	}
	for _, base := range []string{settings.createDir(x.Home), filepath.Join(x.Home, "skills")} {
		if rel, err := filepath.Rel(base, s.Dir); err == nil && s.Dir != "" && filepath.IsLocal(rel) && rel != "." && (s.Place == User || s.Place == External) {
			return s, base, nil
		}
	}
	return s, "", fmt.Errorf("%s is %s and cannot be changed. Create one of another name", name, s.whose())
}

// whose names the owner of an unchangeable skill.
func (s *Skill) whose() string {
	switch s.Place {
	case Bundled:
		return "a skill of hermes-ls itself"
	case Workspace:
		return "a skill of the workspace (" + s.Path + ")"
	case Plugin:
		return "a skill of a plugin (" + s.Path + ")"
	}
	return "a skill outside of the skills directory (" + s.Path + ")"
}

// filePath checks the path of a file of a skill.
func filePath(name string) (string, error) {
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	dir, rest, _ := strings.Cut(clean, "/")
	if !slices.Contains(fileDirs, dir) || rest == "" || !filepath.IsLocal(filepath.FromSlash(clean)) || strings.Contains("/"+clean, "/.") {
		return "", fmt.Errorf("file_path must be below %s, not %q", strings.Join(fileDirs, ", "), tools.OneLine(name, 100))
	}
	return filepath.FromSlash(clean), nil
}

// replaced returns the text of a patch.
func replaced(old []byte, in manageIn) ([]byte, error) {
	text, windows := string(old), strings.Contains(string(old), "\r\n")
	if windows { // the model has read it with line feeds
		text = strings.ReplaceAll(text, "\r\n", "\n")
		in.OldString, in.NewString = strings.ReplaceAll(in.OldString, "\r\n", "\n"), strings.ReplaceAll(in.NewString, "\r\n", "\n")
	}
	switch n := strings.Count(text, in.OldString); {
	case in.OldString == "":
		return nil, errors.New("old_string is empty")
	case n == 0:
		return nil, errors.New("old_string is not in the file. Read the skill again and copy the text exactly")
	case n > 1 && !in.ReplaceAll:
		return nil, fmt.Errorf("old_string is %d times in the file. Give more text around it, or replace_all", n)
	}
	text = strings.ReplaceAll(text, in.OldString, in.NewString)
	if windows {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return []byte(text), nil
}

// beginning is how the SKILL.md of a skill begins.
func beginning(name string) string {
	return "---\nname: " + name + "\ndescription: …\n---\n"
}

// checkSkill returns why a SKILL.md must not be written.
func checkSkill(data []byte, name string) error {
	fields, body, err := frontmatter.Parse(data)
	switch {
	case err != nil:
		return err
	case len(bytes.TrimSpace(data)) == 0:
		return fmt.Errorf("content is missing: send the whole SKILL.md, which begins with %q", beginning(name))
	case fields.Text("name") != name:
		return fmt.Errorf("content must begin with %q: the frontmatter must have name: %s", beginning(name), name)
	case fields.Text("description") == "":
		return errors.New("the frontmatter has no description")
	case len([]rune(fields.Text("description"))) > maxDescription:
		return fmt.Errorf("the description has %d characters, at most %d are allowed", len([]rune(fields.Text("description"))), maxDescription)
	case len(data) > largestSkill:
		return fmt.Errorf("SKILL.md has %d bytes, at most %d are allowed", len(data), largestSkill)
	case strings.TrimSpace(body) == "":
		return errors.New("SKILL.md has no text after the frontmatter")
	}
	return nil
}

// apply writes the change. No link is followed.
func (e edit) apply() error {
	if err := os.MkdirAll(e.base, 0o700); err != nil {
		return err
	}
	dir, err := safefile.OpenFolder(e.base)
	if err != nil {
		return err
	}
	defer dir.Close() // only read
	switch {
	case e.whole:
		if err := dir.MkdirAll(".archive", 0o700); err != nil {
			return err
		}
		return dir.Rename(e.name, filepath.Join(".archive", filepath.Base(e.name)+"-"+time.Now().UTC().Format("20060102-150405")))
	case e.remove:
		return dir.Remove(e.name)
	}
	if now, err := dir.Read(e.name, maxFile); string(now) != string(e.old) && (err == nil || !errors.Is(err, fs.ErrNotExist)) {
		return cmp.Or(err, fmt.Errorf("%s has changed since the user saw the difference. Nothing was changed", e.name))
	}
	if err := dir.MkdirAll(filepath.Dir(e.name), 0o755); err != nil {
		return err
	}
	return dir.Write(e.name, e.new, 0o644)
}
