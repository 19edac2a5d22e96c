package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hermes-ls/hermes-ls/extensions/mcp/clean"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/login"
	"github.com/hermes-ls/hermes-ls/extensions/mcp/params"
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"github.com/hermes-ls/hermes-ls/tools"
)

// definition is a server's description of a tool, converted for models.
type definition struct {
	full        string // the name for the model
	label       string // of the server
	name        string // the server's name for it; empty: not known yet
	title       string // for the user
	description string
	schema      json.RawMessage
	renamed     map[string]string // the server's names of parameters renamed for the model
	destructive bool              // the server marks it so
	idempotent  bool              // the same
	readOnly    bool              // the server marks it as read-only
	recalled    bool              // from the store, so readOnly is not known
	unseen      bool              // nothing but the name is known
	changed     bool              // differs from the server's first definition in this session
	group       *tools.Group
	shape       string // identifies the definition
	key         string // identifies the definition and its server; a remembered approval applies to it
}

const (
	mostTools          = 5000    // of a server
	longestDescription = 4000    // bytes
	mostWords          = 6 << 20 // bytes of all descriptions and schemas of a server
	mostChanges        = 5       // limit of the notices to the user
)

// list requests the tools of a server. It omits excluded tools, tools that need a task, and tools
// over a limit.
func (s *server) list(ctx context.Context, conn *connection) ([]definition, error) {
	var found []definition
	taken, group, origin := map[string]int{}, groupOf(s, conn), conn.values.origin()
	var left, asTasks []string
	words, seen, known := 0, map[string]bool{}, map[string]int{} // known: the page of each name, from 1
	for cursor, pages := "", 0; ; pages++ {
		page, err := conn.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			if withoutTools(conn, err) {
				return nil, nil
			}
			return nil, fmt.Errorf("asking for its tools: %w", err)
		}
		news := 0
		for _, t := range page.Tools {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			if t == nil || known[t.Name] > 0 && known[t.Name] <= pages {
				continue
			}
			known[t.Name] = pages + 1
			news++
			if !s.offers(t.Name) {
				continue
			}
			if conn.carrier.NeedsTask(t.Name) {
				asTasks = append(asTasks, plain(t.Name, nameLimit))
				continue
			}
			if len(found) == mostTools {
				left = append(left, plain(t.Name, nameLimit))
				continue
			}
			d, err := define(s.label, t, taken, origin)
			if err != nil || words+len(d.description)+len(d.schema) > mostWords {
				left = append(left, plain(t.Name, nameLimit))
				continue
			}
			d.group = group
			words += len(d.description) + len(d.schema)
			found = append(found, d)
		}
		if cursor = page.NextCursor; cursor == "" || pages == mostTools || seen[cursor] || pages > 0 && news == 0 {
			break // the server would send the same pages without end
		}
		seen[cursor] = true
	}
	s.tellLeftOut(left)
	s.tellFaults(conn.carrier.Faults())
	s.catalog.omitted(asTasks)
	return found, nil
}

// withoutTools reports whether err, a server's answer to a request for its tools, means that it
// offers none.
func withoutTools(conn *connection, err error) bool {
	var answer *jsonrpc.Error
	if isLogin(err) || !errors.As(err, &answer) {
		return false
	}
	r := conn.session.InitializeResult()
	return answer.Code == jsonrpc.CodeMethodNotFound || r == nil || r.Capabilities == nil || r.Capabilities.Tools == nil
}

// groupOf returns the group of the server's tools.
func groupOf(s *server, conn *connection) *tools.Group {
	g := &tools.Group{Name: s.Name, Defer: s.Defer}
	if r := conn.session.InitializeResult(); r != nil {
		about := r.Instructions
		if about == "" && r.ServerInfo != nil {
			about = r.ServerInfo.Title
		}
		g.About = oneLine(about, 300)
	}
	return g
}

// tellLeftOut sends the user a notice of the omitted tools. It does not repeat a notice.
func (s *server) tellLeftOut(names []string) {
	text := ""
	if len(names) > 0 {
		text = list(names)
	}
	if s.notices.omits(text) {
		s.notice(fmt.Sprintf("offers tools that are left out, because there are more than %d or because their parameters are too large or are no object: %s", mostTools, text))
	}
}

// tellFaults sends the user a notice of mistakes in the server's list of tools. It does not repeat a notice.
func (s *server) tellFaults(faults []string) {
	if s.notices.mistakes(faults) {
		s.notice("has mistakes in its list of tools, the others work: " + list(faults))
	}
}

