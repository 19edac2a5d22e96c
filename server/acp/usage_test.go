package acp

import (
	"encoding/json"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
)

// A usage update counts the tokens of the last request, cached tokens included.
func TestUsageOfTheLastRequest(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(usage(agent.UsageChanged{
		Total: model.Usage{Input: 30}, Last: model.Usage{Input: 20, Output: 3, CachedRead: 15, CachedWrite: 4}, Requests: 2, Used: 23, Window: 100,
	}).Meta)
	want := `{"hermes":{"lastRequest":{"cachedRead":15,"cachedWrite":4,"input":20,"output":3},"usage":{"cachedRead":0,"cachedWrite":0,"input":30,"output":0,"reasoning":0,"requests":2}}}`
	if err != nil || string(data) != want {
		t.Errorf("got %s, %v", data, err)
	}
}
