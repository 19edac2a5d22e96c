package mcp

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/modes"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// serverWord is a variable that turns this test binary into an MCP server on stdio.
const serverWord = "MCP_TEST_SERVER"

func TestMain(m *testing.M) {
	modes.Enter()
	if kind, ok := strings.CutPrefix(os.Getenv(serverWord), "misbehaves "); ok {
		misbehave(kind)
		os.Exit(0)
	}
	switch os.Getenv(serverWord) {
	case "yes":
		fmt.Println("Welcome to the server!") // some servers print a greeting where only messages are allowed
		fmt.Fprintln(os.Stderr, "listening, with the key s3cr3t-value")
		if err := testServer(nil).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(0)
	case "stubborn": // ignores the end of its input and signals
		signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
		_ = testServer(nil).Run(context.Background(), &sdk.StdioTransport{})
		for {
			time.Sleep(time.Hour)
		}
	case "faulty":
		beFaulty()
		os.Exit(0)
	case "broken":
		fmt.Fprintln(os.Stderr, "the database is locked")
		os.Exit(3)
	}
	goleak.VerifyTestMain(m)
}
