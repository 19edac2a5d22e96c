package client_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
)

// look returns messages with pictures: of a prompt, of two tool results, of another
// prompt.
func look(t *testing.T) []model.Message {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	picture := func(name string) []model.Image {
		return []model.Image{{Name: name, MIMEType: "image/png", Data: base64.StdEncoding.EncodeToString(b.Bytes())}}
	}
	call := func(ids ...string) model.Message {
		m := model.Message{Role: model.Assistant}
		for _, id := range ids {
			m.Parts = append(m.Parts, model.CallPart(model.Call{ID: id, Name: "read_file", Args: `{}`}))
		}
		return m
	}
	return []model.Message{
		model.NewMessage(model.User, "look", model.ImageParts(append(picture(""), picture("")...)...)...),
		call("1", "2"),
		model.ResultMessage("1", "", `{}`, picture("a.png")...),
		model.ResultMessage("2", "", `{}`, picture("b.png")...),
		model.ResponseMessage("", "two"),
		model.NewMessage(model.User, "another"),
		call("3"),
		model.ResultMessage("3", "", `{}`, picture("c\n.png")...),
	}
}

// converse sends the messages step by step and stores the forms chosen by the model, as a
// session does. It returns the number of failed requests.
func converse(t *testing.T, m *client.Model, log []model.Message) (failed int) {
	t.Helper()
	for n := range log {
		if log[n].Role == model.Assistant || n+1 < len(log) && log[n+1].Role == model.ToolRole {
			continue
		}
		for d, err := range m.Stream(t.Context(), &model.Request{Messages: log[:n+1]}) {
			if err != nil {
				failed++
			}
			if d.Pictures != nil {
				for i, form := range d.Pictures.Forms {
					log[i].Sent = map[string]model.PictureForm{d.Pictures.To: form}
				}
			}
		}
	}
	return failed
}

const (
	inTextA  = `[picture a.png, 30 × 20: this model does not see pictures]`
	deepSeek = "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `image_url`, expected `text`"
)

// TestPicturesOfToolsAndPrompts checks the forms of pictures: a picture keeps its form, and
// every request extends the previous request.
func TestPicturesOfToolsAndPrompts(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"gpt-4o":  "user:2 assistant tool tool user:2 assistant user assistant tool user:1",
		"o3-mini": "user:0 assistant tool tool user:0 assistant user assistant tool user:0",
		"unknown": "user:2 assistant tool tool user:2 assistant user assistant tool user:1",
	} {
		rec := &modeltest.Recorder{}
		m := modeltest.Serve(t, rec.ServeHTTP, func(c *client.Config) {
			sees := id != "o3-mini"
			c.Endpoints[0].Model, c.Endpoints[0].Known.Images = id, &sees
		})
		if n := converse(t, m, look(t)); n > 0 {
			t.Errorf("%s: %d requests failed", id, n)
		}
		bodies := rec.Prompts()
		extending(t, id, bodies)
		if got := modeltest.Shape(t, bodies[len(bodies)-1]); got != want {
			t.Errorf("%s: sent %s, want %s", id, got, want)
		}
		last := string(bodies[len(bodies)-1])
		for _, text := range []string{inTextA, "[picture image 2, 30 × 20: this model does not see pictures]", "[picture c.png, 30 × 20: this model does not see pictures]"} {
			if strings.Contains(last, text) != (id == "o3-mini") {
				t.Errorf("%s: %s", id, last)
			}
		}
	}
}

