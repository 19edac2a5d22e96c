package embedded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

var scriptBlock = pattern("(?ms)^```hermes-script[ \t]*\n(.*?)^```")

// script plays the replies that a prompt holds in a fenced block:
//
//	```hermes-script
//	[{"thought":"Hm."},{"text":"I look. "},{"call":{"name":"read_file","args":{"path":"a.go"}}}]
//	[{"sleep_ms":50},{"text":"Done."}]
//	```
//
// One line is the reply to one request, a list of steps: text, thought, call (args
// given as a string are sent as they are, valid or not), sleep_ms, finish (such as
// "length"), cut (true: the connection breaks), or, alone, status (the request is
// refused with that HTTP status).
func script(c *conversation) (reply, bool) {
	block := scriptBlock().FindStringSubmatch(c.prompt + "\n")
	if block == nil {
		return nil, false
	}
	n := 0
	for line := range strings.Lines(block[1]) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if n == c.replies {
			return scripted(line, n+1), true
		}
		n++
	}
	return say(fmt.Sprintf("The script has %d replies, and this would be reply %d.", n, c.replies+1)), true
}

func scripted(line string, number int) reply {
	var r reply
	dec := json.NewDecoder(bytes.NewReader([]byte(line)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return say(fmt.Sprintf("Line %d of the script is not understood: %v.", number, err))
	}
	return r
}
