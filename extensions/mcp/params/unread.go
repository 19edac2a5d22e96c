package params

import (
	"context"
	"errors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Keep is a client middleware. After listing tools, the SDK encodes and decodes the parameters of
// each tool again, to find parameters sent also as headers. This takes as long as the connection.
// So Keep passes only parameters with a header and hides the others. [Of] reads both.
func Keep(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, req)
		if list, ok := result.(*sdk.ListToolsResult); ok && list != nil {
			for _, t := range list.Tools {
				if t == nil {
					continue
				}
				if schema, ok := t.InputSchema.(map[string]any); ok && !hasHeader(schema) {
					t.InputSchema = hidden{schema}
				}
			}
		}
		return result, err
	}
}

// hidden is a schema that is not encoded. For the SDK, it is a schema without headers.
type hidden struct{ schema map[string]any }

var errHidden = errors.New("the schema has no headers")

// MarshalJSON returns an error.
func (hidden) MarshalJSON() ([]byte, error) { return nil, errHidden }

// hasHeader reports whether a part of a schema is also sent as a header.
func hasHeader(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for key, one := range v {
			if key == "x-mcp-header" || hasHeader(one) {
				return true
			}
		}
	case []any:
		for _, one := range v {
			if hasHeader(one) {
				return true
			}
		}
	}
	return false
}
