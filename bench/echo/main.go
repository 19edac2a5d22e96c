// Command echo is the floor that cold start is measured against: a bare stdio
// server that answers each frame with an empty result and does nothing else. With the argument
// plugin, it is a plugin of that kind, with a hook; with hook, it is a hook without an opinion.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	in := bufio.NewReader(os.Stdin)
	if len(os.Args) > 1 {
		lines(in, os.Args[1] == "plugin")
		return
	}
	for {
		length := 0
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			line = strings.TrimSpace(line)
			if line == "" {
				break
			}
			if value, ok := strings.CutPrefix(line, "Content-Length:"); ok {
				length, _ = strconv.Atoi(strings.TrimSpace(value))
			}
		}
		if _, err := io.CopyN(io.Discard, in, int64(length)); err != nil {
			return
		}
		const answer = `{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}`
		fmt.Printf("Content-Length: %d\r\n\r\n%s", len(answer), answer)
	}
}

// lines reads messages, one on each line, and answers requests.
func lines(in *bufio.Reader, answers bool) {
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		if !answers || json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		if m.Method == "initialize" {
			result = `{"hooks":["pre_tool_call"]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}
