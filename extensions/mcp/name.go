package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const (
	prefix     = "mcp__"
	nameLimit  = 64 // of a function's name at model endpoints
	labelLimit = 32
)

// labelOf is a server's name as it stands in the names of its tools.
func labelOf(name string) string { return shortened(letters(name), labelLimit, name) }

// Toolset is the toolset of the tools of a server with this name.
func Toolset(name string) string { return toolset(labelOf(name)) }

func toolset(label string) string { return "mcp-" + label }

// fullName is a tool's name for the model.
func fullName(label, tool string) string {
	head := prefix + label + "__"
	return head + shortened(letters(tool), nameLimit-len(head), tool)
}

// letters keeps what a function's name may hold. Two underscores would end a
// server's name.
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

// shortened cuts a name, and tells it apart from others that begin the same.
func shortened(name string, limit int, whole string) string {
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(whole))
	return name[:limit-7] + "_" + hex.EncodeToString(sum[:3])
}

// unique numbers a name that is taken, and takes it.
func unique(name string, taken map[string]bool) string {
	free := name
	for n := 2; taken[free]; n++ {
		end := fmt.Sprintf("_%d", n)
		free = name[:min(len(name), nameLimit-len(end))] + end
	}
	taken[free] = true
	return free
}
