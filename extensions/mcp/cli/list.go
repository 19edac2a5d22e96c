package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/hermes-ls/hermes-ls/cli"
	"github.com/hermes-ls/hermes-ls/extensions/mcp"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/form"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/redact"
	"github.com/hermes-ls/hermes-ls/internal/trust"
)

// Additional states for lists only.
const (
	disabled    = "disabled"
	notApproved = "not approved"
)

// row is a server of a list.
type row struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Tools *int   `json:"tools"`
	From  string `json:"from"`
	Error string `json:"error,omitempty"`
	next  string // a command as the next step
}

func (o Options) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "Connect all servers and show their states", Args: cli.NoArgs,
		Example: "  hermes-ls mcp list\n  hermes-ls mcp list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := o.open()
			if err != nil {
				return err
			}
			rows, err := s.rows(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), map[string]any{"servers": rows})
			}
			return writeRows(cmd.OutOrStdout(), rows)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func writeJSON(w io.Writer, v any) error {
	data, err := cli.EncodeIndented(v)
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", data)
	}
	return err
}

// plainName matches names for copying into a shell.
var plainName = lazyregexp.New(`^[\w.-]+$`)

// rows connects all servers, and returns them sorted by name.
func (s *setup) rows(ctx context.Context) ([]row, error) {
	rows := []row{}
	list, _ := s.usable()
	all, hide, end, err := s.connect(ctx, s.loaded, list, nil)
	if err != nil {
		return nil, err
	}
	defer end()
	known := map[string]bool{}
	for i, st := range all.Status() {
		r := row{Name: st.Name, State: st.State, From: hide.Text(from(list[i])), Error: st.Error}
		if one, ok := s.settings()[st.Name]; ok { // without the values of variables
			r.From = one.From()
		}
		switch st.State {
		case mcp.Connected:
			n := len(st.Tools)
			r.Tools = &n
		case mcp.NeedsLogin:
			r.Error, r.next = "", "hermes-ls mcp login "+escape.Line(st.Name)
		case mcp.NeedsApproval:
			r.State = notApproved
		}
		rows = append(rows, r)
		known[st.Name] = true
	}
	for name, one := range s.settings() {
		if known[name] {
			continue
		}
		known[name] = true
		r := row{Name: name, State: disabled, From: one.From()}
		if _, err := s.find(name); one.Enabled && err != nil {
			r.State, r.Error = mcp.Failed, err.Error()
		}
		rows = append(rows, r)
	}
	problems := s.problemsOfApproved()
	for _, o := range s.offered() {
		switch problem, approved := problems[o.Name]; {
		case known[o.Name]:
		case approved:
			rows = append(rows, row{Name: o.Name, State: mcp.Failed, From: from(mcp.Server{Workspace: &o}), Error: problem})
		default:
			r := row{Name: o.Name, State: notApproved, From: from(mcp.Server{Workspace: &o}), Error: o.Problem}
			if o.Problem == "" && plainName.MatchString(o.Name) {
				r.next = "hermes-ls mcp approve " + o.Name
			}
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.Name, b.Name) })
	return rows, nil
}

