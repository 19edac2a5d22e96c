package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	protocol "github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
	"github.com/hermes-ls/hermes-ls/server/acp"
	"github.com/hermes-ls/hermes-ls/server/app"
)

func TestInitialize(t *testing.T) {
	t.Parallel()
	c := dial(t, setup{})
	if r := c.call(protocol.MethodSessionNew, protocol.NewSessionRequest{Cwd: c.ws}); r.Error == nil || r.Error.Code != protocol.CodeInvalidRequest {
		t.Errorf("session/new before initialize: %+v", r)
	}
	var r protocol.InitializeResponse
	c.must(protocol.MethodInitialize, protocol.InitializeRequest{ProtocolVersion: 9}, &r)
	if r.ProtocolVersion != 1 || r.AgentInfo.Name != "hermes-ls" || r.AgentInfo.Version != "0.0-test" {
		t.Errorf("%+v", r)
	}
	can := r.AgentCapabilities
	s := can.SessionCapabilities
	if !can.LoadSession || !can.PromptCapabilities.Image || !can.PromptCapabilities.EmbeddedContext || can.PromptCapabilities.Audio ||
		s.List == nil || s.Delete == nil || s.Resume == nil || s.Close == nil || s.AdditionalDirectories == nil {
		t.Errorf("capabilities %+v", can)
	}
	c.strict = false
	if r := c.call(protocol.MethodInitialize, map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"terminal": "odd", "fs": 3}}); r.Error != nil {
		t.Errorf("odd capabilities: %v", r.Error)
	}
}

func TestConversation(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.Script(
		func(x *fakemodel.Exchange) {
			x.Thought("let me look")
			x.Call("t1", "todo", `{"todos":[{"id":"1","content":"read","status":"in_progress"},{"id":"2","content":"drop","status":"cancelled"}]}`)
			x.Call("r1", "read_file", `{"path":"a.txt"}`)
			x.Call("w1", "write_file", `{"path":"b.txt","content":"new\n"}`)
			x.Call("r2", "read_file", `{"path":"missing.txt"}`)
			x.Usage(model.Usage{Input: 100, Output: 20, Cost: 0.25})
			x.End()
		},
		func(x *fakemodel.Exchange) {
			for word := range strings.FieldsSeq("it says hello") {
				x.Text(word + " ")
			}
			x.End()
		},
	)})
	write(t, filepath.Join(c.ws, "a.txt"), "hello\n")
	id := c.newSession()
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "what is in a.txt?"))); got != "end_turn" {
		t.Fatal(got)
	}
	updates := c.seen()
	if got := text(updates, protocol.UpdateAgentMessage); got != "it says hello " {
		t.Errorf("text %q", got)
	}
	if got := text(updates, protocol.UpdateAgentThought); got != "let me look" {
		t.Errorf("thought %q", got)
	}
	if got := text(updates, protocol.UpdateUserMessage); got != "" {
		t.Errorf("the user's own words came back: %q", got)
	}
	for _, want := range []string{protocol.UpdatePlan, protocol.UpdateUsage, protocol.UpdateInfo} {
		if !slices.ContainsFunc(updates, kind(want)) {
			t.Errorf("no %s", want)
		}
	}
	var plan protocol.Plan
	if err := json.Unmarshal(c.until("plan", kind(protocol.UpdatePlan)).Raw, &plan); err != nil || len(plan.Entries) != 1 || plan.Entries[0].Priority != "medium" {
		t.Errorf("plan %+v, %v", plan, err)
	}
	var usage protocol.UsageUpdate
	if err := json.Unmarshal(c.until("usage", kind(protocol.UpdateUsage)).Raw, &usage); err != nil || usage.Cost == nil || usage.Cost.Amount != 0.25 || usage.Used == 0 || usage.Size == 0 {
		t.Errorf("usage %+v, %v", usage, err)
	}
	checkCalls(t, calls(updates))
	if got := read(t, filepath.Join(c.ws, "b.txt")); got != "new\n" {
		t.Errorf("b.txt is %q", got)
	}
}

