// Package references expands references in the user's prompts: @file:, @folder:, @diff, @staged,
// @git:, @url:, @problems and @symbol:. The model gets the referenced text after the prompt.
//
// A path after an @ alone, as in @src/main.go, is the same as @file:. Unless it exists in the
// workspace or has the form of a path, it stays text.
//
// An unexpandable reference is reported to the user and to the model, with the reason. Files with
// secrets are not expanded.
package references

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/gitread"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/tokens"
	"github.com/hermes-ls/hermes-ls/internal/workspace"
	"github.com/hermes-ls/hermes-ls/tools"
)

// New returns the extension.
func New() extension.Extension { return references{} }

type references struct{}

func (references) Name() string { return "references" }

func (references) Open(_ context.Context, s *extension.Session) (extension.Instance, error) {
	return &instance{session: s, web: s.Page, repo: gitread.Reader{Confine: func(ctx context.Context, c *proc.Cmd, reads ...string) error {
		return s.Bounds.Sandbox.ConfineOwn(ctx, c, sandbox.Own{Reads: reads})
	}}}, nil
}

type instance struct {
	session *extension.Session
	// web reads the page at an address, by the rules of the web tools.
	web  func(ctx context.Context, address string) (title, text string, err error)
	repo gitread.Reader
}

// Close removes temporary files.
func (x *instance) Close(context.Context) error {
	x.repo.Close()
	return nil
}

const (
	limit     = 90 * time.Second // for all references of a prompt
	most      = 20               // references of a prompt
	usual     = 128_000          // tokens of an unknown context window
	mostBytes = 4 << 20          // of a single text
)

// Hooks expands the references of prompts.
func (x *instance) Hooks() extension.Hooks {
	return extension.Hooks{Events: []extension.Handlers{{Limit: limit, PreLLMCall: x.expand}}}
}

func (x *instance) expand(ctx context.Context, p extension.Prompt) (d extension.PromptDecision, err error) {
	if p.Note {
		return d, nil
	}
	all := Parse(p.Referring())
	window := x.session.Situation().Window
	if window <= 0 {
		window = usual
	}
	used := 0
	given := x.paths(p.Given)
	for i, r := range all {
		if abs, err := x.session.Files.Abs(r.Value); r.Link != "" && err == nil && slices.Contains(given, abs) {
			continue
		}
		a, err := extension.Attachment{}, error(nil)
		if i < most {
			a, err = x.read(ctx, r)
		} else {
			err = fmt.Errorf("a prompt can have %d references", most)
		}
		if err != nil && r.Mention && r.Link == "" && !x.fileLike(ctx, r.Value) {
			continue // a name of a user, a package or the like
		}
		if n := tokens.Estimate(a.Text); err == nil && used+n > window/2 {
			err = fmt.Errorf("it has about %d tokens, and all references of a prompt may have %d, half of the context window; name a part of it", n, window/2)
		} else if err == nil {
			used += n
		}
		if err != nil {
			a = extension.Attachment{Name: r.Shown(), Text: "Not attached: " + sentence(err.Error())}
			x.session.Notify(fmt.Sprintf("%s is not attached: %s", r.Shown(), sentence(workspace.Reason(err))))
		}
		if x.session.Redact != nil {
			a.Text = x.session.Redact(a.Text)
		}
		d.Attached = append(d.Attached, a)
	}
	if used > window/4 {
		x.session.Notify(fmt.Sprintf("The references of this prompt have about %d tokens, more than a quarter of the context window.", used))
	}
	return d, nil
}

// paths returns the absolute paths of the files at some addresses.
func (x *instance) paths(addresses []string) (all []string) {
	for _, address := range addresses {
		if abs, err := x.session.Files.Abs(address); err == nil {
			all = append(all, abs)
		}
	}
	return all
}

// sentence ends a text with a period, if it has no end.
func sentence(text string) string {
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// fileLike reports whether a name can only mean a file: by its form, or because its first directory or the file is there.
func (x *instance) fileLike(ctx context.Context, name string) bool {
	if likeFile.MatchString(name) {
		return true
	}
	first, _, _ := strings.Cut(name, "/")
	_, err := x.session.Files.Stat(ctx, first)
	return err == nil
}

// read returns the text of a reference.
func (x *instance) read(ctx context.Context, r Reference) (extension.Attachment, error) {
	switch r.Kind {
	case kindFile:
		return x.file(ctx, r)
	case kindFolder:
		return x.folder(ctx, r)
	case kindDiff, kindStaged, kindGit:
		return x.git(ctx, r)
	case kindURL:
		return x.page(ctx, r)
	case kindProblems:
		return x.problems(ctx)
	}
	return x.symbol(ctx, r)
}

func (x *instance) page(ctx context.Context, r Reference) (a extension.Attachment, err error) {
	if x.web == nil {
		return a, fmt.Errorf("web pages are not available in this session")
	}
	address := r.Value
	if !strings.Contains(address, "://") {
		address = "https://" + address
	}
	title, text, err := x.web(ctx, address)
	if err != nil {
		return a, err
	}
	return extension.Attachment{Name: address, Text: strings.TrimSpace(title + "\n\n" + text)}, nil
}

func (x *instance) git(ctx context.Context, r Reference) (a extension.Attachment, err error) {
	if tools.Local(x.session.Files) == nil {
		return a, fmt.Errorf("the files are on another machine; ask for the git command instead")
	}
	folders := x.session.Folders()
	text := ""
	switch r.Kind {
	case kindGit:
		n := 0
		if _, err := fmt.Sscanf(r.Value, "%d", &n); err != nil || n < 1 || n > 10 {
			return a, fmt.Errorf("@git: takes the number of the last commits, 1 to 10")
		}
		a.Name = fmt.Sprintf("the last %d commits (git log -p)", n)
		text, err = x.repo.Log(ctx, folders, n)
	case kindStaged:
		a.Name = "staged changes (git diff --cached)"
		text, err = x.repo.Diff(ctx, folders, true)
	default:
		a.Name = "changes that are not staged (git diff)"
		text, err = x.repo.Diff(ctx, folders, false)
	}
	if err != nil {
		return a, err
	}
	a.Text = withoutSecrets(text)
	if strings.TrimSpace(text) == "" {
		a.Text = "There are none."
	}
	return a, nil
}

// mostProblems limits the listed problems.
const mostProblems = 300

func (x *instance) problems(ctx context.Context) (a extension.Attachment, err error) {
	if x.session.Problems == nil {
		return a, fmt.Errorf("the editor does not tell its problems")
	}
	list, err := x.session.Problems(ctx)
	if err != nil {
		return a, err
	}
	var b strings.Builder
	for i, p := range list {
		if i == mostProblems {
			fmt.Fprintf(&b, "and %d more\n", len(list)-i)
			break
		}
		source := ""
		if by := strings.TrimSpace(p.Source + " " + p.Code); by != "" {
			source = " (" + by + ")"
		}
		fmt.Fprintf(&b, "%s:%d:%d: %s: %s%s\n", x.session.Editor.Name(p.Path), p.Line, p.Column, p.Severity, tools.OneLine(p.Message, 500), source)
	}
	if len(list) == 0 {
		b.WriteString("The editor shows no problems.")
	}
	return extension.Attachment{Name: "problems that the editor shows", Text: b.String()}, nil
}
