package mcp

import (
	"slices"
	"sync"
)

// catalog has the tools of a server, as it last listed them.
type catalog struct {
	mu        sync.Mutex
	tools     map[string]definition // by their names for the model
	order     []string              // of tools
	original  map[string]string     // the first shapes of tools in this session, by name for the model
	tasks     []string              // omitted tools, because they need a task
	resources bool                  // the last connection had resources
}

// keep stores the tools of a list. It returns the tools before. It calls changed before the new tools can be
// seen.
func (c *catalog) keep(found []definition, changed func()) (before map[string]definition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer changed()
	before, c.tools, c.order = c.tools, map[string]definition{}, nil
	if c.original == nil {
		c.original = map[string]string{}
	}
	for _, d := range found {
		if c.original[d.full] == "" {
			c.original[d.full] = d.shape
		}
		d.changed = c.original[d.full] != d.shape
		c.tools[d.full] = d
		c.order = append(c.order, d.full)
	}
	return before
}

// omitted stores the names of omitted tools that need a task.
func (c *catalog) omitted(tasks []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tasks = tasks
}

func (c *catalog) all() (all []definition) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range c.order {
		all = append(all, c.tools[name])
	}
	return all
}

// names returns the names of the tools for the model, and the server's names of tools that need a task.
func (c *catalog) names() (names, tasks []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.order), slices.Clone(c.tasks)
}

// get returns a tool by its name for the model.
func (c *catalog) get(full string) (d definition, there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, there = c.tools[full]
	return d, there
}

func (c *catalog) setResources(conn *connection) {
	r := conn.session.InitializeResult()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.resources = r != nil && r.Capabilities != nil && r.Capabilities.Resources != nil
}

func (c *catalog) hasResources() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resources
}
