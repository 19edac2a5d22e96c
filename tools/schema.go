package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// New creates a tool from t and a function with a typed input. It fills t.Schema from In and t.Run
// with run.
//
// In is a struct. Its json tags name the parameters, omitempty makes them optional, and jsonschema
// tags describe them. A string type with a method Enum() []string lists its values. A field tagged
// offer:"no" is decoded but not in the schema, so run can reply to it with a sentence. New panics
// if In cannot be described, which is a programming error.
func New[In any](t Tool, run func(ctx context.Context, env *Env, call Call, in In) (Result, error)) Tool {
	in, err := inputOf(reflect.TypeFor[In]())
	if err != nil {
		panic(fmt.Sprintf("tools: the input of %s: %v", t.Name, err))
	}
	t.accepts, t.Schema = in.accepts, bytes.Clone(in.offered)
	if text := t.Description; t.Describe == nil && strings.Contains(text, "{{") {
		t.Describe = func(offered []Tool) string { return Describe(text, offered, nil) }
	}
	t.Run = func(ctx context.Context, env *Env, call Call) (Result, error) {
		in, err := Decode[In](call.Args)
		if err != nil {
			return Fail("%s: %v", t.Name, err), nil
		}
		return run(ctx, env, call, in)
	}
	return t
}

// Decode returns the input of a tool created by [New].
func Decode[In any](args json.RawMessage) (in In, err error) {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	err = dec.Decode(&in)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return in, fmt.Errorf("the parameter %q cannot be the %s given", wrong.Field, wrong.Value)
	}
	if err != nil {
		return in, fmt.Errorf("the arguments do not fit: %w", err)
	}
	return in, nil
}

// Titled converts a typed title function. If the arguments cannot be decoded, the title is empty.
func Titled[In any](title func(In) string) func(json.RawMessage) string {
	return func(args json.RawMessage) string {
		var in In
		if json.Unmarshal(args, &in) != nil {
			return ""
		}
		return OneLine(title(in), 120)
	}
}

// accepted is a schema for arguments. It is read at its first use: a server can have thousands of
// tools, of which a session calls a few.
type accepted struct {
	text  json.RawMessage
	once  sync.Once
	known *jsonschema.Schema
}

// schema returns the schema. If the text cannot be read, the schema accepts all arguments.
func (a *accepted) schema() *jsonschema.Schema {
	a.once.Do(func() {
		if a.known != nil {
			return
		}
		var err error
		if a.known, err = jsonSchema(a.text); err != nil {
			a.known = &jsonschema.Schema{}
		}
		a.text = nil
	})
	return a.known
}

// input holds the schema of a tool's input type. It does not change.
type input struct {
	accepts *accepted
	offered json.RawMessage
}

// inputs keeps the input of each type: each session and each subagent makes the same
// tools again, and a description takes a good part of a millisecond.
var inputs sync.Map // reflect.Type to input

// inputOf is schemaOf, once for each type.
func inputOf(t reflect.Type) (input, error) {
	if known, ok := inputs.Load(t); ok {
		return known.(input), nil
	}
	accepts, offered, err := schemaOf(t)
	if err != nil {
		return input{}, err
	}
	in, _ := inputs.LoadOrStore(t, input{&accepted{known: accepts}, offered})
	return in.(input), nil
}

// Preload makes the schema of the type of an input, which stays in memory: no session waits
// for it later.
func Preload[In any]() {
	if _, err := inputOf(reflect.TypeFor[In]()); err != nil {
		panic(fmt.Sprintf("tools: the input %v: %v", reflect.TypeFor[In](), err))
	}
}

// schemaOf describes a struct. It returns the schema of all accepted parameters and the JSON of the
// offered parameters.
func schemaOf(t reflect.Type) (*jsonschema.Schema, json.RawMessage, error) {
	if t.Kind() != reflect.Struct {
		return nil, nil, fmt.Errorf("%v is not a struct", t)
	}
	options := &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{}}
	collectSpecial(t, options.TypeSchemas)
	accepts, err := jsonschema.ForType(t, options)
	if err != nil {
		return nil, nil, err
	}
	for s := range walkSchema(accepts) {
		dropNull(s)
	}
	offered := accepts.CloneSchemas()
	for field := range t.Fields() {
		if field.Tag.Get("offer") == "no" {
			withdraw(offered, jsonName(field))
		}
	}
	for s := range walkSchema(offered) {
		if closed(s) {
			s.AdditionalProperties = nil // it would not help the model; an unknown parameter gets an error
		}
		if len(s.Types) > 0 {
			s.Type, s.Types = s.Types[0], nil // some APIs reject a list of types
		}
	}
	data, err := Marshal(offered)
	return accepts, data, err
}

// enumerated is a string type with a few fixed values.
type enumerated interface{ Enum() []string }

// described is a type with its own schema. If it accepts several types, the model is offered the
// first.
type described interface{ JSONSchema() *jsonschema.Schema }

// collectSpecial finds the types below t whose schema is more than their kind.
func collectSpecial(t reflect.Type, into map[reflect.Type]*jsonschema.Schema) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch v := reflect.Zero(t).Interface().(type) {
	case enumerated:
		s := &jsonschema.Schema{Type: "string"}
		for _, value := range v.Enum() {
			s.Enum = append(s.Enum, value)
		}
		into[t] = s
		return
	case described:
		into[t] = v.JSONSchema()
		return
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		collectSpecial(t.Elem(), into)
	case reflect.Struct:
		for field := range t.Fields() {
			if field.IsExported() {
				collectSpecial(field.Type, into)
			}
		}
	}
}

// dropNull removes null, which stands for an absent pointer or slice: the model omits the parameter
// instead.
func dropNull(s *jsonschema.Schema) {
	types := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	if len(types) == 1 {
		s.Type, types = types[0], nil
	}
	s.Types = types
}

// walkSchema visits s and the schemas of its properties and items.
func walkSchema(s *jsonschema.Schema) func(yield func(*jsonschema.Schema) bool) {
	return func(yield func(*jsonschema.Schema) bool) { visitSchema(s, yield) }
}

func visitSchema(s *jsonschema.Schema, yield func(*jsonschema.Schema) bool) bool {
	if s == nil {
		return true
	}
	if !yield(s) || !visitSchema(s.Items, yield) {
		return false
	}
	for _, p := range s.Properties {
		if !visitSchema(p, yield) {
			return false
		}
	}
	return true
}

func withdraw(s *jsonschema.Schema, name string) {
	delete(s.Properties, name)
	is := func(n string) bool { return n == name }
	s.PropertyOrder = slices.DeleteFunc(s.PropertyOrder, is)
	s.Required = slices.DeleteFunc(s.Required, is)
}

func jsonName(f reflect.StructField) string {
	if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
		return name
	}
	return f.Name
}
