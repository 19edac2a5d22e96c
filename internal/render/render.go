// Package render writes texts with actions in the language of [text/template], without calls of methods.
//
// text/template finds methods by name while the program runs. The linker then keeps each exported method of each type, which makes
// the program 7 % larger. Package render reads fields only. It knows the actions if, else, with, range, end and variables, and the
// functions and, or, not, eq, ne, gt and len.
package render

import (
	"fmt"
	"reflect"
	"strings"
	"text/template/parse"
)

// Funcs are functions that actions call by name, with a single argument.
type Funcs map[string]func(arg any) any

// Text renders a text with data as dot. If the text is invalid, or data lacks a field of it, Text returns an error.
func Text(text string, funcs Funcs, data any) (rendered string, err error) {
	trees := map[string]*parse.Tree{}
	tree := parse.New("text")
	tree.Mode = parse.SkipFuncCheck
	if tree, err = tree.Parse(text, "", "", trees); err != nil {
		return "", err
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case failure:
			err = p
		default:
			panic(p)
		}
	}()
	r := renderer{funcs: funcs, vars: []variable{{"$", reflect.ValueOf(data)}}}
	r.list(reflect.ValueOf(data), tree.Root)
	return r.out.String(), nil
}

type renderer struct {
	funcs Funcs
	vars  []variable // the innermost is the last
	out   strings.Builder
}

type variable struct {
	name  string
	value reflect.Value
}

// failure is a panic. Text returns it as an error.
type failure struct{ error }

func fail(n parse.Node, format string, args ...any) {
	panic(failure{fmt.Errorf("%s: %s", n, fmt.Sprintf(format, args...))})
}

func (r *renderer) list(dot reflect.Value, list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			r.out.Write(n.Text)
		case *parse.ActionNode:
			if v := r.pipe(dot, n.Pipe); len(n.Pipe.Decl) == 0 {
				fmt.Fprint(&r.out, v)
			}
		case *parse.IfNode:
			r.branch(dot, &n.BranchNode, func(reflect.Value) { r.list(dot, n.List) })
		case *parse.WithNode:
			r.branch(dot, &n.BranchNode, func(v reflect.Value) { r.list(v, n.List) })
		case *parse.RangeNode:
			r.branch(dot, &n.BranchNode, func(v reflect.Value) { r.each(v, n) })
		default:
			fail(n, "this action is not known")
		}
	}
}

// branch runs do if the pipeline's value is true, else the else list. Its variables end with it.
func (r *renderer) branch(dot reflect.Value, n *parse.BranchNode, do func(reflect.Value)) {
	defer func(outer int) { r.vars = r.vars[:outer] }(len(r.vars))
	if v := r.pipe(dot, n.Pipe); isTrue(v) {
		do(v)
	} else {
		r.list(dot, n.ElseList)
	}
}

func (r *renderer) each(all reflect.Value, n *parse.RangeNode) {
	if all.Kind() != reflect.Slice {
		fail(n, "range needs a list")
	}
	first := len(r.vars) - len(n.Pipe.Decl) // pipe has declared them
	for i := range all.Len() {
		switch len(n.Pipe.Decl) {
		case 1:
			r.vars[first].value = all.Index(i)
		case 2:
			r.vars[first].value, r.vars[first+1].value = reflect.ValueOf(i), all.Index(i)
		}
		inner := len(r.vars)
		r.list(all.Index(i), n.List)
		r.vars = r.vars[:inner]
	}
}

// pipe returns the value of a pipeline and declares its variables.
func (r *renderer) pipe(dot reflect.Value, p *parse.PipeNode) reflect.Value {
	if len(p.Cmds) != 1 || p.IsAssign {
		fail(p, "pipelines and assignments are not known")
	}
	v := r.command(dot, p.Cmds[0])
	for _, d := range p.Decl {
		r.vars = append(r.vars, variable{d.Ident[0], v})
	}
	return v
}

func (r *renderer) command(dot reflect.Value, c *parse.CommandNode) reflect.Value {
	if name, ok := c.Args[0].(*parse.IdentifierNode); ok {
		return r.call(dot, name, c.Args[1:])
	}
	if len(c.Args) > 1 {
		fail(c, "only functions take arguments")
	}
	return r.value(dot, c.Args[0])
}

func (r *renderer) value(dot reflect.Value, n parse.Node) reflect.Value {
	switch n := n.(type) {
	case *parse.DotNode:
		return dot
	case *parse.FieldNode:
		return field(n, dot, n.Ident)
	case *parse.VariableNode:
		for i := len(r.vars) - 1; i >= 0; i-- {
			if r.vars[i].name == n.Ident[0] {
				return field(n, r.vars[i].value, n.Ident[1:])
			}
		}
	case *parse.PipeNode:
		return r.pipe(dot, n)
	case *parse.StringNode:
		return reflect.ValueOf(n.Text)
	case *parse.NumberNode:
		return reflect.ValueOf(int(n.Int64))
	case *parse.BoolNode:
		return reflect.ValueOf(n.True)
	}
	fail(n, "this value is not known")
	return reflect.Value{}
}

func field(n parse.Node, v reflect.Value, names []string) reflect.Value {
	for _, name := range names {
		if v.Kind() != reflect.Struct || !v.FieldByName(name).IsValid() {
			fail(n, "there is no field %s", name)
		}
		v = v.FieldByName(name)
	}
	return v
}

func (r *renderer) call(dot reflect.Value, name *parse.IdentifierNode, args []parse.Node) reflect.Value {
	if f, ok := r.funcs[name.Ident]; ok && len(args) == 1 {
		return reflect.ValueOf(f(r.value(dot, args[0]).Interface()))
	}
	switch {
	case (name.Ident == "and" || name.Ident == "or") && len(args) > 0:
		for _, a := range args[:len(args)-1] { // the others are not evaluated
			if v := r.value(dot, a); isTrue(v) == (name.Ident == "or") {
				return v
			}
		}
		return r.value(dot, args[len(args)-1])
	case name.Ident == "not" && len(args) == 1:
		return reflect.ValueOf(!isTrue(r.value(dot, args[0])))
	case name.Ident == "len" && len(args) == 1:
		return reflect.ValueOf(r.value(dot, args[0]).Len())
	case (name.Ident == "eq" || name.Ident == "ne") && len(args) == 2:
		return reflect.ValueOf(r.value(dot, args[0]).Equal(r.value(dot, args[1])) == (name.Ident == "eq"))
	case name.Ident == "gt" && len(args) == 2:
		return reflect.ValueOf(r.value(dot, args[0]).Int() > r.value(dot, args[1]).Int())
	}
	fail(name, "there is no such function with %d arguments", len(args))
	return reflect.Value{}
}

// isTrue reports whether a value is neither zero nor empty.
func isTrue(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.String, reflect.Map:
		return v.Len() > 0
	case reflect.Struct:
		return true
	}
	return v.IsValid() && !v.IsZero()
}
