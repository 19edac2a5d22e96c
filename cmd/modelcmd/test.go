package modelcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server/models"
)

// checks are the observations of model test.
type checks struct {
	Host       string `json:"host"`
	FirstToken int64  `json:"first_token_ms"`
	ToolCall   bool   `json:"tool_call"`
	Thinking   bool   `json:"thinking"`
	CacheRead  int    `json:"cache_read"`  // tokens of the second request
	CacheWrite int    `json:"cache_write"` // tokens of both requests
	Error      string `json:"error,omitempty"`
	err        error
}

// tested is the output of model test --json.
type tested struct {
	OK       bool   `json:"ok"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	API      string `json:"api"`
	Checks   checks `json:"checks"`
}

func testCommand(load func() *config.Loaded) *cobra.Command {
	var base string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "test [PROVIDER/MODEL]", Short: "Send two short requests to a model",
		Long: "The first request has a tool, the second one its result. Without a name, the configured model is tested.",
		Example: "  hermes-ls model test\n" +
			"  hermes-ls model test anthropic/claude-sonnet-4-6 --json",
		Args: func(cmd *cobra.Command, args []string) error { return cli.Usage(cobra.MaximumNArgs(1)(cmd, args)) },
		RunE: func(cmd *cobra.Command, args []string) error {
			loaded := load()
			e, err := endpointToTest(loaded, args, base)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Minute)
			defer cancel()
			result := testModel(ctx, e)
			if result.Checks.Error != "" {
				if e.KeyFrom != "" && !strings.Contains(result.Checks.Error, e.KeyFrom) {
					result.Checks.Error = strings.TrimRight(result.Checks.Error, ".") + ". The key is in " + e.KeyFrom + "."
				}
			}
			switch {
			case asJSON:
				err = cli.JSON(cmd.OutOrStdout(), result)
			default:
				c := result.Checks
				fmt.Fprintf(cmd.OutOrStdout(), "%s/%s at %s, API %s\n", result.Provider, result.Model, c.Host, result.API)
				if c.FirstToken > 0 || result.OK {
					fmt.Fprintf(cmd.OutOrStdout(), "first token after %d ms, tool call: %s, thinking: %s, cache: %d tokens read, %d written\n",
						c.FirstToken, yesNo(c.ToolCall), yesNo(c.Thinking), c.CacheRead, c.CacheWrite)
				}
				if !result.OK {
					return errors.New(c.Error)
				}
			}
			if err == nil && !result.OK {
				err = &cli.Exit{Code: cli.Failed}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&base, "base-url", "", "test at this `address` of the provider")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object with the checks")
	return cmd
}

// endpointToTest returns the endpoint of the named or of the configured model.
func endpointToTest(loaded *config.Loaded, args []string, base string) (config.Endpoint, error) {
	if len(args) > 0 {
		provider, id, err := namedModel(loaded, args[0])
		if err != nil {
			return config.Endpoint{}, err
		}
		if base != "" {
			loaded = loadAt(config.Home(os.Environ()), os.Environ(), provider, id, base)
		}
		return loaded.ProviderEndpoint(provider, id)
	}
	if base != "" {
		return config.Endpoint{}, cli.Usage(errors.New("--base-url is the address of one provider; add PROVIDER/MODEL"))
	}
	all, err := loaded.Endpoints()
	if err != nil {
		return config.Endpoint{}, err
	}
	if all[0].Provider == "embedded" {
		return config.Endpoint{}, errors.New("the model is embedded: it plays scripts, and there is nothing to test; name PROVIDER/MODEL")
	}
	return all[0], nil
}

// testTokens limits each response of a test. A thinking model needs some hundred, and a model without an
// end must not run until the timeout.
const testTokens = 2000

// testModel sends a request with a tool, then its result.
func testModel(ctx context.Context, e config.Endpoint) tested {
	out := tested{Provider: e.Provider, Model: e.Model, API: e.API}
	if u, err := url.Parse(e.BaseURL); err == nil {
		out.Checks.Host = u.Host
	}
	m := client.New(client.Config{Endpoints: []client.Endpoint{models.Endpoint(e, nil, slog.New(slog.DiscardHandler))}, Stall: e.Stall})
	defer m.Close()
	req := &model.Request{
		System:   "You test a connection. Call the tool ping once with the text \"hello\". After its result, answer with the word done.",
		Messages: []model.Message{model.NewMessage(model.User, "Test the connection.")},
		Tools: []model.Tool{{Name: "ping", Description: "Returns the text.", Schema: json.RawMessage(
			`{"type":"object","properties":{"text":{"type":"string","description":"The text to return."}},"required":["text"]}`)}},
		SessionID: "model-test", Turn: "1", MaxTokens: testTokens,
	}
	reply, err := out.Checks.send(ctx, m, req)
	if err == nil && len(reply.Calls) == 0 {
		err = unusableError(e.Model + " did not call the tool; hermes-ls requires a model with tool calls")
	}
	if err == nil {
		out.Checks.ToolCall = true
		req.Messages = append(req.Messages, model.Message{Role: model.Assistant, Parts: reply.Parts()})
		for _, c := range reply.Calls {
			req.Messages = append(req.Messages, model.ResultMessage(c.ID, c.Name, `{"text":"hello"}`))
		}
		reply, err = out.Checks.send(ctx, m, req)
	}
	if err != nil {
		out.Checks.Error, out.Checks.err = err.Error(), err
		return out
	}
	out.Checks.CacheRead = reply.Usage.CachedRead
	out.OK = true
	return out
}

// send sends a request and records the properties of the response.
func (c *checks) send(ctx context.Context, m model.Model, req *model.Request) (*model.Reply, error) {
	var reply model.Reply
	begun := time.Now()
	for d, err := range m.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		if c.FirstToken == 0 && (d.Text != "" || d.Reasoning != "" || d.Call != nil) {
			c.FirstToken = max(time.Since(begun).Milliseconds(), 1)
		}
		c.Thinking = c.Thinking || d.Reasoning != "" || d.Begin == model.ReasoningType
		if err := reply.Add(d); err != nil {
			return nil, err
		}
	}
	c.Thinking = c.Thinking || reply.Usage.Reasoning > 0
	c.CacheWrite += reply.Usage.CachedWrite
	return &reply, nil
}

func yesNo(v bool) string {
	if v {
		return "yes"
	}
	return "no"
}
