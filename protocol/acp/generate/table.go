package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// table is types.txt.
type table struct {
	types    []typeLine
	bySchema map[string]string // the Go struct for a definition
	scalars  map[string]string // the Go type for a definition without an object
}

// typeLine is the line of a type.
type typeLine struct {
	name, schema string
	tag          string
	meta         bool
	fields       []string          // nil: all
	marks        map[string]byte   // '!' or '?'
	types        map[string]string // by field
}

func readTable(path string) (*table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the list of types: %w", err)
	}
	defer f.Close()
	t := &table{bySchema: map[string]string{}, scalars: map[string]string{}}
	for scan := bufio.NewScanner(f); scan.Scan(); {
		words := strings.Fields(scan.Text())
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "scalar": // scalar SchemaName GoType
			t.scalars[words[1]] = words[2]
		default:
			line := parseLine(words)
			t.types = append(t.types, line)
			if t.bySchema[line.schema] == "" {
				t.bySchema[line.schema] = line.name
			}
		}
	}
	return t, nil
}

func parseLine(words []string) typeLine {
	t := typeLine{name: words[0], schema: words[0], marks: map[string]byte{}, types: map[string]string{}}
	words = words[1:]
	if len(words) > 1 && words[0] == "=" {
		t.schema, words = words[1], words[2:]
	}
	for _, word := range words {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case key == "tag":
			t.tag = value
		case word == "meta":
			t.meta = true
		case key == "fields":
			t.fields = strings.Split(value, ",")
		default:
			name, typ, _ := strings.Cut(word, ":")
			if mark := name[len(name)-1]; mark == '!' || mark == '?' {
				name = name[:len(name)-1]
				t.marks[name] = mark
			}
			if typ != "" {
				t.types[name] = typ
			}
		}
	}
	return t
}