func checkCalls(t *testing.T, news []protocol.ToolCall) {
	t.Helper()
	begun, ended := map[string]protocol.ToolCall{}, map[string]protocol.ToolCall{}
	for _, n := range news {
		switch {
		case n.SessionUpdate == protocol.UpdateToolCall:
			begun[n.ToolCallID] = n
		case n.Status == protocol.StatusCompleted || n.Status == protocol.StatusFailed:
			ended[n.ToolCallID] = n
		}
	}
	if len(begun) != 4 || len(ended) != 4 {
		t.Fatalf("%d calls begun, %d ended, of 4", len(begun), len(ended))
	}
	for id, b := range begun {
		if b.Title == "" || b.Name == "" || b.Kind == "" || b.RawInput == nil || ended[id].RawOutput == nil {
			t.Errorf("call %s: %+v, %+v", id, b, ended[id])
		}
	}
	r1, w1, r2 := ended["r1"], ended["w1"], ended["r2"]
	if len(begun["r1"].Locations) != 1 || !strings.HasSuffix(begun["r1"].Locations[0].Path, "a.txt") {
		t.Errorf("locations of r1: %+v", begun["r1"].Locations)
	}
	if r1.Status != protocol.StatusCompleted || len(r1.Content) == 0 {
		t.Errorf("r1 ended %+v", r1)
	}
	if len(w1.Content) != 1 || w1.Content[0].Type != "diff" || w1.Content[0].OldText != nil || *w1.Content[0].NewText != "new\n" {
		t.Errorf("w1 shows %+v", w1.Content)
	}
	if r2.Status != protocol.StatusFailed || len(r2.Content) != 1 || !strings.Contains(r2.Content[0].Content.Text, "missing.txt") {
		t.Errorf("r2 ended %+v", r2)
	}
}

