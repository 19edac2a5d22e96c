package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/tools"
)

// paired keeps calls and results together while messages are added to the next request. It
// repairs sessions of older versions, and writes responses in plain form.
type paired struct {
	ids   map[string]bool // of the calls so far, and of items of the Responses API
	open  []openCall      // of the newest response, without a result yet
	plain bool            // the newest response is in plain form, and its results will be
}

type openCall struct {
	stored string     // the id in the store
	sent   model.Call // as requests contain it
}

// soundMessage returns a message whose texts, names, ids and arguments are valid in every API.
func soundMessage(m model.Message) model.Message {
	var parts []model.Part
	for i := range m.Parts {
		p, changed := soundPart(m.Parts[i])
		if !changed {
			continue
		}
		if parts == nil {
			parts = slices.Clone(m.Parts) // a running request still uses the old parts
		}
		parts[i] = p
	}
	if parts != nil {
		m.Parts = parts
	}
	return m
}

func soundPart(p model.Part) (sound model.Part, changed bool) {
	sound = p
	sound.Text = model.SoundText(p.Text)
	switch p.Type {
	case model.CallType:
		sound.Call = soundCall(p.Call)
		if sound.Call != p.Call {
			sound.State = nil // it shares the faults
		}
	case model.ResultType:
		sound.Call.ID, sound.Call.Name = model.StoredID(p.Call.ID), soundName(p.Call.Name)
	}
	return sound, sound.Text != p.Text || sound.Call != p.Call
}

func soundCall(c model.Call) model.Call {
	args, ok := model.SoundArgs(c.Args)
	switch {
	case ok && len(args) == len(strings.TrimSpace(c.Args)) && args == strings.TrimSpace(c.Args):
		args = c.Args // surrounding white space does not matter
	case !ok:
		args = loggedArgs(c.Args, false)
	}
	return model.Call{ID: model.StoredID(c.ID), Name: soundName(c.Name), Args: args}
}

// soundName returns a name accepted by every API. It keeps a leading digit: MCP tools may use
// it.
func soundName(name string) string {
	if sound := model.SoundName(name); sound != "_"+name {
		return sound
	}
	return name
}

// paired returns the messages for requests made from a stored message. before must precede
// them.
func (h *history) paired(m model.Message, plain bool) (before, sent []model.Message) {
	m = soundMessage(m)
	p := &h.pairs
	if m.Role == model.ToolRole {
		return nil, p.result(m)
	}
	if len(m.Parts) == 0 {
		return nil, []model.Message{m} // not sent
	}
	for _, c := range p.open {
		before = append(before, model.ResultMessage(c.sent.ID, c.sent.Name, string(tools.Fail(effectStopped).JSON)))
	}
	if p.plain {
		before = plainResults(before)
	}
	p.open, p.plain = nil, plain && m.Role == model.Assistant
	if m.Role != model.Assistant {
		return before, []model.Message{m}
	}
	m = p.calls(m)
	if p.plain {
		m = plainResponse(m)
	}
	return before, []model.Message{m}
}

// calls gives each call of a response a unique id, and records the calls as open.
func (p *paired) calls(m model.Message) model.Message {
	if p.ids == nil {
		p.ids = map[string]bool{}
	}
	var parts []model.Part
	change := func(i int) *model.Part {
		if parts == nil {
			parts = slices.Clone(m.Parts)
		}
		return &parts[i]
	}
	for i := range m.Parts {
		if item := m.Parts[i].State.Item(); item != "" && p.ids[item] {
			change(i).State = nil // the API refuses a second item with the same id
		} else if item != "" {
			p.ids[item] = true
		}
		if m.Parts[i].Type != model.CallType {
			continue
		}
		c := m.Parts[i].Call
		stored := c.ID
		if c.ID = uniqueID(stored, func(id string) bool { return p.ids[id] }); c.ID != stored {
			change(i).Call = c
		}
		p.ids[c.ID] = true
		p.open = append(p.open, openCall{stored, c})
	}
	if parts != nil {
		m.Parts = parts
	}
	return m
}

// result sets the id and the name of a result's call. A result without a call becomes text.
func (p *paired) result(m model.Message) []model.Message {
	id := m.CallID()
	i := slices.IndexFunc(p.open, func(c openCall) bool { return c.stored == id })
	if i < 0 {
		return plainResults([]model.Message{m})
	}
	c := p.open[i].sent
	p.open = slices.Delete(slices.Clone(p.open), i, i+1)
	if m.Name() != c.Name || id != c.ID {
		m.Parts = slices.Clone(m.Parts)
		for n := range m.Parts {
			if m.Parts[n].Type == model.ResultType {
				m.Parts[n].Call.ID, m.Parts[n].Call.Name = c.ID, c.Name
			}
		}
	}
	if p.plain {
		return plainResults([]model.Message{m})
	}
	return []model.Message{m}
}

// Texts of the plain form.
const (
	plainCall   = "(hermes-ls writes this call as text, because the model's server refused it in its own form: the tool %s was called with %s)"
	plainResult = "The result of %s: %s"
)

// plainResponse returns a response as a single text, without reasoning and state.
func plainResponse(m model.Message) model.Message {
	var texts []string
	for _, p := range m.Parts {
		switch {
		case p.Type == model.TextType && strings.TrimSpace(p.Text) != "":
			texts = append(texts, strings.TrimSpace(p.Text))
		case p.Type == model.CallType:
			texts = append(texts, fmt.Sprintf(plainCall, p.Call.Name, cmp.Or(p.Call.Args, emptyArgs)))
		}
	}
	return model.Message{Role: m.Role, Parts: []model.Part{model.TextPart(cmp.Or(strings.Join(texts, "\n\n"), "(no text)"))}}
}

// plainResults returns results as user messages, with their images and files.
func plainResults(results []model.Message) []model.Message {
	var all []model.Message
	for _, m := range results {
		text := strings.TrimSpace(compose(Input{News: []string{fmt.Sprintf(plainResult, cmp.Or(m.Name(), model.Unnamed), m.Text())}}))
		plain := model.NewMessage(model.User, text)
		for _, p := range m.Parts {
			if p.Type == model.ImageType || p.Type == model.FileType {
				plain.Parts = append(plain.Parts, p)
			}
		}
		plain.Sent, plain.Described = m.Sent, m.Described
		all = append(all, plain)
	}
	return all
}
