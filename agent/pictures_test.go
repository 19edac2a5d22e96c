package agent_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"io"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

// TestRejectedPictureStaysText rejects a picture. The session continues. In a later process the
// endpoint accepts pictures, but the picture is still sent as text.
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

// TestDescribedPictures checks the descriptions for a model without pictures. Each is made once
// in a session and sent again by later processes. If a description fails, the user gets one
// notice.
func TestDescribedPictures(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodGet {
			http.NotFound(w, r)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		got = append(got, string(body))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer endpoint.Close()
	blind := false
	connect := func() *client.Model {
		m := client.New(client.Config{Endpoints: []client.Endpoint{{API: openai.API{}, Provider: "custom", BaseURL: endpoint.URL + "/v1", Model: "m", Images: &blind}}})
		t.Cleanup(m.Close)
		return m
	}
	var asked []string
	config := agent.Config{Model: connect(), Store: openStore(t)}
	config.Describe = func(_ context.Context, i model.Image, prompt string) (model.Description, bool, error) {
		asked = append(asked, prompt)
		if i.Name == "broken.gif" {
			return model.Description{By: "eyes"}, true, errors.New("eyes is down")
		}
		return model.Description{By: "eyes", Text: "A cat."}, true, nil
	}
	s, heard := begin(t, config), &recorder{}
	picture := func(name string) []model.Image {
		return []model.Image{{Name: name, MIMEType: "image/gif", Data: base64.StdEncoding.EncodeToString([]byte("GIF89a\x02\x00\x03\x00\x00\x00\x00"))}}
	}
	for _, in := range []agent.Input{
		{Text: "what is it?", Images: picture(""), Environment: "secret of the editor"},
		{Text: "next", Images: picture("broken.gif")},
		{Text: "again", Images: picture("broken.gif")},
	} {
		if _, err := s.Turn(t.Context(), in, heard); err != nil {
			t.Fatal(err)
		}
	}
	config.Head.ID, config.Model = s.ID(), connect()
	again, err := agent.Load(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []agent.Input{{Text: "now"}, {Text: "more", Images: picture("broken.gif")}} {
		if _, err := again.Turn(t.Context(), in, heard); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"what is it?", "next", "again", "more"}; !slices.Equal(asked, want) {
		t.Errorf("asked with %q, want %q", asked, want)
	}
	for i := range got[1:] {
		if !strings.HasPrefix(got[i+1], strings.TrimSuffix(got[i], "]}")) {
			t.Errorf("request %d does not begin with the one before:\n%s\n%s", i+1, got[i], got[i+1])
		}
	}
	last := got[len(got)-1]
	if strings.Count(last, `[picture image 1, 2 × 3, described by eyes]\nA cat.`) != 1 || strings.Count(last, "[picture broken.gif, 2 × 3: this model does not see pictures]") != 3 {
		t.Errorf("the last request: %s", last)
	}
	var notices []string
	for _, e := range heard.events {
		if n, ok := e.(agent.Notice); ok {
			notices = append(notices, n.Text)
		}
	}
	if len(notices) != 1 || !strings.Contains(notices[0], "eyes is down") || !strings.Contains(notices[0], "auxiliary.vision") {
		t.Errorf("notices %q", notices)
	}
}
