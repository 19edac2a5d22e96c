package form

import (
	"context"
	"maps"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

type asSent struct{}

// Keep returns a client middleware that preserves two parts of a form. The SDK sorts the fields by
// name, so sent returns the server's original schema. The SDK also adds a field's default to the
// user's values if the field has none, even if the user has removed it. So the SDK gets the form
// without defaults; [Schema] contains them.
func Keep(sent func(schema any) any) sdk.Middleware {
	return func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
			if r, ok := req.(*sdk.ElicitRequest); ok && r.Params != nil {
				ctx = context.WithValue(ctx, asSent{}, sent(r.Params.RequestedSchema))
				bare := *r.Params
				bare.RequestedSchema = withoutDefaults(bare.RequestedSchema)
				r.Params = &bare
			}
			return next(ctx, method, req)
		}
	}
}

// Schema returns the schema of a request as the server sent it.
func Schema(ctx context.Context, p *sdk.ElicitParams) any {
	if whole := ctx.Value(asSent{}); whole != nil {
		return whole
	}
	return p.RequestedSchema
}

func withoutDefaults(schema any) any {
	whole, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	fields, ok := whole["properties"].(map[string]any)
	if !ok {
		return schema
	}
	bare, whole := maps.Clone(fields), maps.Clone(whole)
	for name, f := range bare {
		if field, ok := f.(map[string]any); ok {
			field = maps.Clone(field)
			delete(field, "default")
			bare[name] = field
		}
	}
	whole["properties"] = bare
	return whole
}
