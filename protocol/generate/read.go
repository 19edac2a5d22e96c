package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
)

// vocabulary contains the declarations of the source, in its order.
type vocabulary struct {
	groups []group
	types  []definition

	owner   map[string]string // type → package whose name stays as it is
	updates map[string]bool   // the variants of session/update
}

// group is the constants of a kind: all with the prefix Method, or all of one named string type.
type group struct {
	name   string
	typed  bool
	consts []constant
}

// constant is a word of the wire.
type constant struct {
	name  string // without the group's
	value string // as JSON writes it
	takes string // the argument's type, or the variant's; empty: unsaid
	gives string // the result's type; empty: none
}

// definition is a struct, or an alias of another type.
type definition struct {
	name, doc string
	fields    []field
	embeds    []string
	alias     string
}

type field struct {
	name, doc string
	optional  bool
	null      bool // may be null
	typ       shape
}

// shape is a type in JSON's terms.
type shape struct {
	kind string // string, number, boolean, any, list, map, named
	name string // of named
	elem *shape // of list and map
}

// read parses the packages. If two use a name, the first keeps it.
func read(dirs ...string) (*vocabulary, error) {
	v := &vocabulary{owner: map[string]string{}, updates: map[string]bool{}}
	sources := map[string][]*ast.File{}
	for _, dir := range dirs {
		files, err := parse(dir)
		if err != nil {
			return nil, err
		}
		sources[dir] = files
		v.claim(filepath.Base(dir), files)
	}
	for _, dir := range dirs {
		for _, file := range sources[dir] {
			for _, d := range file.Decls {
				if d, ok := d.(*ast.GenDecl); ok {
					v.declaration(filepath.Base(dir), d)
				}
			}
		}
	}
	return v, nil
}

func parse(dir string) ([]*ast.File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no Go source in %s", dir)
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("reading the source: %w", err)
		}
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parsing the source: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

// claim notes whose name each type is, and which types are updates.
func (v *vocabulary) claim(pkg string, files []*ast.File) {
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if v.owner[n.Name.Name] == "" {
					v.owner[n.Name.Name] = pkg
				}
			case *ast.FuncDecl: // func (*Plan) update() {}
				if star, ok := receiver(n).(*ast.StarExpr); ok && n.Name.Name == "update" {
					v.updates[star.X.(*ast.Ident).Name] = true
				}
				return false
			}
			return true
		})
	}
}

func receiver(f *ast.FuncDecl) ast.Expr {
	if f.Recv == nil {
		return nil
	}
	return f.Recv.List[0].Type
}

// outside is a type's name in the generated files.
func (v *vocabulary) outside(pkg, name string) string {
	if v.owner[name] != pkg {
		return "Lsp" + name
	}
	return name
}

func (v *vocabulary) declaration(pkg string, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.ValueSpec:
			if d.Tok == token.CONST && spec.Names[0].IsExported() {
				v.constant(pkg, spec, d.Doc)
			}
		case *ast.TypeSpec:
			if spec.Name.IsExported() {
				v.definition(pkg, spec, d.Doc)
			}
		}
	}
}

// prefixes are the groups of untyped constants.
var prefixes = []string{"Command", "Title", "Method", "Code", "Update", "Content", "Category", "Outcome", "Allow", "Reject"}

func (v *vocabulary) constant(pkg string, spec *ast.ValueSpec, doc *ast.CommentGroup) {
	value := literal(spec.Values[0])
	if value == "" {
		return
	}
	c := constant{name: spec.Names[0].Name, value: value}
	if c.takes, c.gives = v.commentTypes(pkg, spec.Comment.Text()); c.takes == "" {
		c.takes, c.gives = v.commentTypes(pkg, doc.Text())
	}
	if typ, ok := spec.Type.(*ast.Ident); ok { // type StopReason: StopEndTurn, …
		c.name = c.name[hump.FindStringIndex(c.name)[0]+1:]
		v.add(typ.Name, true, c)
		return
	}
	for _, prefix := range prefixes {
		if rest, ok := strings.CutPrefix(c.name, prefix); ok && rest != "" {
			c.name = rest
			v.add(prefix, false, c)
			return
		}
	}
	v.add("", false, c)
}

func (v *vocabulary) add(name string, typed bool, c constant) {
	for i := range v.groups {
		if v.groups[i].name == name {
			v.groups[i].consts = append(v.groups[i].consts, c)
			return
		}
	}
	v.groups = append(v.groups, group{name: name, typed: typed, consts: []constant{c}})
}

func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		return e.Value
	case *ast.UnaryExpr:
		return e.Op.String() + literal(e.X)
	}
	return ""
}

