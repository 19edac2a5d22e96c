package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// Get returns the current value of a dotted key: a text unchanged, any other value as JSON.
func (l *Loaded) Get(key string) (string, error) {
	if _, ok := l.schema.root.find(key); !ok {
		return "", l.schema.unknownKey(key)
	}
	value, ok := valueAt(l.Values(), key)
	if !ok { // a name chosen by the user
		return "", fmt.Errorf("%s is not set", key)
	}
	if text, ok := value.(string); ok {
		return text, nil
	}
	data, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", key, err)
	}
	return string(data), nil
}

// Set writes a plain value, or a list of texts ("a, b" or "[a, b]"), into config.yaml. All other
// bytes of the file stay, comments included.
func (s *Schema) Set(home, key, text string) error {
	f, ok := s.root.find(key)
	if !ok {
		return s.unknownKey(key)
	}
	value, err := settable(f, key, text)
	if err != nil {
		return err
	}
	return editFile(home, func(d *document) error {
		return d.set(strings.Split(key, "."), value)
	})
}

// AppendAllowlist adds an entry to command_allowlist. If the list contains it, nothing changes.
func AppendAllowlist(home, entry string) error {
	return editFile(home, func(d *document) error {
		return d.appendItem("command_allowlist", entry)
	})
}

func (s *Schema) unknownKey(key string) error {
	hint := ""
	if near := s.nearestKey(key); near != "" {
		hint = " (did you mean " + near + "?)"
	}
	return fmt.Errorf("%s is no key of config.yaml%s; `hermes-ls config schema` lists them", key, hint)
}

// nearestKey returns the key with the most similar spelling. If no key is similar, it returns "".
func (s *Schema) nearestKey(key string) string {
	at := s.root
	var names []string
	for name := range strings.SplitSeq(key, ".") {
		next, ok := at.below(name)
		if !ok && at.section() {
			next, ok = named(at.keys, nearestName(name, at.keys))
			name = next.name
		}
		if !ok {
			return ""
		}
		names, at = append(names, name), next
	}
	return strings.Join(names, ".")
}

func settable(f field, key, text string) (string, error) {
	value, ok := parseScalar(f, text)
	if !ok || f.section() {
		return "", fmt.Errorf("%s holds keys of its own: edit config.yaml for it", key)
	}
	if f.typ.Kind() == reflect.Slice && text == "" {
		return "[]", nil
	}
	out, want := convert(f, value)
	if want != "" {
		return "", fmt.Errorf("%s must be %s", key, want)
	}
	data, err := json.Marshal(out) // JSON is YAML, quoted if necessary
	if err != nil {
		return "", fmt.Errorf("writing %s: %w", key, err)
	}
	if s, ok := out.(string); ok && plainYAML(s) {
		return s, nil
	}
	return string(data), nil
}

// plainYAML reports whether a text needs no quotes.
func plainYAML(s string) bool {
	if s == "" || slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "null"}, strings.ToLower(s)) {
		return false
	}
	for i, r := range s {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-_./:", r)) {
			return false
		}
	}
	return !strings.HasSuffix(s, ":")
}

// editFile changes config.yaml atomically.
func editFile(home string, change func(*document) error) error {
	file := Path(home)
	data, err := textfile.Read(file, fileLimit)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	d := &document{lines: splitLines(string(data))}
	if err := change(d); err != nil {
		return fmt.Errorf("changing %s: %w", file, err)
	}
	out := strings.Join(d.lines, "")
	if _, err := parse([]byte(out)); err != nil {
		return fmt.Errorf("changing %s: the result would be no YAML (%s); nothing was written, edit it by hand", file, errorText(err))
	}
	return writeFile(file, []byte(out))
}

func writeFile(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("making the home folder: %w", err)
	}
	if err := safefile.Save(file, data, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}

// document is a YAML text as lines with their line ends.
type document struct{ lines []string }

func splitLines(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		lines[n-1] += "\n"
	}
	return lines
}

func (d *document) root() (ast.Node, error) {
	file, err := parse([]byte(strings.Join(d.lines, "")))
	if err != nil {
		return nil, fmt.Errorf("line %d is no YAML: %s", errorLine(err), errorText(err))
	}
	if len(file.Docs) == 0 {
		return nil, nil
	}
	return file.Docs[0].Body, nil
}

// set sets the value of the key at path.
func (d *document) set(path []string, value string) error {
	node, err := d.root()
	if err != nil {
		return err
	}
	var parent *ast.MappingValueNode
	for i, name := range path {
		pair := find(node, name)
		if pair == nil {
			return d.insert(parent, path[i:], value)
		}
		if i == len(path)-1 {
			return d.replace(pair, value)
		}
		parent, node = pair, pair.Value
	}
	return nil
}

func find(node ast.Node, name string) *ast.MappingValueNode {
	for _, pair := range mappings(node) {
		if keyText(pair) == name {
			return pair
		}
	}
	return nil
}

