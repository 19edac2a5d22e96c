package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// Limits accepted by every API. OpenAI allows 64 bytes in a name and 40 in an id, Anthropic
// restricts the characters, Gemini restricts the first character.
const (
	longestName = 64
	longestID   = 40
	longestKept = 16 << 10 // bytes of an id with meaning for a proxy
	deepest     = 64       // levels of arguments
)

// Unnamed replaces a missing name of a call.
const Unnamed = "unnamed"

// SoundName returns the name of a tool in a form that every API accepts. Valid names stay
// unchanged.
func SoundName(name string) string {
	name = strings.TrimSpace(name)
	kept := strings.Map(idRune, name)
	switch {
	case strings.Trim(kept, "_-") == "":
		return Unnamed
	case kept[0] >= '0' && kept[0] <= '9' || kept[0] == '-':
		kept = "_" + kept
	}
	if len(kept) > longestName {
		return shortened(kept, name, longestName)
	}
	return kept
}

// Ids with a meaning for the server that made them: Kimi's, and LiteLLM's, which contain a
// signature.
var (
	kimiID  = lazyregexp.New(`^functions\.[a-zA-Z0-9_-]{1,64}:[0-9]{1,6}(_[0-9]+)*$`)
	proxyID = lazyregexp.New(`^[a-zA-Z0-9_-]+__thought__[a-zA-Z0-9+/=_-]+$`)
)

// StoredID returns the id of a call for the history. If the id is valid, or has a meaning for
// its server, it stays unchanged. An empty id stays empty.
func StoredID(id string) string {
	if id == "" || kimiID.MatchString(id) || len(id) <= longestKept && proxyID.MatchString(id) {
		return id
	}
	return SoundID(id)
}

// SoundID returns the id of a call in a form that every API accepts. Equal ids stay equal, and
// different ids stay different.
func SoundID(id string) string {
	kept := strings.Map(idRune, id)
	if kept == id && id != "" && len(id) <= longestID {
		return id
	}
	return shortened(kept, id, longestID)
}

// ShortID returns the id of a call as nine letters and digits, which Mistral requires.
func ShortID(id string) string {
	if len(id) == 9 && strings.IndexFunc(id, func(r rune) bool { return idRune(r) != r || r == '_' || r == '-' }) < 0 {
		return id
	}
	return hash(id)[:9]
}

// SameForm reports whether an id has a meaning for its server, and the server of model seems to
// be of the same kind.
func SameForm(id, model string) bool {
	return kimiID.MatchString(id) && strings.Contains(strings.ToLower(model), "kimi") || proxyID.MatchString(id)
}

var ownID = lazyregexp.New(`^call_\d+(_\d+)*$`)

// IsOwnID reports whether an id has the form of a generated id.
func IsOwnID(id string) bool { return ownID.MatchString(id) }

// idRune returns r, or "_" if r is not valid in ids.
func idRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
		return r
	}
	return '_'
}

// shortened returns the start of a text with the hash of the original, at most most bytes.
func shortened(kept, original string, most int) string {
	const size = 8
	if kept == "" {
		kept = "call"
	}
	return kept[:min(len(kept), most-size-1)] + "_" + hash(original)[:size]
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// SoundText returns a text in a form that every API accepts: valid UTF-8 without NUL.
func SoundText(text string) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "�")
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "�")
	}
	return text
}

// SoundArgs returns the arguments of a call as a JSON object that every API accepts. Objects
// without faults stay unchanged. Strict servers refuse unpaired surrogates, NUL, duplicate
// names, huge numbers, and deep nesting; SoundArgs replaces these. If the text is no object,
// SoundArgs returns false.
func SoundArgs(args string) (string, bool) {
	raw := jsontext.Value(strings.TrimSpace(args))
	if len(raw) == 0 || raw[0] != '{' {
		return "", false
	}
	if raw.IsValid() && !hasOdd(raw) {
		return string(raw), true
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var object map[string]any
	if dec.Decode(&object) != nil || object == nil || dec.InputOffset() != int64(len(raw)) {
		return "", false
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(soundValue(object, 1)) != nil {
		return "", false
	}
	return strings.TrimSpace(b.String()), true
}

// EscapesNUL reports whether a JSON value contains a string with NUL.
func EscapesNUL(raw []byte) bool {
	for at := 0; ; {
		i := bytes.Index(raw[at:], []byte(`u0000`))
		if i < 0 {
			return false
		}
		before := raw[:at+i]
		if (len(before)-len(bytes.TrimRight(before, `\`)))%2 == 1 {
			return true
		}
		at += i + 1
	}
}

// hasOdd reports whether a valid value may contain NUL, deep nesting, or a large number.
func hasOdd(raw []byte) bool {
	if EscapesNUL(raw) {
		return true
	}
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > deepest {
				return true
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || c >= '0' && c <= '9':
			end := i + 1
			for end < len(raw) && strings.IndexByte("0123456789.eE+-", raw[end]) >= 0 {
				end++
			}
			if tooLarge(string(raw[i:end])) {
				return true
			}
			i = end - 1
		}
	}
	return false
}

// tooLarge reports whether a number overflows a float, the type that most servers use.
func tooLarge(number string) bool {
	_, err := strconv.ParseFloat(number, 64)
	return err != nil
}

// soundValue returns a value without faults.
func soundValue(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return SoundText(v)
	case json.Number:
		if tooLarge(string(v)) {
			return string(v)
		}
	case []any:
		if depth > deepest {
			return "[…]"
		}
		for i := range v {
			v[i] = soundValue(v[i], depth+1)
		}
	case map[string]any:
		if depth > deepest {
			return "{…}"
		}
		sound := make(map[string]any, len(v))
		for name, inside := range v {
			sound[SoundText(name)] = soundValue(inside, depth+1)
		}
		return sound
	}
	return v
}