func TestPromptContent(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(reply("ok"))
	c := connect(t, setup{model: m})
	id := c.newSession()
	body := "package a"
	c.must(protocol.MethodSessionPrompt, protocol.PromptRequest{SessionID: id, Prompt: []protocol.ContentBlock{
		protocol.Text("look at "),
		{Type: "resource_link", Name: "a.go", URI: "file:///w/a.go"},
		protocol.Text(" and"),
		{Type: "resource", Resource: &protocol.ResourceContents{URI: "file:///w/b.go", Text: &body}},
		{Type: "image", MIMEType: "image/png", Data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="},
		protocol.Text("one"),
		protocol.Text("two"),
	}}, nil)
	first := m.Requests()[0].Messages[0]
	if !strings.HasPrefix(first.Text(), "look at [@a.go](file:///w/a.go) and [@b.go](file:///w/b.go) one\ntwo") {
		t.Errorf("text %q", first.Text())
	}
	if !strings.Contains(first.Text(), "package a") || len(first.Images()) != 1 {
		t.Errorf("context or image is missing: %q, %d images", first.Text(), len(first.Images()))
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.New()})
	c.strict = false
	id := c.newSession()
	file := filepath.Join(c.ws, "file")
	write(t, file, "")
	block := func(b map[string]any) map[string]any {
		return map[string]any{"sessionId": id, "prompt": []any{b}}
	}
	for _, x := range []struct {
		method string
		params any
		code   int
		says   string
	}{
		{"nothing/like_this", nil, protocol.CodeMethodNotFound, "nothing/like_this"},
		{"_hermes/session/fork", map[string]any{}, protocol.CodeInvalidParams, "sessionId is missing"},
		{"_hermes/session/fork", map[string]any{"sessionId": "nobody"}, protocol.CodeUnknownResource, "no such session"},
		{"_hermes/session/describe", map[string]any{"sessionId": id, "title": strings.Repeat("x", 300)}, protocol.CodeInvalidParams, "at most 200"},
		{"_hermes/session/tree", map[string]any{"sessionId": "nobody"}, protocol.CodeUnknownResource, "no such session"},
		{"_hermes/nothing", map[string]any{}, protocol.CodeMethodNotFound, "unknown method"},
		{"authenticate", map[string]any{"methodId": "x"}, protocol.CodeInvalidParams, "there are key and login"},
		{"initialize", map[string]any{"protocolVersion": "1"}, protocol.CodeInvalidParams, "protocolVersion must be an integer, not a string"},
		{"initialize", map[string]any{}, protocol.CodeInvalidParams, "protocolVersion is missing"},
		{"session/new", []any{}, protocol.CodeInvalidParams, "must be an object"},
		{"session/new", nil, protocol.CodeInvalidParams, "cwd"},
		{"session/new", map[string]any{"cwd": 4}, protocol.CodeInvalidParams, "cwd must be a string, not a number"},
		{"session/new", map[string]any{"cwd": "relative"}, protocol.CodeInvalidParams, "not an absolute path"},
		{"session/new", map[string]any{"cwd": "/does/not/exist"}, protocol.CodeInvalidParams, "does not exist"},
		{"session/new", map[string]any{"cwd": file}, protocol.CodeInvalidParams, "not a folder"},
		{"session/new", map[string]any{"cwd": c.ws, "additionalDirectories": []string{"/does/not/exist"}}, protocol.CodeInvalidParams, "additionalDirectories[0]"},
		{"session/prompt", nil, protocol.CodeInvalidParams, "sessionId is missing"},
		{"session/prompt", map[string]any{"sessionId": "nobody", "prompt": []any{}}, protocol.CodeUnknownResource, "no such session"},
		{"session/prompt", map[string]any{"sessionId": id, "prompt": "hi"}, protocol.CodeInvalidParams, "prompt must be an array, not a string"},
		{"session/prompt", map[string]any{"sessionId": id, "prompt": []any{}}, protocol.CodeInvalidParams, "prompt is empty"},
		{"session/prompt", block(map[string]any{"type": "text", "text": "  "}), protocol.CodeInvalidParams, "prompt is empty"},
		{"session/prompt", block(map[string]any{"type": "text", "text": 3}), protocol.CodeInvalidParams, "text must be a string"},
		{"session/prompt", block(map[string]any{"type": "audio", "data": "", "mimeType": "audio/wav"}), protocol.CodeInvalidParams, "audio"},
		{"session/prompt", block(map[string]any{"type": "video"}), protocol.CodeInvalidParams, `prompt[0].type "video"`},
		{"session/prompt", block(map[string]any{"type": "image", "data": "!", "mimeType": "image/png"}), protocol.CodeInvalidParams, "base64"},
		{"session/prompt", block(map[string]any{"type": "image", "data": "AA==", "mimeType": "text/x"}), protocol.CodeInvalidParams, "mimeType"},
		{"session/prompt", block(map[string]any{"type": "resource"}), protocol.CodeInvalidParams, "prompt[0].resource"},
		{"session/prompt", block(map[string]any{"type": "resource_link", "name": "x"}), protocol.CodeInvalidParams, "prompt[0].uri"},
		{"session/load", map[string]any{"sessionId": "nobody", "cwd": c.ws}, protocol.CodeUnknownResource, "no such session"},
		{"session/load", map[string]any{"sessionId": id}, protocol.CodeInvalidParams, "cwd is missing"},
		{"session/load", map[string]any{"sessionId": id, "cwd": filepath.Dir(c.ws)}, protocol.CodeInvalidParams, "belongs to"},
		{"session/close", map[string]any{"sessionId": "nobody"}, protocol.CodeUnknownResource, "no such session"},
		{"session/list", map[string]any{"cwd": "relative"}, protocol.CodeInvalidParams, "absolute"},
		{"session/list", map[string]any{"cursor": "rubbish"}, protocol.CodeInvalidParams, "cursor"},
		{"session/set_mode", map[string]any{"sessionId": id, "modeId": "yolo"}, protocol.CodeInvalidParams, "there are ask, careful, auto"},
		{"session/set_config_option", map[string]any{"sessionId": id, "configId": "colour", "value": "x"}, protocol.CodeInvalidParams, "there are mode, model, thought_level"},
		{"session/set_config_option", map[string]any{"sessionId": id, "configId": "thought_level", "value": "extreme"}, protocol.CodeInvalidParams, "low, medium, high"},
		{"session/set_config_option", map[string]any{"sessionId": id, "configId": "thought_level", "value": true}, protocol.CodeInvalidParams, "value must be a string"},
	} {
		r := c.call(x.method, x.params)
		if r.Error == nil || r.Error.Code != x.code || !strings.Contains(r.Error.Message, x.says) {
			t.Errorf("%s %v: %+v, want %d %q", x.method, x.params, r.Error, x.code, x.says)
		}
	}
	// Malformed lines, and the connection lives.
	for _, line := range []string{`{"jsonrpc":`, `[]`, `{"jsonrpc":"2.0","id":{},"method":"x"}`} {
		c.line(line)
		if r := c.wait(c.waitFor("null")); r.Error == nil {
			t.Errorf("%s was taken", line)
		}
	}
	c.notify("session/cancel", map[string]any{"sessionId": "nobody"})
	c.notify("nothing/like_this", nil)
	c.must(protocol.MethodSessionList, protocol.ListSessionsRequest{}, nil)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"session/cancel", "$/cancel_request", "session/close", "session/delete"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			m := fakemodel.New()
			c := connect(t, setup{model: m})
			id := c.newSession()
			request, answer := c.start(protocol.MethodSessionPrompt, say(id, "go"))
			x := m.Next()
			x.Text("I began")
			c.until("text", kind(protocol.UpdateAgentMessage))
			switch how {
			case "session/cancel":
				c.notify(how, protocol.CancelNotification{SessionID: id})
			case "$/cancel_request":
				c.notify(how, protocol.CancelRequestNotification{RequestID: json.RawMessage(fmt.Sprint(request))})
			default:
				c.must(how, protocol.CloseSessionRequest{SessionID: id}, nil)
			}
			if got := c.stop(c.wait(answer)); got != "cancelled" {
				t.Errorf("the turn ended with %s", got)
			}
			if how == "session/delete" || how == "session/close" {
				return
			}
			_, answer = c.start(protocol.MethodSessionPrompt, say(id, "again"))
			x = m.Next()
			x.Text("fine")
			x.End()
			if got := c.stop(c.wait(answer)); got != "end_turn" {
				t.Errorf("the next turn ended with %s", got)
			}
		})
	}
}

