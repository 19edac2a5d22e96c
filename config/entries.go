package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// AddEntry adds a named entry to a section of config.yaml, such as a server to mcp_servers. All
// other bytes of the file stay. If the name exists, AddEntry returns false and changes nothing.
func AddEntry(home, section, name string, entry any) (added bool, err error) {
	text, err := yaml.MarshalWithOptions(entry, yaml.Flow(true), yaml.JSON())
	if err != nil {
		return false, err
	}
	err = editFile(home, func(d *document) error {
		node, err := d.root()
		if err != nil {
			return err
		}
		above := find(node, section)
		if above != nil && find(above.Value, name) != nil {
			return nil
		}
		if above != nil {
			_, isMap := above.Value.(*ast.MappingNode)
			switch empty := len(mappings(above.Value)) == 0; {
			case empty && !isMap && above.Value.Type() != ast.NullType:
				return fmt.Errorf("%s holds no names; write its entries by hand", section)
			case empty: // {} or null on the same line
				if err := d.replace(above, ""); err != nil {
					return err
				}
			}
		}
		added = true
		return d.set([]string{section, name}, strings.TrimSpace(string(text)))
	})
	return added && err == nil, err
}

// RemoveEntry removes a named entry of a section. If there is none, it returns false.
func RemoveEntry(home, section, name string) (removed bool, err error) {
	err = editFile(home, func(d *document) error {
		node, err := d.root()
		if err != nil {
			return err
		}
		above := find(node, section)
		if above == nil {
			return nil
		}
		pair := find(above.Value, name)
		if pair == nil {
			return nil
		}
		if flow, ok := above.Value.(*ast.MappingNode); ok && flow.IsFlowStyle {
			if removed = d.removeFlow(flow, pair); !removed {
				return fmt.Errorf("%s is written in braces, with a comment or a missing value; remove %s by hand", section, name)
			}
			return nil
		}
		first, last := pair.Key.GetToken().Position.Line, lastToken(pair.Value).Position.Line
		d.lines = slices.Delete(d.lines, first-1, max(first, last))
		if len(mappings(above.Value)) == 1 { // without entries, the section would be null
			at := above.Key.GetToken().Position
			line := d.lines[at.Line-1]
			end := valueColumn(line, at.Column)
			d.lines[at.Line-1] = line[:end] + " {}" + line[end:]
		}
		removed = true
		return nil
	})
	return removed && err == nil, err
}

// removeFlow removes a pair from a mapping in braces, with its comma. If a comment or a missing value is
// in the way, it returns false and changes nothing.
func (d *document) removeFlow(flow *ast.MappingNode, pair *ast.MappingValueNode) bool {
	last := lastToken(pair.Value)
	if last.Type == token.ImplicitNullType {
		return false
	}
	start, end := d.offset(pair.Key.GetToken().Position), d.offset(last.Position)+len(strings.TrimSpace(last.Origin))
	text := strings.Join(d.lines, "")
	before, after := text[:start], text[end:]
	if rest, comma := strings.CutPrefix(strings.TrimLeft(after, " \t\r\n"), ","); comma {
		after = strings.TrimLeft(rest, " \t")
	} else if pair != flow.Values[len(flow.Values)-1] {
		return false
	} else if earlier := strings.TrimRight(before, " \t\r\n"); len(flow.Values) > 1 {
		if before, comma = strings.CutSuffix(earlier, ","); !comma {
			return false
		}
	}
	d.lines = splitLines(before + after)
	return true
}

// offset returns the byte offset of a position in the whole text.
func (d *document) offset(p *token.Position) int {
	return len(strings.Join(d.lines[:p.Line-1], "")) + columnByte(d.lines[p.Line-1], p.Column)
}
