// Command echo is the floor that cold start is measured against: a bare stdio
// server that answers each frame with an empty result and does nothing else.
package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func main() {
	in := bufio.NewReader(os.Stdin)
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
