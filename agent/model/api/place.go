package api

import (
	"strconv"
	"strings"
)

// Places returns the first numbers after the name of a list in a message: 3 and 0 for
// "messages.3.content.0", "messages[3].tool_calls[0]", and ["body","messages",3,"content",0].
// If the list is not named with a number, it returns nil.
func Places(message, list string) []int {
	for rest := message; ; {
		_, after, found := strings.Cut(rest, list)
		if !found {
			return nil
		}
		rest = after
		if numbers := numbersOf(after); len(numbers) > 0 {
			return numbers
		}
	}
}

// numbersOf returns the numbers at the start of the rest of a path.
func numbersOf(path string) (numbers []int) {
	for path = separated(path); path != ""; path = separated(path) {
		end := 0
		for end < len(path) && path[end] >= '0' && path[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(path[:end]); end > 0 && err == nil {
			numbers = append(numbers, n)
			path = path[end:]
			continue
		}
		for end = 0; end < len(path) && (path[end] == '_' || path[end] >= 'a' && path[end] <= 'z' || path[end] >= 'A' && path[end] <= 'Z'); {
			end++
		}
		if end == 0 || len(numbers) == 0 { // the first step after the list is a number
			return numbers
		}
		path = path[end:]
	}
	return numbers
}

// separated removes the separator between two steps of a path. At the end of the path, it
// returns "".
func separated(path string) string {
	rest := strings.TrimLeft(path, `.[]'",/`)
	rest = strings.TrimPrefix(rest, " ") // of a list in JSON or Python
	rest = strings.TrimLeft(rest, `'"`)
	if len(rest) == len(path) {
		return ""
	}
	return rest
}
