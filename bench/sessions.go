package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/store"
)

const (
	manySessions = 10_000
	longSession  = 100_000 // messages
)

// sessions measures a store of many sessions, and a session of many messages.
func sessions(l *lab) ([]row, error) {
	home := filepath.Join(l.dir, "many")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	config, err := os.ReadFile(filepath.Join(l.home, "config.yaml"))
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), config, 0o600); err != nil {
		return nil, err
	}
	long, short, err := fill(home, l.cwd)
	if err != nil {
		return nil, fmt.Errorf("filling the store: %w", err)
	}
	listed, err := listing(l, home)
	if err != nil {
		return nil, err
	}
	resumed, err := resuming(l, home, long, short)
	if err != nil {
		return nil, err
	}
	replayed, err := replaying(l, home, long)
	return append(append(listed, resumed...), replayed...), err
}

// fill writes the store by an import, and gives the ids of a long and a short session.
func fill(home, cwd string) (long, short string, err error) {
	long, short = store.NewID(), store.NewID()
	out, in := io.Pipe()
	go func() { in.CloseWithError(records(in, cwd, long, short)) }()
	st := store.New(filepath.Join(home, store.FileName), store.Options{})
	if _, err := st.Import(context.Background(), out, store.ImportOptions{}); err != nil {
		return "", "", err
	}
	return long, short, st.Close()
}

// records writes many sessions of two messages, a short session of ten, and a long session with a
// compacted older part.
func records(w io.Writer, cwd, long, short string) error {
	out := json.NewEncoder(w)
	at := time.Now().Add(-time.Hour).UTC().Truncate(time.Microsecond)
	session := func(id string, messages int) error {
		at = at.Add(time.Millisecond)
		err := out.Encode(map[string]any{"record": "session", "version": store.TransferVersion, "id": id, "cwd": cwd,
			"title": "Make the tests pass on a Tuesday", "system": strings.Repeat("You are. ", 400), "createdAt": at, "updatedAt": at})
		for i := range messages {
			m := map[string]any{"record": "message", "id": store.NewID(), "time": at, "role": "user", "text": strings.Repeat("words to read ", 20)}
			m["typed"] = len(m["text"].(string))
			if i%2 == 1 {
				m["role"] = "assistant"
			}
			if i == messages-100 && i > 0 {
				m["role"], m["note"], m["keeps"] = "user", true, i-9
			}
			if err == nil {
				err = out.Encode(m)
			}
		}
		return err
	}
	for range manySessions {
		if err := session(store.NewID(), 2); err != nil {
			return err
		}
	}
	if err := session(short, 10); err != nil {
		return err
	}
	return session(long, longSession)
}

func listing(l *lab, home string) ([]row, error) {
	list := func(limit int) (time.Duration, error) {
		return median(11, func() (time.Duration, error) {
			cmd := exec.Command(l.bin, "sessions", "list", "--json", "--limit", strconv.Itoa(limit))
			cmd.Env = append(os.Environ(), "HERMES_HOME="+home)
			began := time.Now()
			out, err := cmd.Output()
			if lines := strings.Count(string(out), `"id"`); err == nil && lines != limit {
				err = fmt.Errorf("%d sessions of %d", lines, limit)
			}
			return time.Since(began), err
		})
	}
	one, err := list(1)
	if err != nil {
		return nil, err
	}
	all, err := list(manySessions)
	if err != nil {
		return nil, err
	}
	c, err := connect(l, home)
	if err != nil {
		return nil, err
	}
	page, err := median(21, func() (time.Duration, error) {
		began := time.Now()
		_, err := c.call("session/list", map[string]any{"cwd": l.cwd}, nil)
		return time.Since(began), err
	})
	if err != nil {
		return nil, err
	}
	_, err = c.close()
	return []row{
		{what: "list 10,000 sessions, the process included", value: ms(all), unit: "ms", floor: ms(one), floorName: "list 1", goal: "< 100 ms"},
		{what: "first page of 10,000 sessions (ACP)", value: ms(page), unit: "ms"},
	}, err
}

// connect starts an ACP server without a session.
func connect(l *lab, home string) (*client, error) {
	c, err := start(l.bin, home, l.cwd, "acp")
	if err != nil {
		return nil, err
	}
	_, err = c.call("initialize", map[string]any{"protocolVersion": 1}, nil)
	return c, err
}

// resuming measures the time to open a session, and its first answer, each in its own
// process.
func resuming(l *lab, home, long, short string) ([]row, error) {
	type times struct{ open, first time.Duration }
	measure := func(id string) (t times, err error) {
		t.open, err = median(7, func() (time.Duration, error) {
			c, err := connect(l, home)
			if err != nil {
				return 0, err
			}
			if _, err := c.call("session/list", map[string]any{}, nil); err != nil { // opens the store
				return 0, err
			}
			began := time.Now()
			if _, err := c.call("session/resume", map[string]any{"sessionId": id, "cwd": l.cwd, "mcpServers": []any{}}, nil); err != nil {
				return 0, err
			}
			took := time.Since(began)
			c.session = id
			began = time.Now()
			if err := c.prompt("hi", nil); err != nil {
				return 0, err
			}
			t.first = time.Since(began)
			_, err = c.close()
			return took, err
		})
		return t, err
	}
	few, err := measure(short)
	if err != nil {
		return nil, err
	}
	many, err := measure(long)
	return []row{
		{what: "resume a session of 100,000 messages", value: ms(many.open), unit: "ms", floor: ms(few.open), floorName: "of 10"},
		{what: "its first answer", value: ms(many.first), unit: "ms", floor: ms(few.first), floorName: "of 10"},
	}, err
}

// replaying measures a prompt in a session while another is replayed.
func replaying(l *lab, home, long string) ([]row, error) {
	c, err := connect(l, home)
	if err != nil {
		return nil, err
	}
	result, err := c.call("session/new", map[string]any{"cwd": l.cwd, "mcpServers": []any{}}, nil)
	if err != nil {
		return nil, err
	}
	var session struct{ SessionID string }
	if err := json.Unmarshal(result, &session); err != nil {
		return nil, err
	}
	c.session = session.SessionID
	if err := c.prompt("hi", nil); err != nil {
		return nil, err
	}
	prompt := func() (time.Duration, error) {
		began := time.Now()
		err := c.prompt("hi", nil)
		return time.Since(began), err
	}
	alone, err := median(21, prompt)
	if err != nil {
		return nil, err
	}
	c.id++
	load, began := c.id, time.Now()
	if err := c.send("session/load", map[string]any{"sessionId": long, "cwd": l.cwd, "mcpServers": []any{}}, load); err != nil {
		return nil, err
	}
	beside, err := median(5, prompt)
	if err != nil {
		return nil, err
	}
	if _, err := c.await(load, nil); err != nil {
		return nil, fmt.Errorf("the replay ended before the prompts did, or not at all: %w", err)
	}
	took := time.Since(began)
	_, err = c.close()
	return []row{
		{what: "turn beside a replay of 100,000 messages", value: ms(beside), unit: "ms", floor: ms(alone), floorName: "alone"},
		{what: "that replay", value: ms(took), unit: "ms"},
	}, err
}
