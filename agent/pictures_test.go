package agent_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"io"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

// TestRejectedPictureStaysText checks that a session continues after a rejected picture.
// In a later process whose endpoint accepts pictures, the picture is still sent as text.
func TestRejectedPictureStaysText(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var accepted []string
	rejecting := true
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Method == http.MethodGet:
			http.NotFound(w, r)
		case rejecting && strings.Contains(string(body), "image_url"):
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"message":"this model takes no image_url"}}`)
		default:
			accepted = append(accepted, string(body))
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		}
	}))
	defer endpoint.Close()
	connect := func() *client.Model {
		m := client.New(client.Config{Endpoints: []client.Endpoint{{API: openai.API{}, Provider: "custom", BaseURL: endpoint.URL + "/v1", Model: "m"}}})
		t.Cleanup(m.Close)
		return m
	}
	config := agent.Config{Model: connect(), Store: openStore(t)}
	s := begin(t, config)
	heard := &recorder{}
	picture := []model.Image{{MIMEType: "image/gif", Data: base64.StdEncoding.EncodeToString([]byte("GIF89a\x02\x00\x03\x00\x00\x00\x00"))}}
	for range 2 {
		if _, err := s.Turn(t.Context(), agent.Input{Text: "look", Images: picture}, heard); err != nil {
			t.Fatal(err)
		}
	}
	notices := 0
	for _, e := range heard.events {
		if n, ok := e.(agent.Notice); ok && strings.HasPrefix(n.Text, "m does not see pictures.") {
			notices++
		}
	}
	if notices != 1 {
		t.Errorf("the user was told %d times", notices)
	}
	mu.Lock()
	rejecting = false
	mu.Unlock()
	config.Head.ID, config.Model = s.ID(), connect()
	again, err := agent.Load(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Turn(t.Context(), agent.Input{Text: "now", Images: picture}, heard); err != nil {
		t.Fatal(err)
	}
	for i := range accepted[1:] {
		if !strings.HasPrefix(accepted[i+1], strings.TrimSuffix(accepted[i], "]}")) {
			t.Errorf("request %d does not begin with the one before:\n%s\n%s", i+1, accepted[i], accepted[i+1])
		}
	}
	last := accepted[len(accepted)-1]
	if len(accepted) != 3 || strings.Count(last, "[picture image 2, 2 × 3: this model does not see pictures]") != 1 || strings.Count(last, "image_url\":") != 1 {
		t.Errorf("%d requests, the last one: %s", len(accepted), last)
	}
}
