package app

import (
	"context"

	"github.com/hermes-ls/hermes-ls/delegate/worktree"
	"github.com/hermes-ls/hermes-ls/extensions/environment"
	"github.com/hermes-ls/hermes-ls/extensions/learnings"
	"github.com/hermes-ls/hermes-ls/extensions/memory"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
	"github.com/hermes-ls/hermes-ls/internal/sandbox"
	"github.com/hermes-ls/hermes-ls/internal/trust"
	"github.com/hermes-ls/hermes-ls/server"
)

func moveCheckpoints(kept *checkpoint.Store) func(context.Context, server.Move) (string, error) {
	return func(_ context.Context, m server.Move) (string, error) {
		n, err := kept.Move(m.Sessions, m.Move)
		if n == 0 || err != nil {
			return "", err
		}
		return "their checkpoints", nil
	}
}

func moveLearnings(learned *learnings.Store) func(context.Context, server.Move) (string, error) {
	return func(ctx context.Context, m server.Move) (string, error) {
		n, err := learned.Move(ctx, m.Move)
		if n == 0 || err != nil {
			return "", err
		}
		return "its learnings", nil
	}
}

func moveMemory(s *server.Service) func(context.Context, server.Move) (string, error) {
	return func(ctx context.Context, m server.Move) (string, error) {
		n, err := memory.Move(ctx, s.Home, m.Move, m.Folders)
		if n == 0 || err != nil {
			return "", err
		}
		return "its memory", nil
	}
}

func moveTrust(s *server.Service) func(context.Context, server.Move) (string, error) {
	return func(ctx context.Context, m server.Move) (string, error) {
		n, err := trust.Open(s.Home).Move(ctx, m.Move)
		if n == 0 || err != nil {
			return "", err
		}
		return "its trust", nil
	}
}

func moveCommands(s *server.Service) func(context.Context, server.Move) (string, error) {
	return func(_ context.Context, m server.Move) (string, error) {
		n, err := sandbox.Move(s.Home, m.Move)
		if n == 0 || err != nil {
			return "", err
		}
		return "the caches of its commands", nil
	}
}

func moveWorktrees(s *server.Service) func(context.Context, server.Move) (string, error) {
	return func(_ context.Context, m server.Move) (string, error) {
		n, err := worktree.Move(worktree.RecordsOf(s.Store().Path()), m.Move)
		if n == 0 || err != nil {
			return "", err
		}
		return "the work of subagents of a killed server", nil
	}
}

// tellMove makes the next prompt of each session report its renamed folder.
func tellMove(s *server.Service) func(context.Context, server.Move) (string, error) {
	return func(ctx context.Context, m server.Move) (string, error) {
		for _, id := range m.Sessions {
			if err := environment.Renamed(ctx, s.Store().State(id, environment.Name), m.Move); err != nil {
				return "", err
			}
		}
		return "", nil
	}
}