func TestNewPrompt(t *testing.T) {
	t.Parallel()
	t.Run("interrupt", func(t *testing.T) {
		t.Parallel()
		m := fakemodel.New()
		c := connect(t, setup{model: m})
		id := c.newSession()
		_, first := c.start(protocol.MethodSessionPrompt, say(id, "one"))
		m.Next().Text("working")
		_, second := c.start(protocol.MethodSessionPrompt, say(id, "two"))
		if got := c.stop(c.wait(first)); got != "cancelled" {
			t.Errorf("the first ended with %s", got)
		}
		x := m.Next()
		x.Text("done")
		x.End()
		if got := c.stop(c.wait(second)); got != "end_turn" {
			t.Errorf("the second ended with %s", got)
		}
	})
	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		m := fakemodel.New()
		c := connect(t, setup{model: m, config: "agent: {on_new_prompt: queue}\n"})
		id := c.newSession()
		var answers []chan response
		for i := range 3 {
			_, answer := c.start(protocol.MethodSessionPrompt, say(id, fmt.Sprint("number ", i)))
			answers = append(answers, answer)
		}
		for i, answer := range answers {
			x := m.Next()
			if last := x.Request.Messages[len(x.Request.Messages)-1]; !strings.HasPrefix(last.Text()+"\n", fmt.Sprint("number ", i, "\n")) {
				t.Errorf("turn %d asks %q", i, last.Text())
			}
			x.Text("done")
			x.End()
			if got := c.stop(c.wait(answer)); got != "end_turn" {
				t.Errorf("turn %d ended with %s", i, got)
			}
		}
	})
	t.Run("sessions are independent", func(t *testing.T) {
		t.Parallel()
		m := fakemodel.New()
		c := connect(t, setup{model: m})
		_, one := c.start(protocol.MethodSessionPrompt, say(c.newSession(), "one"))
		a := m.Next()
		_, two := c.start(protocol.MethodSessionPrompt, say(c.newSession(), "two"))
		b := m.Next()
		b.Text("b")
		b.End()
		if got := c.stop(c.wait(two)); got != "end_turn" {
			t.Errorf("two ended with %s", got)
		}
		a.Text("a")
		a.End()
		if got := c.stop(c.wait(one)); got != "end_turn" {
			t.Errorf("one ended with %s", got)
		}
	})
}

