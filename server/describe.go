package server

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

//go:embed describe.md
var describeText string

// visionTask is the auxiliary task for describing pictures.
const visionTask = "vision"

// describe asks the model of auxiliary.vision, or else of model.small, to describe a picture. If
// neither is set, or if only model.small is set and cannot see pictures, asked is false.
func (s *settings) describe(ctx context.Context, picture model.Image, prompt string) (d model.Description, asked bool, err error) {
	text := "Describe the picture."
	if prompt != "" {
		text += " The user's prompt:\n\n" + prompt
	}
	return s.look(ctx, picture, describeText, text)
}

// looks reports whether pictures can be looked at: the session's model is known to see them, or
// auxiliary.vision is set.
func (s *settings) looks(ctx context.Context) bool {
	if s.config().Auxiliary[visionTask].Model != "" {
		return true
	}
	return model.SurelySees(ctx, s.model.Current())
}

// look asks about a picture, with a system prompt. See describe for asked.
func (s *settings) look(ctx context.Context, picture model.Image, system, text string) (d model.Description, asked bool, err error) {
	conf := s.config()
	own := conf.Auxiliary[visionTask]
	m := s.modelFor(visionTask)
	if m == nil {
		return d, false, nil
	}
	explicit := own.Model != ""
	if !explicit && !model.CanSee(ctx, m, true) {
		return d, false, nil
	}
	e, _, _ := conf.Small(visionTask) // modelFor has found it
	limit := time.Duration(cmp.Or(own.Timeout, 120)) * time.Second
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s did not answer in %s", e.Name(), limit))
	defer cancel()
	d.By = e.Model
	d.Text, err = s.answerOf(limited, s.spending.Model(s.svc.Instruments.model(m)), system, model.NewMessage(model.User, text, model.ImagePart(picture)))
	d.Text = strings.TrimSpace(d.Text)
	switch {
	case err != nil && context.Cause(limited) != nil:
		err = context.Cause(limited)
	case err == nil && d.Text == "":
		err = fmt.Errorf("%s answered with nothing", e.Name())
	}
	return d, true, err
}
