package config

import "encoding/json"

// Load and the others use the schema that has the keys of [Config] alone.
func Load(home string, o Options) *Loaded    { return NewSchema().Load(home, o) }
func Set(home, key, text string) error       { return NewSchema().Set(home, key, text) }
func schemaJSON() json.RawMessage            { return NewSchema().JSON() }
func lookup(key string) (field, bool)        { return NewSchema().root.find(key) }
func leaves(visit func(key string, f field)) { NewSchema().root.leaves("", visit) }