func TestSessionsOutliveTheConnection(t *testing.T) {
	t.Parallel()
	home, ws := t.TempDir(), t.TempDir()
	c := connect(t, setup{home: home, ws: ws, model: fakemodel.Script(
		tool("write_file", `{"path":"x.txt","content":"x"}`), reply("written"),
	)})
	id := c.newSession()
	c.must(protocol.MethodSessionPrompt, say(id, "write x"), nil)
	c.close()

	c = connect(t, setup{home: home, ws: ws, model: fakemodel.Script(reply("still here"))})
	var list protocol.ListSessionsResponse
	c.must(protocol.MethodSessionList, protocol.ListSessionsRequest{Cwd: ws}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].SessionID != id || list.Sessions[0].Title != "write x" || list.Sessions[0].UpdatedAt == "" {
		t.Fatalf("listed %+v", list)
	}
	c.must(protocol.MethodSessionList, protocol.ListSessionsRequest{Cwd: home}, &list)
	if len(list.Sessions) != 0 {
		t.Errorf("listed under another folder: %+v", list)
	}
	if r := c.call(protocol.MethodSessionPrompt, say(id, "hi")); r.Error == nil || !strings.Contains(r.Error.Message, "load or resume") {
		t.Errorf("a prompt to a session that is not open: %+v", r)
	}
	// Load and a prompt right behind it: the log comes first.
	_, loaded := c.start(protocol.MethodSessionLoad, protocol.LoadSessionRequest{SessionID: id, Cwd: ws})
	_, answer := c.start(protocol.MethodSessionPrompt, say(id, "are you there?"))
	if r := c.wait(loaded); r.Error != nil {
		t.Fatal(r.Error)
	}
	if got := c.stop(c.wait(answer)); got != "end_turn" {
		t.Error(got)
	}
	updates := c.seen()
	if got := text(updates, protocol.UpdateUserMessage); got != "write x" {
		t.Errorf("replayed user text %q", got)
	}
	if got := text(updates, protocol.UpdateAgentMessage); got != "writtenstill here" {
		t.Errorf("replayed and new text %q", got)
	}
	news := calls(updates)
	if len(news) != 2 || news[1].Status != protocol.StatusCompleted || len(news[1].Content) != 1 || news[1].Content[0].Type != "diff" {
		t.Errorf("replayed calls %+v", news)
	}
	want := []string{protocol.UpdateUserMessage, protocol.UpdateToolCall, protocol.UpdateToolCallNews, protocol.UpdateAgentMessage, protocol.UpdateInfo, protocol.UpdateUsage}
	if got := kinds(updates); !reflect.DeepEqual(got[:min(len(want), len(got))], want) {
		t.Errorf("order %v, want %v first", got, want)
	}
}

