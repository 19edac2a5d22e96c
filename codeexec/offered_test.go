package codeexec

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/extensions/todo"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/file"
	"github.com/hermes-ls/hermes-ls/tools/shell"
)

// Windows sessions do not offer the tool. If it is called anyway, its result reports this.
func TestWindows(t *testing.T) {
	t.Parallel()
	r := New(Config{GOOS: "windows"})
	defer r.Close()
	set, err := tools.NewSet(append(slices.Concat(file.Tools(file.Config{}), shell.Tools(shell.Config{}), []tools.Tool{todo.Tool(nil)}), r.Tool())...)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range set.Specs(t.Context()) {
		if spec.Name == "execute_code" || strings.Contains(spec.Description+string(spec.Schema), "execute_code") {
			t.Errorf("%s speaks of execute_code", spec.Name)
		}
	}
	result, err := set.Call(t.Context(), &tools.Env{}, tools.Call{Name: "execute_code", Args: json.RawMessage(`{"code":"print(1)"}`)})
	if want := `{"error":"execute_code is not available on Windows. Use normal tool calls instead."}`; err != nil || string(result.JSON) != want {
		t.Errorf("%s, %v", result.JSON, err)
	}
}
