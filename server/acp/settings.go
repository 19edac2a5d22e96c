package acp

import (
	"context"
	"encoding/json"

	"github.com/hermes-ls/hermes-ls/protocol/acp"
	"github.com/hermes-ls/hermes-ls/server"
)

func (a *Agent) setMode(ctx context.Context, p *acp.SetSessionModeRequest) (*acp.SetSessionModeResponse, error) {
	x, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.ModeID == "" {
		return nil, missing("modeId")
	}
	if err := x.SetMode(ctx, p.ModeID); err != nil {
		return nil, err
	}
	return &acp.SetSessionModeResponse{}, nil
}

func (a *Agent) setOption(ctx context.Context, p *acp.SetSessionConfigOptionRequest) (*acp.SetSessionConfigOptionResponse, error) {
	x, err := a.session(p.SessionID)
	if err != nil {
		return nil, err
	}
	if p.ConfigID == "" {
		return nil, missing("configId")
	}
	var value string
	if err := json.Unmarshal(p.Value, &value); err != nil || p.Value == nil {
		return nil, acp.Errorf(acp.CodeInvalidParams, "value must be a string: the id of one of the option's values")
	}
	if err := x.SetOption(ctx, p.ConfigID, value); err != nil {
		return nil, err
	}
	return &acp.SetSessionConfigOptionResponse{ConfigOptions: optionsOf(x)}, nil
}

// SettingsChanged sends the settings of a session.
func (c *Client) SettingsChanged(x *server.Session) {
	c.update(x.ID(), &acp.ModeUpdate{SessionUpdate: acp.UpdateMode, CurrentModeID: x.Mode()})
	c.update(x.ID(), &acp.OptionsUpdate{SessionUpdate: acp.UpdateOptions, ConfigOptions: optionsOf(x)})
}

func modesOf(x *server.Session) *acp.SessionModeState {
	state := &acp.SessionModeState{CurrentModeID: x.Mode()}
	for _, m := range server.Modes() {
		state.AvailableModes = append(state.AvailableModes, acp.SessionMode(m))
	}
	return state
}

func optionsOf(x *server.Session) []acp.SessionConfigOption {
	var options []acp.SessionConfigOption
	for _, o := range x.Options() {
		option := acp.SessionConfigOption{
			ID: o.ID, Name: o.Name, Description: o.Description, Category: o.Category,
			Type: "select", CurrentValue: o.Value,
		}
		for _, c := range o.Choices {
			option.Options = append(option.Options, acp.SessionConfigSelectOption{Value: c.ID, Name: c.Name, Description: c.Description})
		}
		options = append(options, option)
	}
	return options
}

// modelsOf lists the models that a session can choose. It asks the providers.
func modelsOf(ctx context.Context, x *server.Session) *acp.ModelListResponse {
	all, failed := x.Models(ctx)
	r := &acp.ModelListResponse{}
	for _, m := range all {
		info := acp.ModelInfo{ID: m.Name, Description: m.Description, ContextWindow: m.Window, Images: m.Images, Used: m.Used, Current: m.Current}
		if m.Price != nil {
			info.Price = &acp.ModelPrice{Input: m.Price.Input, Output: m.Price.Output}
		}
		r.Models = append(r.Models, info)
	}
	for _, f := range failed {
		r.Errors = append(r.Errors, acp.ModelListError{Provider: f.Provider, Message: f.Err.Error()})
	}
	return r
}
