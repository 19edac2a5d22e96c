package client

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// sight tells whether a model accepts pictures. Zero means not known.
type sight int

const (
	blind sight = iota + 1
	seeing
)

// Sees reports whether the first endpoint's model gets pictures. If this is not known, it
// returns true. It may request the endpoint's metadata, once.
func (m *Model) Sees(ctx context.Context) bool {
	return len(m.endpoints) > 0 && m.sight(ctx, m.endpoints[0]) != blind
}

// KnownToSee reports whether the first endpoint's model is known to accept pictures. It may
// request the endpoint's metadata, once.
func (m *Model) KnownToSee(ctx context.Context) bool {
	return len(m.endpoints) > 0 && m.sight(ctx, m.endpoints[0]) == seeing
}

// sight returns whether a model accepts pictures, from the first source with an answer: the
// configuration, the endpoint's metadata, a remembered rejection, [Facts].
func (m *Model) sight(ctx context.Context, e *endpoint) sight {
	if e.Images != nil {
		return sightFrom(e.Images)
	}
	e.ask(ctx)
	if told := e.metadata().sees; told != 0 {
		return told
	}
	if m.rejects(ctx, e) {
		return blind
	}
	return sightFrom(e.Known.Images)
}

// sightFrom returns zero for nil.
func sightFrom(images *bool) sight {
	switch {
	case images == nil:
		return 0
	case *images:
		return seeing
	default:
		return blind
	}
}

// rejectionLasts is how long a rejection in memory applies.
const rejectionLasts = 30 * 24 * time.Hour

func (m *Model) rejects(ctx context.Context, e *endpoint) bool {
	e.learned.Lock()
	at, ok := e.learned.blind[e.Model]
	e.learned.Unlock()
	if ok && time.Since(at) < rejectionLasts {
		return true
	}
	return m.rejected.Known != nil && m.rejected.Known(ctx, e.url, e.Model)
}

// remember stores the endpoint's rejection of a picture for its model.
func (m *Model) remember(ctx context.Context, e *endpoint) {
	e.learned.Lock()
	if e.learned.blind == nil {
		e.learned.blind = map[string]time.Time{}
	}
	e.learned.blind[e.Model] = time.Now()
	e.learned.Unlock()
	if m.rejected.Remember == nil {
		return
	}
	if err := m.rejected.Remember(context.WithoutCancel(ctx), e.url, e.Model); err != nil {
		m.log.Warn("a rejected picture is remembered only until the server ends", "endpoint", e.name(), "error", err)
	}
}

// pictureForms are the forms of a request's pictures for an endpoint.
type pictureForms struct {
	to       string
	forms    map[int]model.PictureForm // by message
	open     []int                     // messages without an accepted form yet
	rejected int                       // the status of a rejection; 0: none
	refused  bool                      // the endpoint refused the session's last request with pictures
	told     bool
}

// formsFor returns the forms of a request's pictures. A form accepted by e stays.
func (m *Model) formsFor(ctx context.Context, e *endpoint, req *model.Request) *pictureForms {
	f := &pictureForms{to: e.url + " " + e.Model, forms: map[int]model.PictureForm{}}
	f.refused = m.refusedLast(req) == f.to
	for i := range req.Messages {
		if !req.Messages[i].Has(model.ImageType) {
			continue
		}
		if f.forms[i] = req.Messages[i].Sent[f.to]; f.forms[i] == "" {
			f.open = append(f.open, i)
		}
	}
	if len(f.open) == 0 {
		return f
	}
	form := model.AsPicture
	if m.sight(ctx, e) == blind {
		form = model.AsText
	}
	f.set(form)
	return f
}

func (f *pictureForms) set(form model.PictureForm) {
	for _, i := range f.open {
		f.forms[i] = form
	}
}

// describe adds descriptions to the pictures sent as text for the first time.
func (s *stream) describe(ctx context.Context) {
	for _, i := range s.forms.open {
		if s.forms.forms[i] == model.AsText && s.described(ctx, i) {
			s.forms.forms[i] = model.AsDescribed
		}
	}
}

// described reports whether a picture of a message has a description. If no model was asked
// yet, described asks.
func (s *stream) described(ctx context.Context, i int) bool {
	texts := s.req.Messages[i].Described
	if texts == nil && s.req.Describe != nil {
		if texts = s.req.Describe(ctx, i); texts != nil {
			r := *s.req
			r.Messages = slices.Clone(r.Messages) // they belong to the caller
			r.Messages[i].Described = texts
			s.req = &r
		}
	}
	return slices.ContainsFunc(texts, func(d model.Description) bool { return d.Text != "" })
}

