package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

var typeOfKeys = reflect.TypeFor[Keys]()

// Keys is one API key or several; in YAML a string or a list.
type Keys []string

// MarshalJSON encodes one key as a string, several as a list.
func (k Keys) MarshalJSON() ([]byte, error) {
	if len(k) > 1 {
		return json.Marshal([]string(k))
	}
	return json.Marshal(strings.Join(k, ""))
}

// UnmarshalJSON decodes a string or a list of strings. An empty string is no key.
func (k *Keys) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*k = nil
		if one != "" {
			*k = Keys{one}
		}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return fmt.Errorf("an API key is a string or a list of strings")
	}
	*k = many
	return nil
}
