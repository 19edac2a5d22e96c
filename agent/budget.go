package agent

import "github.com/hermes-ls/hermes-ls/tools"

const (
	replyCap  = 200_000 // bytes of the results of one reply's calls, together
	resultMin = 2_000   // bytes of a result, however much came before it
)

// budget limits the results of the calls of one response together: a model may call many
// tools at once, and each result may be near its own limit.
type budget struct{ left int }

// fit shortens a result to the rest of the budget.
func (b *budget) fit(env *tools.Env, c *call) {
	c.result = tools.Fit(env, c.Name, c.result, max(b.left, resultMin))
	b.left -= len(c.result.JSON)
}
