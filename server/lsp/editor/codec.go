package editor

import (
	"encoding/json"

	"go.lsp.dev/jsonrpc2"
	lsp "go.lsp.dev/protocol"
)

// Codec encodes LSP's types, unions included. It passes on encoded values.
type Codec struct{}

func (Codec) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case jsonrpc2.RawMessage:
		return v, nil
	case json.RawMessage:
		return v, nil
	}
	return lsp.Marshal(v)
}

func (Codec) Unmarshal(data []byte, v any) error {
	switch v := v.(type) {
	case *jsonrpc2.RawMessage:
		*v = append(jsonrpc2.RawMessage(nil), data...)
		return nil
	case *json.RawMessage:
		*v = append(json.RawMessage(nil), data...)
		return nil
	}
	return lsp.Unmarshal(data, v)
}