// insert adds path below parent, which must not contain it. If parent is nil, path is added at the
// top.
func (d *document) insert(parent *ast.MappingValueNode, path []string, value string) error {
	indent, at := 0, len(d.lines)
	if parent != nil {
		line := parent.Key.GetToken().Position.Line
		column := parent.Key.GetToken().Position.Column
		if flow, ok := parent.Value.(*ast.MappingNode); ok && flow.IsFlowStyle {
			return d.insertFlow(flow, path, value)
		}
		indent, at = column+1, line
		if pairs := mappings(parent.Value); len(pairs) > 0 {
			indent = pairs[0].Key.GetToken().Position.Column - 1
		}
	}
	var added []string
	for i, name := range path {
		text := strings.Repeat(" ", indent+2*i) + keyYAML(name) + ":"
		if i == len(path)-1 {
			text += " " + value
		}
		added = append(added, text+"\n")
	}
	d.lines = slices.Insert(d.lines, at, added...)
	return nil
}

// insertFlow adds path to a mapping in braces.
func (d *document) insertFlow(flow *ast.MappingNode, path []string, value string) error {
	if flow.End == nil {
		return fmt.Errorf("line %d opens braces that are not closed", flow.Start.Position.Line)
	}
	text := value
	for i, name := range slices.Backward(path) {
		if text = keyYAML(name) + ": " + text; i > 0 {
			text = "{" + text + "}"
		}
	}
	line := &d.lines[flow.End.Position.Line-1]
	end := columnByte(*line, flow.End.Position.Column)
	before := strings.TrimRight((*line)[:end], " ")
	if len(flow.Values) > 0 && !strings.HasSuffix(before, ",") {
		before += ","
	}
	if !strings.HasSuffix(before, "{") && before != "" {
		before += " "
	}
	*line = before + text + (*line)[end:]
	return nil
}

// keyYAML returns a name as a YAML key, quoted if necessary.
func keyYAML(name string) string {
	if plainYAML(name) {
		return name
	}
	quoted, err := json.Marshal(name)
	if err != nil {
		return name // a text can be encoded
	}
	return string(quoted)
}

// replace replaces the pair's value.
func (d *document) replace(pair *ast.MappingValueNode, value string) error {
	key := pair.Key.GetToken().Position
	last := lastToken(pair.Value)
	line := d.lines[key.Line-1]
	start := valueColumn(line, key.Column)
	if last.Type == token.ImplicitNullType {
		d.lines[key.Line-1] = line[:start] + " " + value + line[start:] // the pair has no value
		return nil
	}
	if last.Position.Line == key.Line {
		end := columnByte(line, last.Position.Column) + len(strings.TrimSpace(last.Origin))
		d.lines[key.Line-1] = line[:start] + " " + value + line[end:]
		return nil
	}
	d.lines[key.Line-1] = line[:start] + " " + value + "\n"
	d.lines = slices.Delete(d.lines, key.Line, last.Position.Line)
	return nil
}

// lastToken returns the last token of a value.
func lastToken(node ast.Node) *token.Token {
	last := node.GetToken()
	ast.Walk(visitor(func(n ast.Node) {
		for _, t := range []*token.Token{n.GetToken(), closing(n)} {
			if t != nil && (t.Position.Line > last.Position.Line ||
				t.Position.Line == last.Position.Line && t.Position.Column > last.Position.Column) {
				last = t
			}
		}
	}), node)
	return last
}

func closing(node ast.Node) *token.Token {
	switch node := node.(type) {
	case *ast.MappingNode:
		return node.End
	case *ast.SequenceNode:
		return node.End
	}
	return nil
}

type visitor func(ast.Node)

func (v visitor) Visit(node ast.Node) ast.Visitor {
	if _, comment := node.(*ast.CommentGroupNode); !comment {
		v(node)
	}
	return v
}

// columnByte converts a 1-based column in runes to a byte offset.
func columnByte(line string, column int) int {
	for i := range line {
		if column--; column == 0 {
			return i
		}
	}
	return len(line)
}

// valueColumn returns the byte offset after the colon of the key at column.
func valueColumn(line string, column int) int {
	start := columnByte(line, column)
	return start + strings.Index(line[start:], ":") + 1
}

// appendItem adds a text to a top-level list. A missing list is created.
func (d *document) appendItem(key, item string) error {
	node, err := d.root()
	if err != nil {
		return err
	}
	quoted, err := json.Marshal(item)
	if err != nil {
		return err
	}
	pair := find(node, key)
	if pair == nil {
		d.lines = append(d.lines, key+":\n", "  - "+string(quoted)+"\n")
		return nil
	}
	list, ok := pair.Value.(*ast.SequenceNode)
	switch {
	case !ok || len(list.Values) == 0:
		if err := d.replace(pair, ""); err != nil {
			return err
		}
		line := pair.Key.GetToken().Position.Line
		d.lines[line-1] = strings.TrimRight(strings.Replace(d.lines[line-1], ":  ", ": ", 1), " \n") + "\n"
		d.lines = slices.Insert(d.lines, line, "  - "+string(quoted)+"\n")
	case contains(list, item):
	case list.IsFlowStyle:
		line := &d.lines[list.End.Position.Line-1]
		end := columnByte(*line, list.End.Position.Column)
		*line = (*line)[:end] + ", " + string(quoted) + (*line)[end:]
	default:
		indent := strings.Repeat(" ", list.Start.Position.Column-1)
		d.lines = slices.Insert(d.lines, lastToken(list).Position.Line, indent+"- "+string(quoted)+"\n")
	}
	return nil
}

func contains(list *ast.SequenceNode, item string) bool {
	return slices.ContainsFunc(list.Values, func(n ast.Node) bool { return n.GetToken().Value == item })
}