func TestCloseResumeDelete(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.Script(reply("one"), reply("two"))})
	id := c.newSession()
	c.must(protocol.MethodSessionPrompt, say(id, "one"), nil)
	c.must(protocol.MethodSessionClose, protocol.CloseSessionRequest{SessionID: id}, nil)
	if r := c.call(protocol.MethodSessionPrompt, say(id, "closed?")); r.Error == nil || r.Error.Code != protocol.CodeInvalidRequest {
		t.Errorf("a prompt to a closed session: %+v", r)
	}
	var list protocol.ListSessionsResponse
	c.must(protocol.MethodSessionList, protocol.ListSessionsRequest{}, &list)
	if len(list.Sessions) != 1 {
		t.Errorf("a closed session is not listed: %+v", list)
	}
	before := len(c.seen())
	c.must(protocol.MethodSessionResume, protocol.ResumeSessionRequest{SessionID: id, Cwd: c.ws}, nil)
	c.until("commands", kind(protocol.UpdateCommands))
	if replayed := kinds(c.seen()[before:]); slices.ContainsFunc(replayed, func(k string) bool { return k != protocol.UpdateCommands }) {
		t.Errorf("resume replayed %q", replayed)
	}
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "two"))); got != "end_turn" {
		t.Error(got)
	}
	for range 2 { // the second time there is nothing to delete, which is as good
		c.must(protocol.MethodSessionDelete, protocol.DeleteSessionRequest{SessionID: id}, nil)
	}
	list = protocol.ListSessionsResponse{}
	c.must(protocol.MethodSessionList, protocol.ListSessionsRequest{}, &list)
	if len(list.Sessions) != 0 {
		t.Errorf("still listed: %+v", list)
	}
	if r := c.call(protocol.MethodSessionLoad, protocol.LoadSessionRequest{SessionID: id, Cwd: c.ws}); r.Error == nil || r.Error.Code != protocol.CodeUnknownResource {
		t.Errorf("loading a deleted session: %+v", r)
	}
}

func TestSearchSessions(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.Script(reply("the unicorn is in the garden"), reply("two"))})
	first, second := c.newSession(), c.newSession()
	c.must(protocol.MethodSessionPrompt, say(first, "where is it?"), nil)
	c.must(protocol.MethodSessionPrompt, say(second, "and the yeti?"), nil)
	for query, want := range map[string]string{"unicorn gard": first, "yeti": second, "nowhere": ""} {
		var found protocol.SearchSessionsResponse
		c.must(protocol.MethodSessionSearch, protocol.SearchSessionsRequest{Cwd: c.ws, Query: query}, &found)
		got := ""
		for _, h := range found.Hits {
			got = h.SessionID
			if h.Snippet == "" || strings.ContainsAny(h.Snippet, "\x02\x03\n") {
				t.Errorf("%s: the snippet is %q", query, h.Snippet)
			}
		}
		if got != want {
			t.Errorf("%s: found %+v", query, found)
		}
	}
	for _, bad := range []protocol.SearchSessionsRequest{{Query: " "}, {Query: "x", Cwd: "relative"}} {
		if r := c.call(protocol.MethodSessionSearch, bad); r.Error == nil || r.Error.Code != protocol.CodeInvalidParams {
			t.Errorf("%+v: %+v", bad, r)
		}
	}
}