// TestRejectedPicture rejects a picture. The client repeats the request at once without it. For
// 30 days, the endpoint gets no other new picture. Accepted pictures stay.
func TestRejectedPicture(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status  int
		message string
		body    string // the whole response, if it is not an error object
		from    int    // the number of pictures from which the endpoint rejects; 0: 1
		shape   string // of the last request; empty: the request fails
		again   bool   // the next session sends pictures
	}{
		"DeepSeek":    {status: 400, message: deepSeek, shape: "user:0 assistant tool tool user:0 assistant user assistant tool user:0"},
		"OpenAI":      {status: 400, message: "Invalid content type. image_url is only supported by certain models.", shape: "user:0 assistant tool tool user:0 assistant user assistant tool user:0"},
		"OpenRouter":  {status: 404, message: "No endpoints found that support image input", shape: "user:0 assistant tool tool user:0 assistant user assistant tool user:0"},
		"a stream":    {status: 200, body: `data: {"error":{"code":404,"message":"No endpoints found that support image input"}}` + "\n\n", shape: "user:0 assistant tool tool user:0 assistant user assistant tool user:0"},
		"modalities":  {status: 422, message: "Unsupported modalities: 2", shape: "user:0 assistant tool tool user:0 assistant user assistant tool user:0"},
		"500":         {status: 500, message: "image input is not supported", shape: "user:0 assistant tool tool user:0 assistant user assistant tool user:0", again: true},
		"later":       {status: 400, message: "too many images", from: 3, shape: "user:2 assistant tool tool user:0 assistant user assistant tool user:0"},
		"other words": {status: 400, message: "the supervision of revisions failed", again: true},
		"other kind":  {status: 409, message: "images are not allowed", again: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := &modeltest.Recorder{Answer: func(_ int, body []byte, w http.ResponseWriter) {
				if len(body) == 0 { // GET /models
					w.WriteHeader(404)
					return
				}
				if bytes.Count(body, []byte("data:image/png")) < max(tc.from, 1) {
					io.WriteString(w, modeltest.Fine)
					return
				}
				w.WriteHeader(tc.status)
				if tc.body != "" {
					io.WriteString(w, tc.body)
				} else {
					json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": tc.message}})
				}
			}}
			kept := map[string]bool{}
			var model string
			config := func(c *client.Config) {
				model = c.Endpoints[0].BaseURL + " " + c.Endpoints[0].Model
				c.Rejections.Known = func(_ context.Context, endpoint, id string) bool { return kept[endpoint+" "+id] }
				c.Rejections.Remember = func(_ context.Context, endpoint, id string) error { kept[endpoint+" "+id] = true; return nil }
			}
			m := modeltest.Serve(t, rec.ServeHTTP, config)
			log := look(t)
			failed := converse(t, m, log)
			bodies := rec.Prompts()
			if tc.shape == "" {
				if failed != 4 || len(bodies) != 4 {
					t.Fatalf("%d of %d requests failed", failed, len(bodies))
				}
				if kept[model] || !m.Sees(t.Context()) {
					t.Error("it is remembered")
				}
				return
			}
			if got := modeltest.Shape(t, bodies[len(bodies)-1]); got != tc.shape || failed > 0 {
				t.Errorf("%d failed; sent %s, want %s", failed, got, tc.shape)
			}
			if kept[model] == tc.again || m.Sees(t.Context()) != tc.again {
				t.Errorf("remembered: %v, sees: %v", kept, m.Sees(t.Context()))
			}
			accepted := slices.DeleteFunc(bodies, func(b []byte) bool { return bytes.Count(b, []byte("data:image/png")) >= max(tc.from, 1) })
			if want := 4; len(accepted) != want {
				t.Errorf("%d requests were accepted, want %d", len(accepted), want)
			}
			extending(t, name, accepted)
		})
	}
}

// TestConfiguredSight rejects a picture although the configuration enables pictures. The
// rejection is not remembered, but the request is repeated.
func TestConfiguredSight(t *testing.T) {
	t.Parallel()
	rec := &modeltest.Recorder{Answer: func(_ int, body []byte, w http.ResponseWriter) {
		if bytes.Contains(body, []byte("data:image/png")) {
			w.WriteHeader(400)
			io.WriteString(w, `{"error":{"message":"No endpoints found that support image input"}}`)
			return
		}
		io.WriteString(w, modeltest.Fine)
	}}
	m := modeltest.Serve(t, rec.ServeHTTP, func(c *client.Config) {
		sees := true
		c.Endpoints[0].Images = &sees
		c.Rejections.Known = func(context.Context, string, string) bool { return true }
		c.Rejections.Remember = func(context.Context, string, string) error { t.Error("it is remembered"); return nil }
	})
	log := look(t)
	if failed := converse(t, m, log[:1]); failed > 0 || len(rec.Prompts()) != 2 || !m.Sees(t.Context()) {
		t.Errorf("%d failed of %d, sees %v", failed, len(rec.Prompts()), m.Sees(t.Context()))
	}
}

