package markdown

import "context"

// entry is a command or an agent in the result of hermes.extensions.
type entry struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Path        string `json:"path"`
}

// entries lists the commands and the agents.
func (x *Instance) entries(context.Context) (map[string]any, error) {
	return map[string]any{"commands": entriesOf(x.files()), "agents": entriesOf(x.Agents())}, nil
}

func entriesOf(files []File) []entry {
	all := []entry{}
	for _, f := range files {
		all = append(all, entry{f.Name, f.Description, f.Path})
	}
	return all
}