func TestASessionWithoutAPrompt(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.Script(reply("hi"))})
	id := c.newSession()
	c.must(protocol.MethodSessionSetMode, protocol.SetSessionModeRequest{SessionID: id, ModeID: "auto"}, nil)
	c.must(protocol.MethodSessionClose, protocol.CloseSessionRequest{SessionID: id}, nil)
	var list protocol.ListSessionsResponse
	c.must(protocol.MethodSessionList, protocol.ListSessionsRequest{Cwd: c.ws}, &list)
	if len(list.Sessions) != 1 {
		t.Errorf("listed %+v", list)
	}
	var loaded protocol.LoadSessionResponse
	c.must(protocol.MethodSessionLoad, protocol.LoadSessionRequest{SessionID: id, Cwd: c.ws}, &loaded)
	if loaded.Modes.CurrentModeID != "auto" {
		t.Errorf("its mode is %s", loaded.Modes.CurrentModeID)
	}
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "hi"))); got != "end_turn" {
		t.Error(got)
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	m := fakemodel.Script(reply("a"), reply("b"))
	home := t.TempDir()
	c := connect(t, setup{home: home, model: m, config: "model: {default: big, fallback: [small]}\n"})
	var made protocol.NewSessionResponse
	c.must(protocol.MethodSessionNew, protocol.NewSessionRequest{Cwd: c.ws}, &made)
	id := made.SessionID
	if made.Modes.CurrentModeID != "ask" || len(made.Modes.AvailableModes) != 4 {
		t.Errorf("modes %+v", made.Modes)
	}
	value := func(options []protocol.SessionConfigOption, id string) any {
		for _, o := range options {
			if o.ID == id {
				return o.CurrentValue
			}
		}
		return nil
	}
	if value(made.ConfigOptions, "model") != "openai/big" || value(made.ConfigOptions, "mode") != "ask" || value(made.ConfigOptions, "thought_level") != "default" {
		t.Errorf("options %+v", made.ConfigOptions)
	}
	set := func(option, v string) []protocol.SessionConfigOption {
		var r protocol.SetSessionConfigOptionResponse
		c.must(protocol.MethodSessionSetValue, protocol.SetSessionConfigOptionRequest{SessionID: id, ConfigID: option, Value: json.RawMessage(`"` + v + `"`)}, &r)
		return r.ConfigOptions
	}
	if got := set("thought_level", "high"); value(got, "thought_level") != "high" {
		t.Errorf("after high: %+v", got)
	}
	if got := set("model", "small"); value(got, "model") != "openai/small" {
		t.Errorf("after small: %+v", got)
	}
	c.must(protocol.MethodSessionPrompt, say(id, "hi"), nil)
	if got := m.Requests()[0].Effort; got != "high" {
		t.Errorf("effort %q", got)
	}
	set("thought_level", "default")
	c.must(protocol.MethodSessionPrompt, say(id, "hi"), nil)
	if got := m.Requests()[1].Effort; got != "" {
		t.Errorf("effort %q after default", got)
	}
	c.must(protocol.MethodSessionSetMode, protocol.SetSessionModeRequest{SessionID: id, ModeID: "auto"}, nil)
	c.until("mode", func(u update) bool { return u.Kind == protocol.UpdateMode && strings.Contains(string(u.Raw), "auto") })
	c.until("options", func(u update) bool {
		return u.Kind == protocol.UpdateOptions && strings.Contains(string(u.Raw), `"currentValue":"auto"`)
	})
	c.close()

	c = connect(t, setup{home: home, ws: c.ws, model: fakemodel.New()})
	var loaded protocol.LoadSessionResponse
	c.must(protocol.MethodSessionResume, protocol.ResumeSessionRequest{SessionID: id, Cwd: c.ws}, &loaded)
	if loaded.Modes.CurrentModeID != "auto" {
		t.Errorf("the mode is %s after a restart", loaded.Modes.CurrentModeID)
	}
}

func TestModelErrors(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{})
	id := c.newSession()
	r := c.call(protocol.MethodSessionPrompt, say(id, "hi"))
	if r.Error == nil || !strings.Contains(r.Error.Message, "hermes-ls login") || !strings.Contains(r.Error.Message, "OPENAI_API_KEY") {
		t.Errorf("without a key: %+v", r.Error)
	}
	c = connect(t, setup{model: fakemodel.Script(
		func(x *fakemodel.Exchange) {
			x.Fail(&model.Error{Kind: model.ErrBusy, Endpoint: "https://x/v1", Status: 429, RetryAfter: time.Minute})
		},
		reply("fine"),
	)})
	id = c.newSession()
	r = c.call(protocol.MethodSessionPrompt, say(id, "hi"))
	data, _ := json.Marshal(r.Error)
	if r.Error == nil || !strings.Contains(string(data), `"retryAfterSeconds":60`) || !strings.Contains(r.Error.Message, "https://x/v1") {
		t.Errorf("busy: %s", data)
	}
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "again"))); got != "end_turn" {
		t.Errorf("after an error: %s", got)
	}
}

