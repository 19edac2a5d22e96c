package codeexec

import (
	"encoding/json"
	"math"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/shorten"
)

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// longArgument is how many characters of a text argument a transcript keeps.
const longArgument = 500

// abridged returns the arguments of a call with long texts cut.
func abridged(args []byte) json.RawMessage {
	if len(args) <= longArgument && json.Valid(args) {
		return args
	}
	var object map[string]any
	if json.Unmarshal(args, &object) != nil {
		quoted, _ := json.Marshal(shorten.OneLine(string(args[:min(len(args), 4*longArgument)]), longArgument)) // a text always marshals
		return quoted
	}
	for name, value := range object {
		if _, ok := value.(string); !ok {
			text, err := json.Marshal(value)
			if err != nil || len(text) <= longArgument {
				continue
			}
			value = string(text)
		}
		if r := []rune(value.(string)); len(r) > longArgument {
			object[name] = string(r[:longArgument]) + "…"
		}
	}
	text, err := json.Marshal(object)
	if err != nil || len(text) > 20*longArgument {
		return json.RawMessage(`{}`)
	}
	return text
}
