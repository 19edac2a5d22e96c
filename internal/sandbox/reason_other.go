//go:build !linux

package sandbox

import (
	"fmt"
	"strings"
)

// why explains why no mechanism works.
func why(errs map[Kind]error) string {
	var reasons []string
	for kind, err := range errs {
		reasons = append(reasons, fmt.Sprintf("%s: %v", kind, err))
	}
	if len(reasons) == 0 {
		return "there is none for this system"
	}
	return strings.Join(reasons, "; ")
}
