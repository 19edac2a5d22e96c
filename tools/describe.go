package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/render"
)

// Spec is the description of a tool for the model.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// availabilityLimit is the timeout of a tool's availability check.
const availabilityLimit = 2 * time.Second

// Offered lists the available tools, without deferred ones, in the order they were added. Their
// descriptions mention only offered tools. Each tool is asked once; an error, a panic or a timeout
// of two seconds leaves it out.
func (s *Set) Offered(ctx context.Context) []Tool {
	all := slices.DeleteFunc(s.List(), func(t Tool) bool { return t.Deferred })
	there := make([]bool, len(all))
	var asked sync.WaitGroup
	for i, t := range all {
		if t.Available == nil {
			there[i] = hasEnv(t.RequiredEnv)
			continue
		}
		asked.Go(func() { there[i] = hasEnv(t.RequiredEnv) && available(ctx, t) == nil })
	}
	asked.Wait()

	var offered []Tool
	for i, t := range all {
		if there[i] {
			offered = append(offered, t)
		}
	}
	for i, t := range offered {
		if t.Describe != nil {
			offered[i].Description = t.Describe(offered)
		}
	}
	return offered
}

// Specs returns the offered tools for a model request.
func (s *Set) Specs(ctx context.Context) []Spec {
	offered := s.Offered(ctx)
	specs := make([]Spec, len(offered))
	for i, t := range offered {
		specs[i] = Spec{t.Name, t.Description, t.Schema}
	}
	return specs
}

func hasEnv(names []string) bool {
	for _, name := range names {
		if os.Getenv(name) == "" {
			return false
		}
	}
	return true
}

// available asks t whether it is available. After a timeout the goroutine ends with the check, at
// once if the check heeds ctx.
func available(ctx context.Context, t Tool) error {
	ctx, cancel := context.WithTimeout(ctx, availabilityLimit)
	defer cancel()
	answer := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				answer <- fmt.Errorf("asking whether %s is there: %v", t.Name, p)
			}
		}()
		answer <- t.Available(ctx)
	}()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Describe renders a description; see package render. Its function offered reports whether a tool is
// offered, as in {{if offered "name"}} … {{end}}; data is its dot. Describe panics if text is not a
// valid template, which is a programming error.
func Describe(text string, tools []Tool, data any) string {
	offered := func(name any) any {
		return slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == name })
	}
	rendered, err := render.Text(text, render.Funcs{"offered": offered}, data)
	if err != nil {
		panic(fmt.Sprintf("tools: the description %q: %v", text, err))
	}
	return strings.TrimSpace(rendered)
}