// The forms of a constant's comment: the argument and the result of a command or a method,
// the parameters of a notification, the type of an update.
var (
	exchange     = regexp.MustCompile(`((?:\w+\.)?\w+) → ((?:\w+\.)?\w+)`)
	notification = regexp.MustCompile(`^notification[^:]*: ((?:\w+\.)?\w+)`)
	variant      = regexp.MustCompile(`^[A-Z]\w*$`)
)

func (v *vocabulary) commentTypes(pkg, comment string) (takes, gives string) {
	comment = strings.TrimSpace(comment)
	if m := exchange.FindStringSubmatch(comment); m != nil {
		return v.qualified(pkg, m[1]), v.qualified(pkg, m[2])
	}
	if m := notification.FindStringSubmatch(comment); m != nil {
		return v.qualified(pkg, m[1]), ""
	}
	if variant.MatchString(comment) {
		return v.qualified(pkg, comment), ""
	}
	return "", ""
}

// qualified resolves "protocol.CheckpointArgs" as pkg sees it.
func (v *vocabulary) qualified(pkg, name string) string {
	if other, rest, ok := strings.Cut(name, "."); ok {
		return v.outside(other, rest)
	}
	return v.outside(pkg, name)
}

// ofOurs are types that only concern Go.
var ofOurs = map[string]bool{"List": true, "Meta": true, "Error": true, "Update": true}

func (v *vocabulary) definition(pkg string, spec *ast.TypeSpec, doc *ast.CommentGroup) {
	if ofOurs[spec.Name.Name] {
		return
	}
	if spec.Doc != nil {
		doc = spec.Doc
	}
	d := definition{name: v.outside(pkg, spec.Name.Name), doc: doc.Text()}
	switch t := spec.Type.(type) {
	case *ast.StructType:
		for _, f := range t.Fields.List {
			v.member(pkg, &d, f)
		}
	case *ast.Ident:
		if t.Name == "string" { // its words are a group, if it has any
			return
		}
		d.alias = v.outside(pkg, t.Name)
	}
	v.types = append(v.types, d)
}

func (v *vocabulary) member(pkg string, d *definition, f *ast.Field) {
	if len(f.Names) == 0 {
		d.embeds = append(d.embeds, v.shape(pkg, f.Type).name)
		return
	}
	if f.Tag == nil {
		return
	}
	tag, _ := strconv.Unquote(f.Tag.Value)
	name, options, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
	_, pointer := f.Type.(*ast.StarExpr)
	d.fields = append(d.fields, field{
		name: name, doc: strings.TrimSpace(f.Comment.Text()), typ: v.shape(pkg, f.Type),
		optional: options == "omitempty", null: pointer && options != "omitempty",
	})
}

func (v *vocabulary) shape(pkg string, e ast.Expr) shape {
	switch e := e.(type) {
	case *ast.StarExpr:
		return v.shape(pkg, e.X)
	case *ast.ArrayType:
		elem := v.shape(pkg, e.Elt)
		return shape{kind: "list", elem: &elem}
	case *ast.IndexExpr: // List[T]
		elem := v.shape(pkg, e.Index)
		return shape{kind: "list", elem: &elem}
	case *ast.MapType:
		elem := v.shape(pkg, e.Value)
		return shape{kind: "map", elem: &elem}
	case *ast.SelectorExpr: // json.RawMessage, protocol.Diagnostic
		if e.X.(*ast.Ident).Name == "json" {
			return shape{kind: "any"}
		}
		return shape{kind: "named", name: v.outside(e.X.(*ast.Ident).Name, e.Sel.Name)}
	case *ast.Ident:
		return v.ident(pkg, e.Name)
	}
	return shape{kind: "any"}
}

func (v *vocabulary) ident(pkg, name string) shape {
	switch name {
	case "string":
		return shape{kind: "string"}
	case "bool":
		return shape{kind: "boolean"}
	case "any":
		return shape{kind: "any"}
	case "int", "int64", "uint32", "float64":
		return shape{kind: "number"}
	case "Meta":
		return shape{kind: "map", elem: &shape{kind: "any"}}
	case "ToolKind": // the tools' words, which the protocol does not list
		return shape{kind: "string"}
	case "Update":
		return shape{kind: "named", name: "SessionUpdate"}
	}
	return shape{kind: "named", name: v.outside(pkg, name)}
}

// variants are the types of session/update with their names on the wire.
func (v *vocabulary) variants() map[string][]string {
	out := map[string][]string{}
	for _, g := range v.groups {
		if g.name == "Update" {
			for _, c := range g.consts {
				out[c.takes] = append(out[c.takes], c.value)
			}
		}
	}
	return out
}
