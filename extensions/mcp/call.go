package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/params"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/results"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/running"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/wire"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
	"github.com/hermes-ls/hermes-ls/tools/policy"
)

const (
	defaultTimeout = 120 * time.Second
	longestCall    = time.Hour // limit of a call, however often it reports progress
	resultCap      = 50_000    // bytes
)

// tool returns the model's tool for a definition.
func (s *Servers) tool(d definition) tools.Tool {
	t := tools.Tool{
		Name: d.full, Toolset: toolset(d.label), Kind: tools.KindOther, Description: d.description, Schema: d.schema,
		SchemaChecked: !d.recalled, ReadOnly: d.readOnly, Plans: true, ResultCap: resultCap, TellsRunning: true, Group: d.group, Parallel: s.parallel(d.label),
		Title: func(args json.RawMessage) string { return titleOf(d, args) },
		Run: func(ctx context.Context, env *tools.Env, c tools.Call) (tools.Result, error) {
			return s.call(ctx, env, c, d)
		},
	}
	if d.readOnly {
		t.Kind = tools.KindFetch
	}
	return t
}

// titleOf returns the title of a call in the editor: the tool and its arguments, shortened.
func titleOf(d definition, args json.RawMessage) string {
	name := d.title
	if name == "" {
		name = strings.TrimPrefix(d.full, prefix+d.label+"__")
	}
	title := d.label + ": " + name
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) == nil && len(given) > 0 {
		title += " " + oneLine(string(args), 80)
	}
	return title
}

// call finds the current definition of the tool, checks the permission, and runs the call.
func (s *Servers) call(ctx context.Context, env *tools.Env, c tools.Call, offered definition) (tools.Result, error) {
	if env.Planning && !offered.readOnly && !offered.recalled {
		return tools.Fail("%v", tools.Rejected("can change something, because its server does not mark it as read-only")), nil
	}
	one, conn, now, err := s.find(ctx, offered.full)
	if err != nil {
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		return tools.Fail("%v", err), nil
	}
	if offered.unseen {
		offered = now
	}
	c.Args = params.Restore(c.Args, now.renamed)
	if err := permit(ctx, env, c, one, offered, now); err != nil {
		return tools.Fail("%v", err), nil
	}
	result, err := one.call(ctx, env, c, conn, now)
	if errors.Is(err, sdk.ErrSessionMissing) { // the server has dropped the session, so the call did not run
		one.forget(ctx, conn)
	}
	if ended(err) {
		one.dropped(ctx, conn)
	}
	tooLong := err != nil && conn.carrier.Cut()
	if errors.Is(err, sdk.ErrSessionMissing) || ended(err) && !tooLong && ctx.Err() == nil && (now.readOnly || now.idempotent) {
		if again, connErr := one.connection(ctx); connErr == nil {
			conn = again
			if result, err = one.call(ctx, env, c, conn, now); ended(err) {
				one.dropped(ctx, conn)
			}
		}
	}
	note := conn.carrier.review(ctx, c)
	switch {
	case ctx.Err() != nil:
		return tools.Result{}, ctx.Err()
	case isLogin(err):
		if errors.Is(err, errLogin) {
			loggedOut(ctx, one, conn)
		}
		return tools.Fail("%s", one.needsLogin()), nil
	case tooLong:
		return tools.Fail("%s: the server sent more than %d MB, which is left out. What the call had begun may be done or not", offered.full, wire.LongestMessage>>20), nil
	case err != nil:
		return tools.Fail("%s: %s", offered.full, one.worded(err)), nil
	}
	r := results.Of(ctx, env, s.cfg.Pictures, result)
	if note != "" {
		r = extension.WithNote(r, note)
	}
	return r, nil
}

// find returns a tool by its name for the model. If its server is not connected, find
// connects it.
func (s *Servers) find(ctx context.Context, full string) (*server, *connection, definition, error) {
	for _, one := range s.all() {
		if !strings.HasPrefix(full, prefix+one.label+"__") {
			continue
		}
		conn, err := one.connection(ctx)
		if errors.Is(err, errPermission) {
			if err = one.ask(ctx); err == nil {
				conn, err = one.connection(ctx)
			}
		}
		if errors.Is(err, errLogin) {
			return nil, nil, definition{}, errors.New(one.needsLogin())
		}
		if err != nil {
			return nil, nil, definition{}, fmt.Errorf("%s. Go on without it, and tell the user", strings.TrimRight(err.Error(), ". "))
		}
		d, there := one.catalog.get(full)
		if !there {
			return nil, nil, d, fmt.Errorf("the MCP server %s does not offer %s any more. Go on without it", one.Name, full)
		}
		return one, conn, d, nil
	}
	return nil, nil, definition{}, fmt.Errorf("the MCP server of %s is not connected in this session. Go on without it, and tell the user", full)
}

