package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

const (
	prefix     = "mcp__"
	nameLimit  = 64 // limit of model endpoints for the name of a function
	labelLimit = 32
)

// labelOf returns a server's name in the form that the names of its tools contain.
func labelOf(name string) string { return shortened(letters(name), labelLimit, name) }

// ToolName returns the name for the model of a tool, by the names that the user and the server use.
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

// letters replaces characters that the name of a function cannot have. It also replaces
// two underscores by one, because two underscores end the label of the server.
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

// shortened cuts a name that is too long and appends a hash of whole, so that names with
// the same start differ.
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