// TestPicturesStillRefused refuses every request with the session's pictures, some after
// accepting them. The first refusal is an error and changes nothing. After the second in a row,
// the request is repeated without the pictures, and the session continues. Nothing is
// remembered for other sessions.
func TestPicturesStillRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		status   int
		message  string
		accepted int  // requests with pictures to accept first
		once     bool // refuse a single request
		want     string
		sent     int // pictures in the last request
	}{
		"rejected later":      {status: 400, message: "image input is not supported", accepted: 2, want: "ok ok failed ok ok"},
		"rejected once":       {status: 400, message: "image input is not supported", accepted: 2, once: true, want: "ok ok failed ok ok", sent: 1},
		"too large":           {status: 413, message: "Request Entity Too Large", want: "failed ok ok ok ok"},
		"too large once":      {status: 413, message: "Request Entity Too Large", once: true, want: "failed ok ok ok ok", sent: 1},
		"moderation":          {status: 403, message: "blocked by content policy", want: "failed ok ok ok ok"},
		"another key":         {status: 401, message: "no such key", want: "failed failed failed failed failed", sent: 1},
		"large after smaller": {status: 413, message: "Request Entity Too Large", accepted: 1, want: "ok failed ok ok ok"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seen, refused := 0, 0
			rec := &modeltest.Recorder{Answer: func(_ int, body []byte, w http.ResponseWriter) {
				if !bytes.Contains(body, []byte("data:image/png")) {
					io.WriteString(w, modeltest.Fine)
					return
				}
				if seen++; seen <= tc.accepted || tc.once && refused > 0 {
					io.WriteString(w, modeltest.Fine)
					return
				}
				refused++
				w.WriteHeader(tc.status)
				json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": tc.message}})
			}}
			m := modeltest.Serve(t, rec.ServeHTTP, func(c *client.Config) {
				c.Rejections.Known = func(context.Context, string, string) bool { return false }
				c.Rejections.Remember = func(context.Context, string, string) error { t.Error("it is remembered"); return nil }
			})
			log := look(t)[:1]
			log[0].Parts = log[0].Parts[:2] // a single picture
			var got []string
			for range 5 {
				outcome := "ok"
				for d, err := range m.Stream(t.Context(), &model.Request{SessionID: "s", Messages: log}) {
					if err != nil {
						outcome = "failed"
					}
					if d.Pictures != nil {
						for i, form := range d.Pictures.Forms {
							log[i].Sent = map[string]model.PictureForm{d.Pictures.To: form}
						}
					}
				}
				got = append(got, outcome)
				log = append(log, model.ResponseMessage("", "one"), model.NewMessage(model.User, "next"))
			}
			if outcome := strings.Join(got, " "); outcome != tc.want {
				t.Errorf("the requests are %s, want %s", outcome, tc.want)
			}
			bodies := rec.Prompts()
			if n := bytes.Count(bodies[len(bodies)-1], []byte("data:image/png")); n != tc.sent {
				t.Errorf("the last request has %d pictures, want %d", n, tc.sent)
			}
		})
	}
}

func extending(t *testing.T, name string, bodies [][]byte) {
	t.Helper()
	for i := range bodies[1:] {
		if before := bytes.TrimSuffix(bodies[i], []byte("]}")); !bytes.HasPrefix(bodies[i+1], before) {
			t.Errorf("%s: request %d does not begin with the one before", name, i+1)
		}
	}
}

// TestSees checks the sources of whether a model accepts pictures, in their order: the
// metadata, a remembered rejection, a table. Without any, the model gets pictures.
func TestSees(t *testing.T) {
	t.Parallel()
	yes, no := true, false
	for name, c := range map[string]struct {
		input       string // kinds of input in the metadata; empty: no such field
		rejected    bool
		known       *bool
		sees, knows bool
	}{
		"nothing is known":            {sees: true},
		"table, sees":                 {known: &yes, sees: true, knows: true},
		"table, blind":                {known: &no},
		"rejected before":             {rejected: true},
		"rejected, table sees":        {rejected: true, known: &yes},
		"metadata sees":               {input: `"text","image"`, sees: true, knows: true},
		"metadata sees, table blind":  {input: `"text","image"`, known: &no, sees: true, knows: true},
		"metadata blind, table sees":  {input: `"text"`, known: &yes},
		"metadata sees, but rejected": {input: `"text","image"`, rejected: true, sees: true, knows: true},
	} {
		rec := &modeltest.Recorder{Answer: func(_ int, _ []byte, w http.ResponseWriter) {
			if c.input == "" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			io.WriteString(w, `{"data":[{"id":"m","architecture":{"input_modalities":[`+c.input+`]}}]}`)
		}}
		m := modeltest.Serve(t, rec.ServeHTTP, func(o *client.Config) {
			o.Endpoints[0].Model, o.Endpoints[0].Known.Images = "m", c.known
			o.Rejections.Known = func(context.Context, string, string) bool { return c.rejected }
			o.Rejections.Remember = func(context.Context, string, string) error { return nil }
		})
		if knows, sees := m.KnownToSee(t.Context()), m.Sees(t.Context()); sees != c.sees || knows != c.knows {
			t.Errorf("%s: sees %v, known to see %v", name, sees, knows)
		}
	}
}
