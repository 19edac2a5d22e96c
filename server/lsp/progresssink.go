package lsp

import (
	"context"

	lsp "go.lsp.dev/protocol"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/server/lsp/chat"
)

// progressSink shows each subagent, and each call with progress, as a separate work-done progress.
// It forwards all events to the plugin, if there is one.
type progressSink struct {
	all  *progresses
	work *work
	bars map[string]*progress         // by the subagent's session, or the call
	open map[string]agent.CallStarted // calls
	next agent.Sink                   // nil: no plugin
}

func (a *progresses) sink(w *work, next agent.Sink) *progressSink {
	return &progressSink{all: a, work: w, bars: map[string]*progress{}, open: map[string]agent.CallStarted{}, next: next}
}

// Event makes progressSink an [agent.Sink].
func (b *progressSink) Event(e agent.Event) {
	switch e := e.(type) {
	case agent.CallStarted:
		b.open[e.Call.ID] = e
	case agent.CallProgress:
		b.callProgress(e)
	case agent.CallEnded:
		b.finish(e.Call.ID, endOfCall(e))
		delete(b.open, e.Call.ID)
	case agent.ChildStarted:
		b.bars[e.SessionID] = b.all.start(nil, "Hermes › "+titleOf(e.Goal), false, e.Stop)
	case agent.ChildEvent:
		if p := b.bars[e.SessionID]; p != nil {
			p.Event(e.Event)
		}
		if n, ok := e.Event.(agent.Notice); ok && b.next == nil && !n.Passing {
			b.all.editor.Show(lsp.MessageTypeWarning, "%s", n.Text)
		}
	case agent.ChildEnded:
		b.finish(e.SessionID, endOfChild(e))
	}
	if b.next != nil {
		b.next.Event(e)
	}
}

// callProgress shows the progress of a call, such as "execute_code · 3/50 calls · 12 s".
func (b *progressSink) callProgress(e agent.CallProgress) {
	call, open := b.open[e.CallID]
	if !open || e.Line == "" || call.Stop == nil {
		return
	}
	bar := b.bars[e.CallID]
	if bar == nil {
		bar = b.all.start(nil, "Hermes › "+chat.OneLine(call.Title, 60), false, call.Stop)
		b.bars[e.CallID] = bar
	}
	bar.Event(e)
}

// finish ends the bar of a piece of work, if there is a bar. The turn does not wait.
func (b *progressSink) finish(id, end string) {
	if p := b.bars[id]; p != nil {
		delete(b.bars, id)
		b.work.start("the end of a piece of work", func() { p.finish(end) })
	}
}

func endOfCall(e agent.CallEnded) string {
	if e.Result.IsError {
		return "failed"
	}
	return "done"
}

func endOfChild(e agent.ChildEnded) string {
	if e.Status == "completed" {
		return "done"
	}
	return e.Status
}

// Pace makes progressSink an [agent.Pacer]: it calls the next sink's Pace, if that is a Pacer.
func (b *progressSink) Pace(ctx context.Context) error {
	if p, ok := b.next.(agent.Pacer); ok {
		return p.Pace(ctx)
	}
	return nil
}
