package config

import "fmt"

// Secrets returns the values to redact in all output, by a name for the user: the configured keys,
// and the variables of the environment and .env selected by secret.
func (l *Loaded) Secrets(secret func(name string) bool) map[string]string {
	c := secretCollector{secret: secret, out: map[string]string{}}
	for name, value := range l.environ {
		if secret(name) {
			c.add(name, value)
		}
	}
	c.keys("api_key of an unused endpoint", l.detached)
	for _, f := range l.schema.root.keys {
		if value, ok := l.tree[f.name]; ok { // no default is a secret
			c.collect(f.name, f, value)
		}
	}
	return c.out
}

type secretCollector struct {
	secret func(name string) bool
	out    map[string]string
}

func (c secretCollector) collect(key string, f field, value any) {
	tree, isTree := value.(map[string]any)
	switch {
	case f.typ == typeOfKeys:
		c.keys(key, keysOf(value))
	case f.secret == "yes":
		c.keys(key, keysOf(value))
	case !isTree:
	case f.section():
		for _, below := range f.keys {
			if value, ok := tree[below.name]; ok {
				c.collect(key+"."+below.name, below, value)
			}
		}
	case f.sections():
		for name, value := range tree {
			c.collect(key+"."+name, f.elem(), value)
		}
	case f.secret == "names":
		for name, value := range tree {
			if text, ok := value.(string); ok && c.secret(name) {
				c.add(key+"."+name, text)
			}
		}
	}
}

func (c secretCollector) keys(name string, list Keys) {
	for i, key := range list {
		if i > 0 {
			c.add(fmt.Sprintf("%s %d", name, i+1), key)
		} else {
			c.add(name, key)
		}
	}
}

// add adds a value, and the form in which it is sent.
func (c secretCollector) add(name, value string) {
	c.out[name] = value
	if key, _ := CleanKey(value); key != value && key != "" {
		c.out[name+", as it is sent"] = key
	}
}
