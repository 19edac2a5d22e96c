package client

import "github.com/hermes-ls/hermes-ls/agent/model"

// merger joins pieces of text into a single delta. The caller may make a frame of each delta,
// which costs more than the piece.
type merger struct {
	yield func(model.Delta) bool
	text  []byte
	// reasoning says which text it is.
	reasoning bool
}

// add passes a delta on, or keeps it until the next flush.
func (m *merger) add(d model.Delta) bool {
	piece, reasoning := d.Text, false
	if piece == "" {
		piece, reasoning = d.Reasoning, true
	}
	plain := model.Delta{Text: piece}
	if reasoning {
		plain = model.Delta{Reasoning: piece}
	}
	if piece == "" || d != plain {
		return m.flush() && m.yield(d)
	}
	if reasoning != m.reasoning && !m.flush() {
		return false
	}
	m.reasoning = reasoning
	m.text = append(m.text, piece...)
	return true
}

// flush yields the kept text. If the caller stopped reading, it returns false.
func (m *merger) flush() bool {
	if len(m.text) == 0 {
		return true
	}
	d := model.Delta{Text: string(m.text)}
	if m.reasoning {
		d = model.Delta{Reasoning: string(m.text)}
	}
	m.text = m.text[:0]
	return m.yield(d)
}