// permit checks whether the call may run. The call runs without approval only if the
// server marks the tool as read-only, and the tool is described as when the session began.
func permit(ctx context.Context, env *tools.Env, c tools.Call, one *server, offered, now definition) error {
	v := policy.Verdict{
		Level: policy.Asks, Reason: fmt.Sprintf("calls %s of the MCP server %s", oneLine(now.name, nameLimit), one.label),
		Commands: []string{now.full},
	}
	if now.key != "" {
		v.Keys = []string{now.key}
	}
	// A recalled tool required approval when the session began. It still requires it.
	laxer := now.readOnly && !offered.readOnly && !offered.recalled
	if one.approvalOf(now.name) == approveDeny {
		return fmt.Errorf("not run: the user's settings deny %s (mcp_servers.%s.tools.approve). Do not try it in another form", now.full, one.Name)
	}
	changed := now.changed || offered.description != now.description || !bytes.Equal(offered.schema, now.schema)
	switch {
	case changed:
		v.Reason += ", which is described in other words than when this session began"
	case laxer:
		v.Reason += ", which says that it only reads, and did not say so when this session began"
	case one.runsFreely(now):
		v.Level, v.Keys = policy.Runs, nil
	}
	if env.Planning && (changed || laxer || !now.readOnly) {
		return tools.Rejected("can change something, because its server does not mark it as read-only as it is")
	}
	if env.Gate == nil {
		if v.Level == policy.Runs {
			return nil
		}
		return gate.NoApproval(v)
	}
	kind := tools.KindOther
	if now.readOnly {
		kind = tools.KindFetch
	}
	return env.Gate.Check(ctx, env, c, kind, fmt.Sprintf("%s: %s %s", one.label, now.name, c.Args), v)
}

var errSilent = errors.New("no answer in time")

// call sends a call. If the server neither answers nor reports progress within the
// timeout, it returns an error.
func (s *server) call(ctx context.Context, env *tools.Env, c tools.Call, conn *connection, d definition) (*sdk.CallToolResult, error) {
	limit := limitOf(s)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer time.AfterFunc(max(limit, longestCall), func() { cancel(errSilent) }).Stop()
	silence := time.AfterFunc(limit, func() { cancel(errSilent) })
	defer silence.Stop()
	show, stop := running.Thin(func(line string) {
		if env.Progress != nil {
			env.Progress(tools.Progress{CallID: c.ID, Message: line})
		}
	})
	defer stop()
	token, over := s.calls.Follow(func(p *sdk.ProgressNotificationParams) {
		silence.Reset(limit)
		show(progressLine(p))
	}, env.Waiting)
	defer over()
	request := &sdk.CallToolParams{Name: d.name, Arguments: c.Args}
	request.SetProgressToken(token)
	defer env.Running(ctx)()
	result, err := conn.session.CallTool(ctx, request)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return nil, fmt.Errorf("%w and was cancelled; what it had begun may be done or not", conn.carrier.Waits(fmt.Errorf("it did not answer within %v", limit)))
	}
	return result, err
}

// ended reports whether the connection ended during a call.
func ended(err error) bool {
	return errors.Is(err, sdk.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)
}

// parallel reports whether writing tools of a server may run in parallel.
func (s *Servers) parallel(label string) bool {
	return slices.ContainsFunc(s.all(), func(one *server) bool { return one.label == label && one.Parallel })
}

// worded returns the text of an error for the model, without secrets.
func (s *server) worded(err error) string {
	text := err.Error()
	if ended(err) {
		text = fmt.Sprintf("the MCP server %s ended during the call; what it had begun may be done or not. The next call connects it again", s.Name)
	}
	return plain(s.owner.cfg.Hide(login.WithoutQuery(text, s.URL)), longestLine)
}

// progressLine describes the progress of a call, such as "3/10 · indexing".
func progressLine(p *sdk.ProgressNotificationParams) string {
	line := fmt.Sprintf("%.4g", p.Progress)
	if p.Total > 0 {
		line += fmt.Sprintf("/%.4g", p.Total)
	}
	if said := oneLine(p.Message, 120); said != "" {
		line += " · " + said
	}
	return line
}
