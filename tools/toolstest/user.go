package toolstest

import (
	"context"
	"sync/atomic"

	"github.com/hermes-ls/hermes-ls/tools"
)

// ListedUser answers approval requests from a list, and records them.
type ListedUser struct {
	Answers chan tools.Decision // an empty channel: there is no answer
	Err     error
	Asked   []tools.ApprovalRequest // read it when nothing is asked
	open    atomic.Int32
	Most    int32
}

func UserAnswering(d ...tools.Decision) *ListedUser {
	p := &ListedUser{Answers: make(chan tools.Decision, 100)}
	for _, x := range d {
		p.Answers <- x
	}
	return p
}

func (p *ListedUser) AskPermission(ctx context.Context, q tools.ApprovalRequest) (tools.Decision, error) {
	p.Most = max(p.Most, p.open.Add(1))
	defer p.open.Add(-1)
	p.Asked = append(p.Asked, q)
	if p.Err != nil {
		return tools.DecisionOnce, p.Err
	}
	select {
	case d := <-p.Answers:
		return d, nil
	case <-ctx.Done():
		return tools.DecisionOnce, nil // a late answer
	}
}