// reject turns pictures into text. If err is the rejection of a picture, it takes the pictures
// not accepted before. If the endpoint refuses a request with pictures again, it takes all
// pictures that are left, so the session continues. If it changes nothing, it returns false.
func (f *pictureForms) reject(err *model.Error) bool {
	switch open := slices.ContainsFunc(f.open, f.isPicture); {
	case open && rejectsPicture(err):
		f.rejected = err.Status
	case !f.refused && f.rejected == 0, !refuses(err):
		return false
	case !open:
		f.open = slices.AppendSeq(f.open, maps.Keys(f.pictures()))
		slices.Sort(f.open)
	}
	if len(f.pictures()) == 0 {
		return false
	}
	for _, i := range f.open {
		if f.isPicture(i) {
			f.forms[i] = model.AsText
		}
	}
	return true
}

func (f *pictureForms) isPicture(i int) bool { return f.forms[i] == model.AsPicture }

// pictures returns the forms of the messages whose pictures are sent as pictures.
func (f *pictureForms) pictures() map[int]model.PictureForm {
	sent := maps.Clone(f.forms)
	maps.DeleteFunc(sent, func(_ int, form model.PictureForm) bool { return form != model.AsPicture })
	return sent
}

// refuses reports whether an endpoint would likely return err for the same request again.
func refuses(err *model.Error) bool {
	switch err.Kind {
	case model.ErrRequest, model.ErrPolicy, model.ErrOverflow:
		return true
	default:
		return rejectsPicture(err)
	}
}

// refusedLast returns the endpoint and model of the session's last refused request with
// pictures. If it was not refused, refusedLast returns "".
func (m *Model) refusedLast(req *model.Request) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refused[req.SessionID]
}

// noteRefusal records err if it refuses a request with pictures.
func (s *stream) noteRefusal(err error) {
	m, f := s.model, s.forms
	if s.req.SessionID == "" || f == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var failed *model.Error
	switch {
	case err == nil:
		delete(m.refused, s.req.SessionID)
	case errors.As(err, &failed) && refuses(failed) && len(f.pictures()) > 0:
		m.refused[s.req.SessionID] = f.to
	}
}

// accepted yields the conditions of the response before its first piece: a fallback, dropped
// state, missing tools, and the accepted forms of the pictures. It remembers a rejected
// picture, unless the configuration decides about pictures. If the caller stopped reading,
// accepted returns false.
func (s *stream) accepted(ctx context.Context, e *endpoint) bool {
	if why := s.instead; why != "" {
		s.instead = ""
		if s.broken = !s.yield(model.Delta{Fallback: fmt.Sprintf("%s answers for the rest of this turn, because %s.", e.id(), why)}, nil); s.broken {
			return false
		}
	}
	if origin := s.dropped; origin != nil {
		s.dropped = nil
		if s.broken = !s.yield(model.Delta{Dropped: origin}, nil); s.broken {
			return false
		}
	}
	if notice := s.model.toolsNotice(s.req, e); notice != "" {
		if s.broken = !s.yield(model.Delta{Notice: notice, Lasting: true}, nil); s.broken {
			return false
		}
	}
	f := s.forms
	if f.told || len(f.open) == 0 {
		return true
	}
	f.told = true
	if f.rejected != 0 && f.rejected != http.StatusInternalServerError && e.Images == nil {
		s.model.remember(ctx, e)
	}
	decided := &model.PictureForms{To: f.to, Model: e.Model, Forms: map[int]model.PictureForm{}}
	for _, i := range f.open {
		decided.Forms[i] = f.forms[i]
	}
	s.broken = !s.yield(model.Delta{Pictures: decided}, nil)
	return !s.broken
}

// rejectsPicture reports whether an endpoint may have failed because of a picture.
func rejectsPicture(err *model.Error) bool {
	switch err.Status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return false
	}
	words := strings.FieldsFunc(strings.ToLower(err.Message), func(r rune) bool { return !unicode.IsLetter(r) })
	for i, w := range words {
		for _, about := range []string{"image", "picture", "vision", "modalit", "multimodal"} {
			if strings.HasPrefix(w, about) {
				return true
			}
		}
		if w == "content" && i+1 < len(words) && strings.HasPrefix(words[i+1], "type") {
			return true
		}
	}
	return false
}

// sightIn returns whether a list of input types contains word. If the list is empty, it
// returns zero.
func sightIn(list []string, word string) sight {
	switch {
	case len(list) == 0:
		return 0
	case strings.Contains(strings.Join(list, " "), word):
		return seeing
	default:
		return blind
	}
}
