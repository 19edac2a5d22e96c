// Package acptest judges frames by the official JSON Schema of the protocol.
//
//	acptest.Validate(t, acptest.FromAgent, frame)
//
// The published schema takes any params for any method, since extensions are allowed. Here a frame
// is validated by the schema of its own method, and the agent's frames may have no field unknown to
// the schema. A [Log] remembers the requests, so responses are validated, too.
package acptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Direction says who sent a frame.
type Direction string

const (
	FromAgent  Direction = "agent"
	FromClient Direction = "client"
)

func (d Direction) other() Direction {
	if d == FromAgent {
		return FromClient
	}
	return FromAgent
}

// Validate fails t if a frame does not follow the protocol. A response lacks the method of its
// request, so only its envelope is validated: see [Log].
func Validate(t testing.TB, dir Direction, frame []byte) {
	t.Helper()
	if err := Check(dir, frame); err != nil {
		t.Errorf("frame from the %s: %v\n%s", dir, err, clip(frame))
	}
}

// Check is Validate with an error.
func Check(dir Direction, frame []byte) error { return (&Log{}).Check(dir, frame) }

// Log judges the frames of a connection. The zero value is ready; it is safe for concurrent use.
type Log struct {
	mu    sync.Mutex
	asked map[string]string // direction and id → method
}

// Validate fails t when a frame is none of the protocol's, responses included.
func (l *Log) Validate(t testing.TB, dir Direction, frame []byte) {
	t.Helper()
	if err := l.Check(dir, frame); err != nil {
		t.Errorf("frame from the %s: %v\n%s", dir, err, clip(frame))
	}
}

// Check is Validate with an error. Our own extensions (methods with an underscore at the start)
// have no schema and pass.
func (l *Log) Check(dir Direction, frame []byte) error {
	s, err := load()
	if err != nil {
		return err
	}
	var f struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(frame, &f); err != nil {
		return fmt.Errorf("not a JSON object: %w", err)
	}
	if f.JSONRPC != "2.0" {
		return fmt.Errorf("jsonrpc is %q", f.JSONRPC)
	}
	switch {
	case f.Method != nil:
		l.remember(dir, f.ID, *f.Method)
		return s.message(dir, *f.Method, f.ID != nil, f.Params)
	case f.ID == nil:
		return errors.New("a response without an id")
	case f.Error != nil && f.Result != nil:
		return errors.New("a response with a result and an error")
	case f.Error != nil:
		return s.judge("Error", dir, f.Error)
	case f.Result == nil:
		return errors.New("neither method, result nor error")
	}
	if method := l.askedFor(dir.other(), f.ID); method != "" {
		return s.result(dir, method, f.Result)
	}
	return nil
}

func (l *Log) remember(dir Direction, id json.RawMessage, method string) {
	if id == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.asked == nil {
		l.asked = map[string]string{}
	}
	l.asked[string(dir)+string(id)] = method
}

func (l *Log) askedFor(dir Direction, id json.RawMessage) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.asked[string(dir)+string(id)]
}

// schemas are the definitions of the official file, by name, compiled when asked
// for.
type schemas struct {
	params  map[string]string // method → definition
	results map[string]string
	notes   map[string]bool // notification methods
	sides   map[string]Direction

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// checkout is the folder of the module: tests run in their package's folder. The
// binary need not know where its sources lie (-trimpath).
func checkout() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("no go.mod in the working directory or above it")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

var load = sync.OnceValues(func() (*schemas, error) {
	root, err := checkout()
	if err != nil {
		return nil, fmt.Errorf("looking for the official schema: %w", err)
	}
	data, err := os.ReadFile(filepath.Join(root, "protocol", "acp", "testdata", "schema.json"))
	if err != nil {
		return nil, fmt.Errorf("reading the official schema: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading the official schema: %w", err)
	}
	s := &schemas{
		params: map[string]string{}, results: map[string]string{}, notes: map[string]bool{}, sides: map[string]Direction{},
		compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{},
	}
	defs, _ := doc.(map[string]any)["$defs"].(map[string]any)
	for name, def := range defs {
		d, _ := def.(map[string]any)
		method, _ := d["x-method"].(string)
		side, _ := d["x-side"].(string)
		if method == "" {
			continue
		}
		switch {
		case strings.HasSuffix(name, "Response"):
			s.results[method] = name
		default:
			s.params[method] = name
			s.notes[method] = strings.HasSuffix(name, "Notification")
			s.sides[method] = Direction(side) // who handles it
		}
	}
	if len(s.params) < 20 {
		return nil, fmt.Errorf("the official schema names only %d methods", len(s.params))
	}
	strict(defs)
	return s, s.compiler.AddResource("acp.json", doc)
})

// strict adds a twin, named NAME!, to each definition of a plain object. The twin takes no unknown
// field at its top.
func strict(defs map[string]any) {
	for name := range defs {
		if strings.HasSuffix(name, "!") {
			continue
		}
		defs[name+"!"] = map[string]any{"$ref": "#/$defs/" + name, "unevaluatedProperties": false}
	}
	// The update of a session/update is a single variant with its own fields.
	update, _ := defs["SessionNotification"].(map[string]any)
	copied := map[string]any{}
	for k, v := range update {
		copied[k] = v
	}
	properties := map[string]any{}
	for k, v := range update["properties"].(map[string]any) {
		properties[k] = v
	}
	properties["update"] = map[string]any{"$ref": "#/$defs/SessionUpdate!"}
	copied["properties"] = properties
	copied["unevaluatedProperties"] = false
	defs["SessionNotification!"] = copied
}

// message judges a request or a notification.
func (s *schemas) message(dir Direction, method string, hasID bool, params json.RawMessage) error {
	if strings.HasPrefix(method, "_") {
		return nil
	}
	def := s.params[method]
	if def == "" {
		return fmt.Errorf("%q is no method of the protocol", method)
	}
	if side := s.sides[method]; side != "protocol" && side == dir {
		return fmt.Errorf("%s is a method of the %s, not one that it calls", method, dir)
	}
	if s.notes[method] == hasID {
		return fmt.Errorf("%s: a request has an id, a notification none", method)
	}
	if params == nil {
		params = json.RawMessage("null")
	}
	return s.judge(def, dir, params)
}

func (s *schemas) result(dir Direction, method string, result json.RawMessage) error {
	if strings.HasPrefix(method, "_") {
		return nil
	}
	def := s.results[method]
	if def == "" {
		return fmt.Errorf("%q has no result in the protocol", method)
	}
	return s.judge(def, dir, result)
}

// judge holds a value to a definition. From the agent, which is us, nothing
// unknown is taken.
func (s *schemas) judge(def string, dir Direction, value json.RawMessage) error {
	if dir == FromAgent {
		def += "!"
	}
	schema, err := s.schema(def)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(value))
	if err != nil {
		return err
	}
	if err := schema.Validate(v); err != nil {
		return fmt.Errorf("not a %s: %w", def, err)
	}
	return nil
}

func (s *schemas) schema(def string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have := s.compiled[def]; have != nil {
		return have, nil
	}
	schema, err := s.compiler.Compile("acp.json#/$defs/" + def)
	if err != nil {
		return nil, fmt.Errorf("compiling %s of the official schema: %w", def, err)
	}
	s.compiled[def] = schema
	return schema, nil
}

func clip(frame []byte) []byte {
	if len(frame) > 2000 {
		return append(frame[:2000:2000], "…"...)
	}
	return frame
}
