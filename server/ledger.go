package server

import (
	"context"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/store"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/server/spending"
	"github.com/hermes-ls/hermes-ls/tools"
	"github.com/hermes-ls/hermes-ls/tools/gate"
)

// asker asks the user a question for which the gate has no rule.
type asker func(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error)

// Names in the stored state of a session.
const (
	spendingState = "spending"
	raisedKey     = "raised"
)

// newLedger returns the ledger of a session. stored returns nil for a session without a prompt.
func newLedger(id string, stored func() *store.Store, all func() *store.Store, conf func() *config.Loaded, g *gate.Gate, ask asker, show func(string)) *spending.Ledger {
	return spending.New(spending.Config{
		Limits: func() (config.Limits, int) {
			c := conf()
			return c.Limits, c.Model.MaxTokens
		},
		Session: func(ctx context.Context) (model.Usage, error) {
			st := stored()
			if st == nil {
				return model.Usage{}, nil
			}
			spent, err := st.SpentIn(ctx, id)
			return spent.Usage, err
		},
		Today: func(ctx context.Context) (float64, error) {
			now := time.Now()
			days, err := all().SpentByDay(ctx, time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location()))
			sum := 0.0
			for _, d := range days {
				sum += d.Cost
			}
			return sum, err
		},
		Ask: func(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
			leave, err := g.Wait(ctx)
			if err != nil {
				return "", err
			}
			defer leave()
			return ask(ctx, q)
		},
		Raised: func(ctx context.Context) (raised map[string]float64, err error) {
			if st := stored(); st != nil {
				_, err = st.State(id, spendingState).Load(ctx, raisedKey, &raised)
			}
			return raised, err
		},
		Keep: func(ctx context.Context, raised map[string]float64) error {
			return all().State(id, spendingState).Save(ctx, raisedKey, raised)
		},
		Show: show,
	})
}
