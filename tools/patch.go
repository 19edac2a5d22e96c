package tools

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/workspace"
)

//go:embed patch.md
var patchWords string

type patchIn struct {
	Path       string `json:"path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string" jsonschema:"empty to delete old_string"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	Mode       string `json:"mode,omitempty" offer:"no"`
	Patch      string `json:"patch,omitempty" offer:"no"`
}

type patchOut struct {
	Success       bool     `json:"success"`
	Diff          string   `json:"diff"`
	FilesModified []string `json:"files_modified"`
	Replacements  int      `json:"replacements"`
	Note          string   `json:"note,omitempty"`
}

func patchTool() Tool {
	return New(Tool{
		Name: "patch", Toolset: "file", Kind: KindEdit,
		Description: strings.TrimSpace(patchWords),
		Title:       titled(func(in patchIn) string { return "Edit " + in.Path }),
	}, patch)
}

func patch(ctx context.Context, env *Env, call Call, in patchIn) (Result, error) {
	if err := checkPatch(in); err != nil {
		return Result{}, err
	}
	if err := mayWrite(ctx, env, call, "Edit ", in.Path); err != nil {
		return Result{}, err
	}
	var done replaced
	written, err := env.Files.Edit(ctx, in.Path, func(old []byte) ([]byte, error) {
		var err error
		done, err = replace(string(old), in)
		if err != nil {
			return nil, err
		}
		if text := []byte(done.text); !bytes.Equal(text, old) {
			return text, nil
		}
		return nil, errUnchanged
	})
	if errors.Is(err, errUnchanged) {
		return OK(patchOut{Success: true, FilesModified: []string{}, Note: done.note}), nil
	}
	if err != nil {
		return Result{}, err
	}
	return OK(patchOut{
		Success:       true,
		Diff:          workspace.UnifiedDiff(written.Name, written.Old, written.New),
		FilesModified: []string{written.Name},
		Replacements:  done.count,
	}).With(shownEdit(written)...), nil
}

// checkPatch refuses what could not be meant, before a file is looked at.
func checkPatch(in patchIn) error {
	switch {
	case in.Patch != "", in.Mode != "" && in.Mode != "replace":
		return errors.New("patch takes no mode and no multi-file patch here: give path, old_string and new_string, one call for each place")
	case in.OldString == "":
		return errors.New("old_string is empty: copy into it the text to replace, with enough lines around it to occur once. A new file cannot be made this way")
	case strings.TrimSpace(in.OldString) == "":
		return errors.New("old_string is only white space, which is everywhere: include the text before or after it")
	case in.OldString == in.NewString:
		return errors.New("old_string and new_string are the same: nothing would change")
	}
	return nil
}

// replaced is a text with its replacements.
type replaced struct {
	text  string
	count int
	note  string
}

// alreadyLength is how long new_string must be for its presence to show that the
// edit was made before.
const alreadyLength = 8

// replace puts new_string where old_string stands in text.
func replace(text string, in patchIn) (replaced, error) {
	v := viewOf(text, in.OldString)
	spans := v.find(in.OldString, len(in.OldString))
	switch {
	case len(spans) == 0:
		if len(strings.TrimSpace(in.NewString)) >= alreadyLength && len(viewOf(text, in.NewString).find(in.NewString, len(in.NewString))) > 0 {
			return replaced{text: text, note: "already applied: old_string is not in the file and new_string is; nothing was changed"}, nil
		}
		return replaced{}, noMatch(text, in)
	case !in.ReplaceAll:
		// Places that overlap are one replacement, and still two to choose from.
		if places := v.find(in.OldString, 1); len(places) > 1 {
			return replaced{}, ambiguous(text, places)
		}
	}
	return replaced{text: splice(text, spans, in.NewString), count: len(spans)}, nil
}

// ambiguous says how many places match, and where the first are.
func ambiguous(text string, places []span) error {
	var lines []string
	for _, p := range places[:min(len(places), 5)] {
		lines = append(lines, fmt.Sprint(1+strings.Count(text[:p.start], "\n")))
	}
	more := ""
	if len(places) > len(lines) {
		more = ", …"
	}
	return fmt.Errorf("old_string occurs %d times (at lines %s%s); nothing was changed. Add lines around it until it occurs once, or set replace_all", len(places), strings.Join(lines, ", "), more)
}
