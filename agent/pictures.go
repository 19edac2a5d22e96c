package agent

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// keepForms stores the accepted form of each picture for later requests. When a picture of the
// session is first sent as text without a description, the user gets a notice.
func (t *turn) keepForms(p *model.PictureForms) error {
	if p.As(model.AsText) && t.tellUndescribed() {
		t.notice("%s does not see pictures. It gets the name and the size of each picture as text. "+
			"For descriptions, set auxiliary.vision to a model that sees pictures, or choose another model.", p.Model)
	}
	for i, form := range p.Forms {
		sent := maps.Clone(t.history.messages[i].Sent)
		if sent == nil {
			sent = map[string]model.PictureForm{}
		}
		sent[p.To] = form
		if err := t.keepSent(i, func(m *model.Message) { m.Sent = sent }); err != nil {
			return fmt.Errorf("keeping the form of a picture: %w", err)
		}
	}
	return nil
}

// keepSent changes the form of a message's pictures, in the history and in the store.
func (t *turn) keepSent(i int, change func(*model.Message)) error {
	m := t.history.messages[i]
	change(&m)
	if seq := t.history.origins[i].seq; seq > 0 {
		if err := t.config.Store.SetSent(t.storeCtx, t.id, seq, &m); err != nil {
			return err
		}
	}
	t.historyMu.Lock()
	defer t.historyMu.Unlock()
	change(&t.history.messages[i])
	return nil
}

// describe asks the model of [Config.Describe] for descriptions of the pictures of a message,
// and stores them. If the description of a picture fails, it gets none, and the user gets a
// notice once in a session. If there is no model, or the turn is canceled, describe returns
// nil.
func (t *turn) describe(ctx context.Context, i int) []model.Description {
	if t.config.Describe == nil {
		return nil
	}
	var out []model.Description
	prompt := t.history.promptBefore(i)
	for _, picture := range t.history.messages[i].Images() {
		d, asked, err := t.config.Describe(ctx, picture, prompt)
		if !asked || ctx.Err() != nil {
			return nil
		}
		if err != nil {
			d.Text = ""
			if t.tellUndescribed() {
				t.notice("A picture was not described: %s. The model gets its name and size as text. Check auxiliary.vision.", strings.TrimRight(err.Error(), ". "))
			}
		}
		d.Text = clipPart(d.Text)
		out = append(out, d)
	}
	if err := t.keepSent(i, func(m *model.Message) { m.Described = out }); err != nil {
		t.config.Log.Warn("a description is lost when the server ends", "session", t.id, "error", err)
	}
	return out
}

// promptBefore returns the user's own text of the prompt that led to message i.
func (h *history) promptBefore(i int) string {
	for ; i >= 0; i-- {
		if !h.origins[i].isPrompt {
			continue
		}
		text := h.messages[i].Text()
		for _, added := range []string{rulesText, environmentText, newsText, attachedText, linkedText} {
			text, _, _ = strings.Cut(text, "\n\n"+added)
		}
		return text
	}
	return ""
}

// tellUndescribed reports whether to show the notice about pictures without a description. It
// is shown once in a session, across processes.
func (t *turn) tellUndescribed() bool {
	told := t.undescribed || t.history.hasUndescribed()
	t.undescribed = true
	return !told
}

// hasUndescribed reports whether any picture was sent as text or lacks its description after an
// error.
func (h *history) hasUndescribed() bool {
	for i := range h.messages {
		m := &h.messages[i]
		for _, form := range m.Sent {
			if form == model.AsText {
				return true
			}
		}
		if slices.ContainsFunc(m.Described, func(d model.Description) bool { return d.Text == "" }) {
			return true
		}
	}
	return false
}
