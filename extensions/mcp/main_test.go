package mcp

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/modes"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// serverWord makes this test binary a server on stdio.
const serverWord = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	modes.Enter()
	switch os.Getenv(serverWord) {
	case "yes":
		fmt.Println("Welcome to the server!") // as some do, where only messages belong
		fmt.Fprintln(os.Stderr, "listening, with the key s3cr3t-value")
		if err := testServer(nil).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(0)
	case "stubborn": // neither the end of its input nor a signal ends it
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
		_ = testServer(nil).Run(context.Background(), &sdk.StdioTransport{})
		for {
			time.Sleep(time.Hour)
		}
	case "broken":
		fmt.Fprintln(os.Stderr, "the database is locked")
		os.Exit(3)
	}
	goleak.VerifyTestMain(m)
}
