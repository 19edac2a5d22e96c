package config

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// Limits of a YAML text. The parser's time and memory grow with the square of the nesting, and
// aliases can expand a few lines to any number of values.
const (
	mostNested = 32
	mostTokens = 20_000
	mostValues = 10_000 // an alias counts as its value
)

// complexError names the limit exceeded by a text.
type complexError struct{ text string }

func (e *complexError) Error() string { return e.text }

func tooComplex(format string, args ...any) error {
	return &complexError{fmt.Sprintf(format, args...)}
}

// checkNesting returns an error if text is more than the parser can take.
func checkNesting(text string) error {
	tokens := lexer.Tokenize(text)
	if len(tokens) > mostTokens {
		return tooComplex("it has more than %d words and signs", mostTokens)
	}
	flow, inLine, line := 0, 0, 0
	var columns []int // of the open blocks
	documents := 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, inLine = t.Position.Line, 0
			if flow == 0 {
				for len(columns) > 0 && columns[len(columns)-1] >= t.Position.Column {
					columns = columns[:len(columns)-1]
				}
				columns = append(columns, t.Position.Column)
			}
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(0, flow-1)
		case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType, token.TagType, token.AnchorType, token.MergeKeyType:
			if flow == 0 {
				inLine++
			}
		case token.DocumentHeaderType, token.DocumentEndType:
			documents++
		}
		if flow+inLine+len(columns) > mostNested {
			return tooComplex("line %d is nested more than %d deep", t.Position.Line, mostNested)
		}
		if documents > 2 {
			return tooComplex("it has more than one document")
		}
	}
	return nil
}

// countValues returns an error if node has too many values after alias expansion, or if an alias
// refers to a value that contains it.
func countValues(node ast.Node) error {
	c := valueCounter{anchors: map[string]int{}}
	_, err := c.count(node)
	return err
}

type valueCounter struct {
	anchors map[string]int // name → values; incomplete values are missing
}

func (c *valueCounter) count(node ast.Node) (n int, err error) {
	var below []ast.Node
	switch node := node.(type) {
	case *ast.AliasNode:
		name := node.Value.GetToken().Value
		n, complete := c.anchors[name]
		if !complete {
			return 0, tooComplex("the alias *%s stands for nothing that comes before it", name)
		}
		return n, nil
	case *ast.MappingNode:
		for _, value := range node.Values {
			below = append(below, value)
		}
	case *ast.MappingValueNode:
		below = []ast.Node{node.Key, node.Value}
	case *ast.SequenceNode:
		below = node.Values
	case *ast.TagNode:
		below = []ast.Node{node.Value}
	case *ast.MappingKeyNode:
		below = []ast.Node{node.Value}
	case *ast.AnchorNode:
		if n, err = c.count(node.Value); err == nil {
			c.anchors[node.Name.GetToken().Value] = n
		}
		return n, err
	}
	n = 1
	for _, b := range below {
		more, err := c.count(b)
		if err != nil {
			return 0, err
		}
		if n += more; n > mostValues {
			return 0, tooComplex("it has more than %d values", mostValues)
		}
	}
	return n, nil
}
