package app

import (
	"context"

	"github.com/hermes-ls/hermes-ls/extensions/learnings"
	"github.com/hermes-ls/hermes-ls/extensions/memory"
	"github.com/hermes-ls/hermes-ls/internal/checkpoint"
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
