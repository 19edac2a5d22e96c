// Command echo is the floor for cold starts: a bare stdio server that only answers each frame with
// an empty result. With the argument plugin, it is an equally bare plugin with a hook; with hook,
// it is a hook without an opinion. With server and files, it is a language server that answers
// every request with a location in each of the files.
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
	switch {
	case len(os.Args) > 1 && os.Args[1] == "server":
		server(in, os.Args[2:])
		return
	case len(os.Args) > 1:
		lines(in, os.Args[1] == "plugin")
		return
	}
	for {
		body := frame(in)
		if body == nil {
			return
		}
		answer(`{"jsonrpc":"2.0","id":1,"result":{"capabilities":{}}}`)
	}
}

func answer(text string) { fmt.Printf("Content-Length: %d\r\n\r\n%s", len(text), text) }

// frame reads a message; nil: there are no more.
func frame(in *bufio.Reader) []byte {
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil
		}
		line = strings.TrimSpace(line)
		if line == "" {
			break
		}
		if value, ok := strings.CutPrefix(line, "Content-Length:"); ok {
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		}
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(in, body); err != nil {
		return nil
	}
	return body
}

// server answers requests with a location in each of the files.
func server(in *bufio.Reader, files []string) {
	var places []string
	for _, file := range files {
		places = append(places, `{"uri":"file://`+file+`","range":{"start":{"line":0,"character":0},"end":{"line":0,"character":1}}}`)
	}
	result := "[" + strings.Join(places, ",") + "]"
	for {
		body := frame(in)
		if body == nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		switch {
		case json.Unmarshal(body, &m) != nil || m.ID == nil:
		case m.Method == "initialize":
			answer(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"capabilities":{}}}`)
		default:
			answer(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + result + `}`)
		}
	}
}

// lines reads a message from each line, and answers requests.
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
