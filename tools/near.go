package tools

import "strings"

// quoted lists names as "a", "b" or "c".
func quoted(names []string) string {
	var b strings.Builder
	for i, name := range names {
		switch {
		case i == 0:
		case i == len(names)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(`"` + name + `"`)
	}
	return b.String()
}
