package form

import (
	"context"
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK gets a form without defaults, the user the server's original form.
func TestKeep(t *testing.T) {
	t.Parallel()
	const sent, bare = `{"properties":{"n":{"default":2,"type":"integer"}},"type":"object"}`, `{"properties":{"n":{"type":"integer"}},"type":"object"}`
	var schema any
	if err := json.Unmarshal([]byte(sent), &schema); err != nil {
		t.Fatal(err)
	}
	_, err := Keep(func(schema any) any { return schema })(func(ctx context.Context, _ string, req sdk.Request) (sdk.Result, error) {
		p := req.(*sdk.ElicitRequest).Params
		for _, c := range []struct {
			schema any
			want   string
		}{{p.RequestedSchema, bare}, {Schema(ctx, p), sent}, {Schema(t.Context(), p), bare}} {
			if got, err := json.Marshal(c.schema); err != nil || string(got) != c.want {
				t.Errorf("the form is %s, and not %s: %v", got, c.want, err)
			}
		}
		return nil, nil
	})(t.Context(), "elicitation/create", &sdk.ElicitRequest{Params: &sdk.ElicitParams{RequestedSchema: schema}})
	if err != nil {
		t.Fatal(err)
	}
}