func TestConfigurationProblemsAreTold(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.Script(reply("hi"), reply("hi")), config: "modle: {}\n",
		client: &protocol.ClientCapabilities{Session: &protocol.ClientSessionCapabilities{Notices: &protocol.Supported{}}}})
	id := c.newSession()
	for range 2 {
		c.must(protocol.MethodSessionPrompt, say(id, "hi"), nil)
	}
	notices := 0
	for _, u := range c.seen() {
		if u.Kind == protocol.UpdateNotice {
			notices++
			if !strings.Contains(string(u.Raw), "modle") || !strings.Contains(string(u.Raw), "config.yaml:1") {
				t.Errorf("notice %s", u.Raw)
			}
		}
	}
	if notices != 1 {
		t.Errorf("%d notices, want one", notices)
	}
}

func TestEmbeddedModel(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{config: "model: {provider: embedded}\n"})
	id := c.newSession()
	if got := c.stop(c.call(protocol.MethodSessionPrompt, say(id, "hello"))); got != "end_turn" {
		t.Fatal(got)
	}
	if got := text(c.seen(), protocol.UpdateAgentMessage); !strings.Contains(got, "not a real") {
		t.Errorf("it says %q", got)
	}
}

func TestEndOfInput(t *testing.T) {
	t.Parallel()
	m := fakemodel.New()
	c := connect(t, setup{model: m})
	id := c.newSession()
	_, answer := c.start(protocol.MethodSessionPrompt, say(id, "go"))
	m.Next().Text("working")
	begun := time.Now()
	_ = c.in.Close()
	if got := c.stop(c.wait(answer)); got != "cancelled" {
		t.Errorf("the open turn ended with %s", got)
	}
	select {
	case err := <-c.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(testTimeout):
		t.Fatal("Serve does not return")
	}
	t.Logf("ended after %v", time.Since(begun))
}

func TestWhatCameBeforeTheEndIsAnswered(t *testing.T) {
	t.Parallel()
	c := dial(t, setup{model: fakemodel.New()})
	a, b := c.waitFor("1"), c.waitFor("2")
	c.line(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":%q,"mcpServers":[]}}`, c.ws))
	_ = c.in.Close()
	for _, answer := range []chan response{a, b} {
		if r := c.wait(answer); r.Error != nil {
			t.Error(r.Error)
		}
	}
}

func TestAPanicIsAnswered(t *testing.T) {
	t.Parallel()
	svc := app.New(server.Options{Home: t.TempDir()})
	t.Cleanup(func() { _ = svc.Close() })
	a := acp.NewAgent(svc, nil, acp.Options{}) // no peer: telling it anything panics
	result, err := a.Handle(t.Context(), protocol.MethodSessionNew, json.RawMessage(fmt.Sprintf(`{"cwd":%q}`, t.TempDir())), nil)
	if err != nil {
		t.Fatal(err)
	}
	params := fmt.Sprintf(`{"sessionId":%q,"modeId":"auto"}`, result.(*protocol.NewSessionResponse).SessionID)
	_, err = a.Handle(context.Background(), protocol.MethodSessionSetMode, json.RawMessage(params), nil)
	var e *protocol.Error
	if !errors.As(err, &e) || e.Code != protocol.CodeInternal {
		t.Errorf("%v", err)
	}
}

// TestCallWithoutName wants a title, which the schema demands, now and when the
// session is loaded.
func TestCallWithoutName(t *testing.T) {
	t.Parallel()
	c := connect(t, setup{model: fakemodel.Script(tool("", `{}`), reply("ok"))})
	id := c.newSession()
	c.must(protocol.MethodSessionPrompt, say(id, "go"), nil)
	c.must(protocol.MethodSessionLoad, protocol.LoadSessionRequest{SessionID: id, Cwd: c.ws}, nil)
	titles := 0
	for _, call := range calls(c.seen()) {
		if call.Title == "Tool call without a name" {
			titles++
		}
	}
	if titles != 2 {
		t.Errorf("%d calls have the title, want 2", titles)
	}
}