// origin returns the part of the server's configuration used for its tools' keys, as a JSON list.
// If there is none, it returns nil.
func (s Server) origin() []byte {
	data, err := json.Marshal([]any{s.Command, s.Args, s.Dir, withoutSecrets(s.Env), s.Transport, login.Address(s.URL)})
	if err != nil {
		return nil
	}
	return data
}

// define returns the definition of a tool on the server with this label. taken counts the names of
// other tools; origin is the server's.
func define(label string, t *sdk.Tool, taken map[string]int, origin []byte) (definition, error) {
	input, renamed := params.Rename(t.InputSchema)
	schema, err := params.Of(input)
	if err != nil {
		return definition{}, err
	}
	d := definition{
		full: unique(fullName(label, t.Name), taken), label: label, name: t.Name, schema: schema, renamed: renamed,
		title: t.Title, readOnly: t.Annotations != nil && t.Annotations.ReadOnlyHint,
		description: strings.TrimSpace(fmt.Sprintf("(MCP server %s) %s", label, plain(t.Description, longestDescription))),
	}
	if a := t.Annotations; a != nil {
		d.idempotent, d.destructive = a.IdempotentHint, a.DestructiveHint != nil && *a.DestructiveHint
		if d.title == "" {
			d.title = a.Title
		}
	}
	d.title = oneLine(d.title, 80)
	data, err := json.Marshal([]any{d.name, d.title, d.description, d.schema, d.readOnly, d.destructive})
	if err != nil {
		return d, nil // without a key, no approval is remembered
	}
	d.shape = hashOf(data)
	if end := len(origin) - 1; end > 0 {
		d.key = d.full + "@" + hashOf(fmt.Appendf(nil, "%s,%q]", origin[:end], d.shape))
	}
	return d, nil
}

// hashOf returns a hash of a JSON list. The key of a remembered approval hashes the server's
// configuration and the tool's definition. If either changes, the user must approve again.
func hashOf(list []byte) string {
	sum := sha256.Sum256(list)
	return hex.EncodeToString(sum[:16])
}

// withoutSecrets returns the variables of env without the values of secrets. So a new token does
// not change a key.
func withoutSecrets(env []string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if proc.Secret(name) {
			kv = name
		}
		out = append(out, kv)
	}
	slices.Sort(out)
	return out
}

// refresh requests the tools of a server again. The model's tools stay. Calls are checked against
// the new definitions.
func (s *server) refresh(ctx context.Context, conn *connection) {
	found, err := s.list(ctx, conn)
	if err != nil {
		if context.Cause(ctx) != context.Canceled { // the connection has not ended
			s.owner.cfg.Log.Warn("an MCP server's tools could not be listed again", "server", s.Name, "error", s.owner.cfg.Hide(err.Error()))
		}
		return
	}
	changes := difference(s.keep(found), found)
	if changes != "" && s.notices.otherTools() {
		s.notice("offers other tools now: " + changes + ". Changed ones ask again")
	}
}

// keep stores the tools of a list. It returns the tools before.
func (s *server) keep(found []definition) (before map[string]definition) {
	return s.catalog.keep(found, func() { s.owner.version.Add(1) })
}

// difference lists the new, changed and removed tools.
func difference(before map[string]definition, now []definition) string {
	var fresh, changed, gone []string
	there := map[string]bool{}
	for _, d := range now {
		there[d.full] = true
		old, known := before[d.full]
		switch {
		case !known:
			fresh = append(fresh, d.full)
		case old.shape != d.shape:
			changed = append(changed, d.full)
		}
	}
	for name := range before {
		if !there[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	var parts []string
	for _, p := range []struct {
		word  string
		names []string
	}{{"new", fresh}, {"changed", changed}, {"gone", gone}} {
		if len(p.names) > 0 {
			parts = append(parts, p.word+" "+list(p.names))
		}
	}
	return strings.Join(parts, "; ")
}

// list returns up to eight names and the number of the others.
func list(names []string) string {
	const shown = 8
	if len(names) > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
	}
	return strings.Join(names, ", ")
}

// plain returns a server's text without invisible characters, cut at limit. See [clean.Text].
func plain(text string, limit int) string { return clean.Text(text, limit) }

func oneLine(text string, limit int) string { return clean.Line(text, limit) }
