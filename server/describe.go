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

// describe asks the model of auxiliary.vision, else that of model.small, to describe a picture. If neither is set, or
// if only model.small is set and does not see pictures, asked is false.
func (s *settings) describe(ctx context.Context, picture model.Image, prompt string) (d model.Description, asked bool, err error) {
	const task = "vision"
	conf := s.config()
	own := conf.Auxiliary[task]
	m := s.modelFor(task)
	if m == nil {
		return d, false, nil
	}
	explicit := own.Model != ""
	if seeing, ok := m.(interface{ Sees(context.Context) bool }); ok && !explicit && !seeing.Sees(ctx) {
		return d, false, nil
	}
	e, _, _ := conf.Small(task) // modelFor has found it
	limit := time.Duration(cmp.Or(own.Timeout, 120)) * time.Second
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s did not answer in %s", e.Name(), limit))
	defer cancel()
	text := "Describe the picture."
	if prompt != "" {
		text += " The user's prompt:\n\n" + prompt
	}
	d.By = e.Model
	d.Text, err = s.answerOf(limited, s.svc.Instruments.model(m), describeText, model.NewMessage(model.User, text, model.ImagePart(picture)))
	d.Text = strings.TrimSpace(d.Text)
	switch {
	case err != nil && context.Cause(limited) != nil:
		err = context.Cause(limited)
	case err == nil && d.Text == "":
		err = fmt.Errorf("%s answered with nothing", e.Name())
	}
	return d, true, err
}
