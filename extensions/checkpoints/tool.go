package checkpoints

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

//go:embed tool.md
var checkpointWords string

type checkpointAction string

func (checkpointAction) Enum() []string { return []string{"create", "list", "diff", "restore"} }

type checkpointIn struct {
	Action checkpointAction `json:"action" jsonschema:"create: save now; list; diff: changes since; restore: write files back"`
	Name   string           `json:"name,omitempty" jsonschema:"create: a short name"`
	ID     string           `json:"id,omitempty" jsonschema:"diff, restore: from list"`
	Files  []string         `json:"files,omitempty" jsonschema:"diff, restore: paths; default all"`
}

type checkpointInfo struct {
	ID        string   `json:"id"`
	CreatedAt string   `json:"created_at"`
	Title     string   `json:"title"`
	Files     []string `json:"files,omitempty"`
	More      int      `json:"more_files,omitempty"`
}

type checkpointKept struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

const (
	listedCheckpoints = 30
	listedFiles       = 20
)

// Preload makes the input schema of the tool, which stays in memory.
func Preload() { tools.Preload[checkpointIn]() }

// CheckpointTool returns the tool for checkpoints. Its paths are relative to at. hide replaces
// secrets in texts for the user.
func CheckpointTool(k *checkpoint.Keeper, at tools.Files, hide func(string) string) tools.Tool {
	return tools.New(tools.Tool{
		Name: "checkpoint", Toolset: Toolset, Tracked: true, Plans: true, Kind: tools.KindOther,
		Description: strings.TrimSpace(checkpointWords),
		Title:       tools.Titled(checkpointTitle),
		Order:       -5,
		AsksLater: func(c tools.Call) bool {
			var in checkpointIn
			return json.Unmarshal(c.Args, &in) == nil && in.Action == "restore"
		},
	}, func(ctx context.Context, env *tools.Env, call tools.Call, in checkpointIn) (tools.Result, error) {
		return act(ctx, env, call, k, at, hide, in)
	})
}

func checkpointTitle(in checkpointIn) string {
	switch in.Action {
	case "create":
		return "Keep a checkpoint: " + tools.OneLine(in.Name, 60)
	case "list":
		return "List checkpoints"
	case "diff":
		return "Compare with a checkpoint"
	}
	return "Go back to a checkpoint"
}

func act(ctx context.Context, env *tools.Env, call tools.Call, k *checkpoint.Keeper, at tools.Files, hide func(string) string, in checkpointIn) (tools.Result, error) {
	if in.ID == "" && (in.Action == "diff" || in.Action == "restore") {
		return tools.Fail("id is missing. Nothing was changed. Send the id of a checkpoint; action=list names them"), nil
	}
	files, err := checkpointFiles(at, in.Files)
	if err != nil {
		return tools.Result{}, err
	}
	switch in.Action {
	case "create":
		return createCheckpoint(ctx, k, in.Name)
	case "list":
		return listCheckpoints(ctx, k, at)
	case "diff":
		text, err := k.Diff(ctx, in.ID, files)
		if err != nil {
			return tools.Fail("%s", checkpointTrouble(err)), nil
		}
		return tools.OK(map[string]any{"diff": text}), nil
	}
	return restoreCheckpoint(ctx, env, call, k, at, hide, in.ID, files)
}

