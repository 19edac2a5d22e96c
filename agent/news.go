package agent

import (
	"cmp"
	"context"
	"fmt"

	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/tools"
)

// news are the notices of a turn, without those of an earlier turn.
type news []string

const newsKey = "news"

const (
	newsShare   = 0.1    // of the context window that kept notices may have
	usualWindow = 32_000 // tokens of an unknown window
)

// keep stores the notices for the next prompt, because their prompt is left out. A notice is stored once: it
// may be the reason itself. window is the context window in tokens, or 0.
func (n news) keep(ctx context.Context, state *store.State, window int) error {
	if len(n) == 0 {
		return nil
	}
	room := int(newsShare * float64(cmp.Or(window, usualWindow)))
	kept := make([]string, len(n))
	for i, text := range n {
		size := tools.Tokens(text)
		if size > room {
			kept[i] = fmt.Sprintf("A notice of %s was left out with the prompt before: it does not fit.", amount.Bytes(len(text)))
			continue
		}
		kept[i], room = text, room-size
	}
	if err := state.Save(ctx, newsKey, kept); err != nil {
		return fmt.Errorf("keeping the notices of a prompt that is left out: %w", err)
	}
	return nil
}

// keptNews returns the notices of a prompt that was left out.
func keptNews(ctx context.Context, state *store.State) (kept []string, err error) {
	_, err = state.Load(ctx, newsKey, &kept)
	return kept, err
}