// from describes the origin of a server outside of config.yaml. For a workspace's server, variables
// are not expanded.
func from(s mcp.Server) string {
	if w := s.Workspace; w != nil {
		return w.Line() + " (from " + w.From + ")"
	}
	if s.URL != "" {
		return login.Address(s.URL)
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}

func writeRows(w io.Writer, rows []row) error {
	if len(rows) == 0 {
		fmt.Fprintln(w, "There are no MCP servers. Add one: hermes-ls mcp add NAME URL")
		return nil
	}
	// A tabwriter aligns all columns to one side, so the numbers are padded before.
	width := len("TOOLS")
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tSTATE\tTOOLS\tFROM")
	for _, r := range rows {
		tools := "-"
		if r.Tools != nil {
			tools = strconv.Itoa(*r.Tools)
		}
		last := escape.Line(r.From)
		if extra := cmp.Or(r.next, escape.Line(r.Error)); extra != "" {
			last += "\t" + extra
		}
		fmt.Fprintf(t, "%s\t%s\t%*s\t%s\n", escape.Line(r.Name), r.State, width, tools, last)
	}
	return t.Flush()
}

// report is the result of a test.
type report struct {
	Name      string              `json:"name"`
	State     string              `json:"state"`
	Tools     []string            `json:"tools"`
	Prompts   []string            `json:"prompts"`
	Resources int                 `json:"resources"`
	Error     string              `json:"error,omitempty"`
	Result    *sdk.CallToolResult `json:"result,omitempty"`
}

func (o Options) testCommand() *cobra.Command {
	var call, args, answer string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "test NAME|URL", Short: "Connect one server, and call a tool of it", Args: cli.One("one server"),
		Long: "Shows the tools, prompts and resources. With --call, it calls a tool without asking.",
		Example: "  hermes-ls mcp test github\n" +
			"  hermes-ls mcp test https://mcp.example.com/mcp --call search --args '{\"query\": \"go\"}' --json",
		RunE: func(cmd *cobra.Command, names []string) error {
			if args != "" && !json.Valid([]byte(args)) {
				return cli.Usage(fmt.Errorf("--args is no JSON: %s", args))
			}
			elicit, err := answers(answer)
			if err != nil {
				return err
			}
			s, err := o.open()
			if err != nil {
				return err
			}
			one, err := s.find(names[0])
			r := report{Name: names[0], State: s.stateOf(names[0]), Tools: []string{}, Prompts: []string{}}
			if err != nil {
				r.Error = err.Error()
			} else {
				r, err = s.test(cmd.Context(), one, call, args, elicit)
			}
			if asJSON {
				if writing := writeJSON(cmd.OutOrStdout(), r); writing != nil {
					return writing
				}
				var exit *cli.Exit
				if errors.As(err, &exit) {
					return &cli.Exit{Code: exit.Code}
				}
				if err != nil {
					return &cli.Exit{Code: cli.Failed}
				}
				return nil
			}
			if err == nil || r.Result != nil {
				writeReport(cmd.OutOrStdout(), r)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&call, "call", "", "call this `tool`, by the server's name for it")
	cmd.Flags().StringVar(&args, "args", "", "arguments of the call, as `JSON`")
	cmd.Flags().StringVar(&answer, "answer", "decline", "answer to the server's questions: `accept|decline`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// stateOf returns the state of a server that cannot be connected.
func (s *setup) stateOf(name string) string {
	if one, ok := s.settings()[name]; ok {
		if one.Enabled {
			return mcp.Failed
		}
		return disabled
	}
	_, approved := s.problemsOfApproved()[name]
	if !approved && slices.ContainsFunc(s.offered(), func(o trust.Server) bool { return o.Name == name }) {
		return notApproved
	}
	return mcp.Failed
}

func (s *setup) test(ctx context.Context, one mcp.Server, call, args string, elicit func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error)) (report, error) {
	r := report{Name: one.Name, Tools: []string{}, Prompts: []string{}}
	all, hide, end, err := s.connect(ctx, s.loaded, []mcp.Server{one}, elicit)
	if err != nil {
		return r, err
	}
	defer end()
	st := all.Status()[0]
	r.State, r.Error = st.State, st.Error
	if st.State == mcp.NeedsApproval {
		r.State = notApproved
	}
	if err := exitFor(st); err != nil {
		return r, err
	}
	offer, err := all.Offer(ctx, one.Name)
	if err != nil {
		r.State, r.Error = mcp.Failed, err.Error()
		return r, err
	}
	r.Tools, r.Prompts, r.Resources = offer.Tools, offer.Prompts, offer.Resources
	if call == "" {
		return r, nil
	}
	limit := 120 * time.Second
	if one.Timeout > 0 {
		limit = one.Timeout
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if r.Result, err = all.CallTool(ctx, one.Name, call, json.RawMessage(cmp.Or(args, "{}"))); err != nil {
		r.Error = err.Error()
		if mcp.NeedsUser(err) {
			r.State = mcp.NeedsLogin
			return r, &cli.Exit{Code: cli.NeedsLogin, Err: fmt.Errorf("%s needs login: hermes-ls mcp login %[1]s", one.Name)}
		}
		return r, err
	}
	if r.Result, err = redacted(hide, r.Result); err != nil {
		return r, err
	}
	if r.Result.IsError {
		r.Error = "the tool reports an error"
		return r, fmt.Errorf("%s: %s", call, r.Error)
	}
	return r, nil
}

func writeReport(w io.Writer, r report) {
	fmt.Fprintf(w, "%s: %s, %s, %s, %s\n", escape.Line(r.Name), r.State,
		amount.Plural(len(r.Tools), "tool"), amount.Plural(len(r.Prompts), "prompt"), amount.Plural(r.Resources, "resource"))
	for _, name := range r.Tools {
		fmt.Fprintln(w, "  "+escape.Line(name))
	}
	if r.Result == nil {
		return
	}
	for _, c := range r.Result.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			fmt.Fprintln(w, escape.Text(text.Text))
		} else {
			_ = writeJSON(w, c) // a failed write to stdout is not worth a message
		}
	}
	if r.Result.StructuredContent != nil && len(r.Result.Content) == 0 {
		_ = writeJSON(w, r.Result.StructuredContent)
	}
}

// redacted returns a result without secrets: a server can send a token back.
func redacted(hide *redact.Set, r *sdk.CallToolResult) (*sdk.CallToolResult, error) {
	data, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	clean := new(sdk.CallToolResult)
	return clean, json.Unmarshal([]byte(hide.Text(string(data))), clean)
}

// answers returns a function for answering elicitations.
func answers(how string) (func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error), error) {
	switch how {
	case "decline":
		return func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "decline"}, nil
		}, nil
	case "accept":
		return func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			fmt.Fprintln(os.Stderr, escape.Line(r.Params.Message))
			return &sdk.ElicitResult{Action: "accept", Content: defaults(form.Schema(ctx, r.Params))}, nil
		}, nil
	}
	return nil, cli.Usage(fmt.Errorf("--answer is accept or decline, and not %q", how))
}

// defaults returns the default values of a schema.
func defaults(schema any) map[string]any {
	data, err := json.Marshal(schema)
	if err != nil {
		return nil
	}
	var form struct {
		Properties map[string]struct {
			Default any `json:"default"`
		}
	}
	if json.Unmarshal(data, &form) != nil {
		return nil
	}
	values := map[string]any{}
	for name, p := range form.Properties {
		if p.Default != nil {
			values[name] = p.Default
		}
	}
	return values
}
