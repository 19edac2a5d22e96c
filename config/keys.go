package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

var (
	typeOfKeys   = reflect.TypeFor[Keys]()
	typeOfModels = reflect.TypeFor[Models]()
)

// Models is a list of models; in YAML each is a MODEL, a PROVIDER/MODEL, or {provider, model}.
type Models []ModelName

// ModelName is a model as a setting names it. If Provider is empty, ID can be PROVIDER/MODEL.
type ModelName struct{ Provider, ID string }

// String returns MODEL or PROVIDER/MODEL.
func (m ModelName) String() string {
	if m.Provider == "" {
		return m.ID
	}
	return m.Provider + "/" + m.ID
}

// MarshalJSON encodes a model without a provider as a string.
func (m ModelName) MarshalJSON() ([]byte, error) {
	if m.Provider == "" {
		return json.Marshal(m.ID)
	}
	return json.Marshal(map[string]string{"provider": m.Provider, "model": m.ID})
}

// UnmarshalJSON decodes a string, or an object with a provider and a model.
func (m *ModelName) UnmarshalJSON(data []byte) error {
	if *m = (ModelName{}); json.Unmarshal(data, &m.ID) == nil {
		return nil
	}
	var pair struct{ Provider, Model string }
	if err := json.Unmarshal(data, &pair); err != nil || pair.Model == "" {
		return fmt.Errorf("a model is a text, or a mapping with provider and model")
	}
	m.Provider, m.ID = pair.Provider, pair.Model
	return nil
}

// Keys are API keys; in YAML a string or a list.
type Keys []string

// MarshalJSON encodes a single key as a string, several as a list.
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
