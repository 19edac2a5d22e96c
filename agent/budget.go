package agent

import "github.com/hermes-ls/hermes-ls/tools"

const (
	replyCap  = 200_000 // bytes of all results of one response's calls
	resultMin = 2_000   // bytes that each result may have in any case
)

// budget limits the total size of the results of one response. A model may call many tools
// at once, and each result may be near its own limit.
type budget struct{ left int }

// fit shortens a result to the rest of the budget.
func (b *budget) fit(set *tools.Set, env *tools.Env, c *call) {
	c.result = set.Fit(env, c.Name, c.result, max(b.left, resultMin))
	b.left -= len(c.result.JSON)
}
