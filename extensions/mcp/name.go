package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
)

const (
	prefix     = "mcp__"
	nameLimit  = 64 // limit of model endpoints for the name of a function
	labelLimit = 32
)

// labelOf returns a server's name in the form used in its tools' names.
func labelOf(name string) string { return shortened(letters(name), labelLimit, name) }

// ToolName returns the model's name of a tool, from the user's name of the server and the server's
// name of the tool.
func ToolName(server, tool string) string { return fullName(labelOf(server), tool) }

// Toolset returns the toolset of the tools of the server with this name.
func Toolset(name string) string { return toolset(labelOf(name)) }

// LogFile returns the file with the output of the server with this name.
func LogFile(home, name string) string {
	return filepath.Join(home, "logs", "mcp-"+labelOf(name)+".log")
}

func toolset(label string) string { return "mcp-" + label }

// fullName returns a tool's name for the model.
func fullName(label, tool string) string {
	head := prefix + label + "__"
	return head + shortened(letters(tool), nameLimit-len(head), tool)
}

// letters replaces characters not allowed in function names. It also replaces double underscores
// with a single one, because two underscores end the label of the server.
func letters(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '_'
	}, name)
	for strings.Contains(name, "__") {
		name = strings.ReplaceAll(name, "__", "_")
	}
	if name = strings.Trim(name, "_"); name == "" {
		return "x"
	}
	return name
}

// shortened cuts a long name and appends a hash of whole, so names with the same start differ.
func shortened(name string, limit int, whole string) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(whole))
	return name[:limit-7] + "_" + hex.EncodeToString(sum[:3])
}

// unique returns name, or name with a number if it is taken. taken counts the uses of each
// name; unique adds the result to it.
func unique(name string, taken map[string]int) string {
	free := name
	for taken[free] > 0 {
		taken[name]++
		end := fmt.Sprintf("_%d", taken[name])
		free = name[:min(len(name), nameLimit-len(end))] + end
	}
	taken[free] = 1
	return free
}

// labelsOf returns the labels of servers by their names. A name identical to its label keeps it, so
// another server does not inherit the user's rules for its tools. If a label is taken, a hash is
// added.
func labelsOf(list []Server) map[string]string {
	labels, taken := map[string]string{}, map[string]bool{}
	for _, one := range list {
		if labelOf(one.Name) == one.Name {
			labels[one.Name], taken[one.Name] = one.Name, true
		}
	}
	for _, one := range list {
		if labels[one.Name] != "" {
			continue
		}
		label := labelOf(one.Name)
		if taken[label] {
			sum := sha256.Sum256([]byte(one.Name))
			label = label[:min(len(label), labelLimit-7)] + "_" + hex.EncodeToString(sum[:3])
		}
		labels[one.Name], taken[label] = label, true
	}
	return labels
}

// NameOf returns the name for the model of a tool of a server in a session.
func NameOf(set *extension.Set, server, tool string) string {
	if x, ok := extension.Find[*Instance](set); ok {
		for _, one := range x.all() {
			if one.Name == server {
				return fullName(one.label, tool)
			}
		}
	}
	return ToolName(server, tool)
}
