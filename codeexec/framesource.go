package codeexec

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/tools"
)

// longResult is the length of a result from which on it pays to look at what it was
// made of: to take a text full of escapes out of the JSON again costs several times
// what all the rest of the way does.
const longResult = 8 << 10

// stand is what holds a long text's place until the JSON is there. Who has it in a
// text of their own only goes the longer way.
const stand = "long text stands behind the JSON"

// frameSource is [framer.frame] for a result that is still what its tool made of a
// struct, with the long texts from the struct itself. False: it is another one.
func (f *framer) frameSource(number uint32, result tools.Result) (plain, texts []byte, ok bool) {
	if len(result.JSON) < longResult {
		return nil, nil, false
	}
	source, ok := result.Source()
	if !ok {
		return nil, nil, false
	}
	short, long := split(source)
	if len(long) == 0 {
		return nil, nil, false
	}
	var object bytes.Buffer
	writer := json.NewEncoder(&object)
	writer.SetEscapeHTML(false) // as tools.OK
	quoted := []byte(`"` + stand + `"`)
	if writer.Encode(short) != nil || bytes.Count(object.Bytes(), quoted) != len(long) {
		return nil, nil, false
	}
	written := bytes.ReplaceAll(object.Bytes(), quoted, []byte("NaN"))
	plain, texts = append(append(f.plain[:0], make([]byte, 12)...), written...), f.texts[:0]
	for _, text := range long {
		texts = binary.BigEndian.AppendUint32(texts, uint32(len(text)))
		texts = append(texts, text...)
	}
	plain, texts = f.framed(number, plain, texts)
	return plain, texts, true
}

// split is a copy of a struct in which stand is for the long texts among its own
// fields, and these texts in the order in which they are written as JSON.
func split(source any) (short any, long []string) {
	from := reflect.ValueOf(source)
	if _, own := source.(json.Marshaler); own || from.Kind() != reflect.Struct {
		return nil, nil
	}
	to := reflect.New(from.Type()).Elem()
	to.Set(from)
	for i := range from.NumField() {
		if field := from.Type().Field(i); holdsText(field) && from.Field(i).Len() >= longText {
			text := from.Field(i).String()
			if !utf8.ValidString(text) {
				return nil, nil // JSON says it otherwise
			}
			to.Field(i).SetString(stand)
			long = append(long, text)
		}
	}
	return to.Interface(), long
}

// holdsText tells whether a field is a text that is written as it is.
func holdsText(field reflect.StructField) bool {
	name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return field.Type == reflect.TypeFor[string]() && field.IsExported() && name != "-" && !strings.Contains(options, "string")
}
