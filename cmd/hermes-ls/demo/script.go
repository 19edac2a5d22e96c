package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
)

// innerCall is a call of a script from the messages of the server.
type innerCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Status    string          `json:"status"`
}

// innerCalls returns the calls of a script from the metadata, because ACP has no field for
// them.
func innerCalls(meta acp.Meta) []innerCall {
	var m struct {
		Hermes struct {
			Calls []innerCall `json:"sandbox_tool_calls"`
		} `json:"hermes"`
	}
	data, err := json.Marshal(meta)
	if err != nil || json.Unmarshal(data, &m) != nil {
		return nil
	}
	return m.Hermes.Calls
}

// inner returns the calls of the scripts of the turn.
func (t turn) inner() []innerCall {
	var calls []innerCall
	for _, c := range t.calls {
		calls = append(calls, c.inner...)
	}
	return calls
}

func (t turn) tokens() int { return t.cost.Input + t.cost.Output }

// compare repeats the calls of the script in sequence, like a model without scripts. It prints the
// usage of both ways, measured in the same session.
func compare(ctx context.Context, e *editor, s *screen, script turn) (saved int, err error) {
	calls := script.inner()
	singly, err := e.replay(ctx, calls)
	if err != nil {
		return 0, err
	}
	saved = singly.tokens() - script.tokens()
	s.heading("%d calls in one script: %d requests, %d tokens. The same calls one by one: %d requests, %d tokens. Saved: %d tokens",
		len(calls), script.cost.Requests, script.tokens(), singly.cost.Requests, singly.tokens(), saved)
	return saved, nil
}

// replay makes the embedded model send these calls in sequence, without output.
func (e *editor) replay(ctx context.Context, calls []innerCall) (turn, error) {
	e.screen.mute(true)
	defer e.screen.mute(false)
	var script strings.Builder
	for _, c := range calls {
		step, err := json.Marshal([]any{map[string]any{"call": map[string]any{"name": c.Tool, "args": c.Arguments}}})
		if err != nil {
			return turn{}, fmt.Errorf("writing down a call: %w", err)
		}
		fmt.Fprintf(&script, "%s\n", step)
	}
	return e.send(ctx, scripted("Make these calls.", script.String()+`[{"text":"Done."}]`+"\n"))
}

// countLines counts the lines of all Python files without the agent.
func countLines(folder string) (lines int, err error) {
	err = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".py" {
			return err
		}
		text, err := os.ReadFile(path)
		lines += strings.Count(string(text), "\n")
		return err
	})
	return lines, err
}
