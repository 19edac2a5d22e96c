package mcp

import (
	"context"
	"fmt"
	"os"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/hermes-ls/hermes-ls/internal/proc"
)

// serverWord makes this test binary a server on stdio.
const serverWord = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	proc.Supervise()
	switch os.Getenv(serverWord) {
	case "yes":
		fmt.Println("Welcome to the server!") // as some do, where only messages belong
		fmt.Fprintln(os.Stderr, "listening, with the key s3cr3t-value")
		if err := testServer(nil).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(0)
	case "broken":
		fmt.Fprintln(os.Stderr, "the database is locked")
		os.Exit(3)
	}
	goleak.VerifyTestMain(m)
}