func checkpointFiles(at tools.Files, names []string) (paths []string, err error) {
	for _, name := range names {
		path, err := at.Abs(name)
		if err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

func createCheckpoint(ctx context.Context, k *checkpoint.Keeper, name string) (tools.Result, error) {
	if name = tools.OneLine(strings.TrimSpace(name), 200); name == "" {
		return tools.Fail("name is missing. Nothing was saved. Send a name that says what state this is, such as “before the rewrite”"), nil
	}
	made, err := k.Name(ctx, name)
	if err != nil {
		return tools.Result{}, fmt.Errorf("the checkpoint was not made: %w", err)
	}
	return tools.OK(checkpointInfo{ID: made.ID, CreatedAt: made.Created.UTC().Format(time.RFC3339), Title: made.Title}), nil
}

func listCheckpoints(ctx context.Context, k *checkpoint.Keeper, at tools.Files) (tools.Result, error) {
	all, err := k.List(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	list := []checkpointInfo{}
	for _, c := range all[:min(len(all), listedCheckpoints)] {
		info := checkpointInfo{ID: c.ID, CreatedAt: c.Created.UTC().Format(time.RFC3339), Title: c.Title}
		for _, f := range c.Files[:min(len(c.Files), listedFiles)] {
			info.Files = append(info.Files, at.Name(f))
		}
		info.More = len(c.Files) - len(info.Files)
		list = append(list, info)
	}
	return tools.OK(map[string]any{"checkpoints": list, "total_count": len(all)}), nil
}

// restoreCheckpoint always asks, because only the user can judge the loss.
func restoreCheckpoint(ctx context.Context, env *tools.Env, call tools.Call, k *checkpoint.Keeper, at tools.Files, hide func(string) string, id string, files []string) (tools.Result, error) {
	all, err := k.List(ctx)
	if err != nil {
		return tools.Result{}, err
	}
	i := slices.IndexFunc(all, func(c checkpoint.Info) bool { return c.ID == id })
	if i < 0 {
		return tools.Fail("%s", checkpointTrouble(fmt.Errorf("%q: %w", id, checkpoint.ErrUnknown))), nil
	}
	what := "all files"
	if len(files) > 0 {
		var names []string
		for _, f := range files {
			names = append(names, at.Name(f))
		}
		what = strings.Join(names, ", ")
	}
	title := fmt.Sprintf("Restore %s from the checkpoint “%s”", what, all[i].Title)
	verdict := policy.Verdict{Level: policy.Asks, Reason: "reverts changes that were made since the checkpoint"}
	if env.Gate == nil {
		return tools.Result{}, gate.NoApproval(verdict)
	}
	edit := tools.Edit{Title: title, Verdict: verdict, Alone: true, Show: func(ctx context.Context) ([]tools.FileEdit, error) {
		changes, err := k.Planned(ctx, id, files, false)
		return gate.ShownWithout(hide, changes), err
	}}
	if err := env.Gate.CheckEdit(ctx, env, call, edit); err != nil {
		return tools.Result{}, err
	}
	out, err := k.Restore(ctx, id, checkpoint.Choice{Files: files})
	if err != nil {
		return tools.Fail("%s", checkpointTrouble(err)), nil
	}
	return tools.OK(restoreResult(ctx, k, at, out)), nil
}

// restoreResult reports the outcome of a restore to the model.
func restoreResult(ctx context.Context, k *checkpoint.Keeper, at tools.Files, out checkpoint.Outcome) map[string]any {
	restored, kept, notSaved := []string{}, []checkpointKept{}, []checkpointKept{}
	for _, f := range out.Restored {
		restored = append(restored, at.Name(f))
	}
	for _, f := range out.Kept {
		kept = append(kept, checkpointKept{at.Name(f.Path), f.Why})
	}
	for _, u := range unsaved(ctx, k.Files, out) {
		why := "it is restored in the editor only: the disk has another text until the user saves it"
		if u.Why != "" {
			why += ". It could not be saved: " + u.Why
		}
		notSaved = append(notSaved, checkpointKept{u.Path, why})
	}
	result := map[string]any{"restored": restored, "kept": kept}
	if len(notSaved) > 0 {
		result["unsaved"] = notSaved
	}
	if len(restored) > 0 {
		result["note"] = "read these files again before you edit them"
	}
	return result
}

// checkpointTrouble returns the text of an error with the next step.
func checkpointTrouble(err error) string {
	switch {
	case errors.Is(err, checkpoint.ErrUnknown):
		return "checkpoint: " + err.Error() + "; action list names those there are"
	case errors.Is(err, checkpoint.ErrUnchanged):
		return "checkpoint: " + err.Error() + "; action list tells which files each one has"
	}
	return "checkpoint: " + err.Error()
}
