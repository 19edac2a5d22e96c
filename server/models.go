package server

import (
	"context"
	"errors"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server/models"
)

// ready applies the configuration and the options to the model. If there is none, the error
// explains the setup of a model.
func (s *settings) ready() error {
	if s.svc.Model != nil {
		s.model.Set(s.svc.Instruments.model(s.svc.Model))
	}
	if s.svc.Model != nil || s.routed.Load() {
		return nil
	}
	conf := s.config()
	name, _ := s.model.Choice()
	endpoints, err := conf.EndpointsFrom(name)
	if errors.Is(err, config.ErrProvider) {
		return err // a key would not help
	}
	if err != nil {
		return &model.Error{Kind: model.ErrNoKey, Message: err.Error(), Err: err}
	}
	s.model.Set(s.svc.Instruments.model(s.svc.models.Get(endpoints)))
	effort := conf.Model.Effort
	if effort == thoughtAuto {
		effort = ""
	}
	s.model.Configure(effort)
	return nil
}

// childModel returns the model of a route, its name and its context window. If neither the
// task nor the configuration has a route, it returns the session's own model.
func (s *settings) childModel(_ context.Context, section, route string) (m model.Model, name string, window int, err error) {
	endpoints, err := s.config().RouteEndpoints(section, route)
	if err != nil {
		return nil, "", 0, err
	}
	if endpoints == nil {
		if err := s.ready(); err != nil {
			return nil, "", 0, err
		}
		return s.spending.Model(models.OfSubagent(s.model)), s.modelName(), s.model.Window(), nil
	}
	if s.svc.Model != nil {
		return s.spending.Model(s.svc.Instruments.model(s.svc.Model)), endpoints[0].Model, 0, nil
	}
	made := s.svc.models.Get(endpoints)
	return s.spending.Model(models.OfSubagent(s.svc.Instruments.model(made))), endpoints[0].Model, model.WindowOf(made), nil
}

// readyFor is ready for a turn with the model of a route of delegation.routes. If there is none, show
// gets the reason, and the model of the session answers.
func (s *settings) readyFor(route string, show func(text string)) error {
	s.routed.Store(false)
	if err := s.ready(); err != nil || route == "" || s.svc.Model != nil {
		return err
	}
	if endpoints, err := s.config().RouteEndpoints("delegation", route); err != nil {
		show(err.Error() + ". The model of the session answers.")
	} else {
		s.model.Set(s.svc.Instruments.model(s.svc.models.Get(endpoints)))
		s.routed.Store(true)
	}
	return nil
}

// chooseProfile decides whether the session gets the profile for small context windows. Afterwards,
// the prefix of its requests must be rebuilt.
func (s *settings) chooseProfile() {
	switch window := s.model.Window(); s.config().Model.Profile {
	case "small":
		s.small.Store(true)
	case "full":
		s.small.Store(false)
	default:
		s.small.Store(window > 0 && window < agent.SmallWindow)
	}
}

// first returns the primary model as PROVIDER/MODEL.
func (s *settings) first() string { return s.options()[1].Value }

// modelName returns the id of the primary model.
func (s *settings) modelName() string {
	name := s.first()
	if _, id, ok := strings.Cut(name, "/"); ok {
		return id
	}
	return name
}

// notesModel returns the configured model for the notes of compactions. Nil: the session's.
func (s *settings) notesModel() model.Model {
	made := s.modelFor("compression")
	if made == nil {
		return nil
	}
	return s.spending.Model(s.svc.Instruments.model(made))
}

// modelFor returns the model for a task other than the session's turns. Nil: the session's.
func (s *settings) modelFor(task string) model.Model {
	if s.svc.Model != nil {
		return nil
	}
	e, ok, err := s.config().Small(task)
	if err != nil {
		s.svc.Log.Warn("the session's model does the task of another one", "task", task, "error", err)
	}
	if !ok {
		return nil
	}
	return s.svc.models.Get([]config.Endpoint{e})
}
