package agent

import (
	"fmt"
	"maps"

	"github.com/hermes-ls/hermes-ls/agent/model"
)

// keepForms stores the form in which an endpoint accepted each picture, so that later
// requests repeat it. When a picture of the session is first sent as text, the user gets a
// notice.
func (t *turn) keepForms(p *model.PictureForms) error {
	if p.As(model.AsText) && !t.history.textSent() {
		t.notice("%s does not see pictures. It gets the name and the size of each picture as text. Choose another model to show it pictures.", p.Model)
	}
	for i, form := range p.Forms {
		sent := maps.Clone(t.history.messages[i].Sent)
		if sent == nil {
			sent = map[string]model.PictureForm{}
		}
		sent[p.To] = form
		if seq := t.history.origins[i].seq; seq > 0 {
			if err := t.config.Store.SetSent(t.storeCtx, t.id, seq, sent); err != nil {
				return fmt.Errorf("keeping the form of a picture: %w", err)
			}
		}
		t.historyMu.Lock()
		t.history.messages[i].Sent = sent
		t.historyMu.Unlock()
	}
	return nil
}

// textSent reports whether any picture was sent as text.
func (h *history) textSent() bool {
	for i := range h.messages {
		for _, form := range h.messages[i].Sent {
			if form == model.AsText {
				return true
			}
		}
	}
	return false
}
