package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// parse parses a YAML text within the limits. All code of the package uses it.
func parse(data []byte) (*ast.File, error) {
	if err := checkNesting(string(data)); err != nil {
		return nil, err
	}
	return parser.ParseBytes(data, 0)
}

// parseYAML parses a document with a mapping at its top, and records the line of each key.
func parseYAML(name string, data []byte) (source, error) {
	s := source{name: name, tree: map[string]any{}, lines: map[string]int{}}
	file, err := parse(data)
	if err != nil {
		return source{}, err
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return s, nil
	}
	body := file.Docs[0].Body
	if _, comment := body.(*ast.CommentGroupNode); comment {
		return s, nil
	}
	if _, null := body.(*ast.NullNode); null {
		return s, nil
	}
	if mappings(body) == nil {
		return source{}, fmt.Errorf("the top must be a mapping such as `model:`")
	}
	if err := countValues(body); err != nil {
		return source{}, err
	}
	if err := yaml.NodeToValue(body, &s.tree); err != nil {
		return source{}, err
	}
	recordLines("", body, s.lines)
	return s, nil
}

// mappings returns the key-value pairs of a mapping node. For another node it returns nil.
func mappings(node ast.Node) []*ast.MappingValueNode {
	switch node := node.(type) {
	case *ast.MappingNode:
		return node.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{node}
	}
	return nil
}

func recordLines(prefix string, node ast.Node, lines map[string]int) {
	for _, pair := range mappings(node) {
		key := prefix + keyText(pair)
		lines[key] = pair.Key.GetToken().Position.Line
		recordLines(key+".", pair.Value, lines)
	}
}

func keyText(pair *ast.MappingValueNode) string {
	return strings.Trim(pair.Key.GetToken().Value, `"'`)
}

func errorLine(err error) int {
	var located yaml.Error
	if errors.As(err, &located) && located.GetToken() != nil {
		return located.GetToken().Position.Line
	}
	return 0
}

// errorText returns the message without the excerpt of the source, which could contain a secret.
func errorText(err error) string {
	var located yaml.Error
	if errors.As(err, &located) {
		return located.GetMessage()
	}
	return err.Error()
}
