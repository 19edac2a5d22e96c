package tools

import "context"

// wait takes the place of the one question that may be open in a session, as a
// question for permission does. An error is ctx's; without one, leave must follow.
func (g *Gate) Wait(ctx context.Context) (leave func(), err error) {
	if g == nil {
		return func() {}, nil
	}
	select {
	case g.turn <- struct{}{}:
		return func() { <-g.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
