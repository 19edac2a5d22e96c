package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Spec is a tool as the model is told of it.
type Spec struct {
	Name        string
	Description string
	Schema      json.RawMessage
}

// availabilityLimit is how long a tool may take to say whether it is there.
const availabilityLimit = 2 * time.Second

// Offered lists the tools that are there now, in the order they were added, with
// descriptions that mention no others. Each tool is asked once; an error, a panic
// or no answer in two seconds leaves it out.
func (s *Set) Offered(ctx context.Context) []Tool {
	all := s.List()
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

	names := map[string]bool{}
	var offered []Tool
	for i, t := range all {
		if there[i] {
			names[t.Name] = true
			offered = append(offered, t)
		}
	}
	for i, t := range offered {
		if t.Describe != nil {
			offered[i].Description = t.Describe(offered)
		}
		offered[i].Description = render(offered[i].Description, func(name string) bool { return names[name] })
	}
	return offered
}

// Specs is what a model request says of the offered tools.
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

// available asks t. One that does not answer in time is left to itself: its
// goroutine ends when it does answer, which a check that heeds ctx does at once.
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

// render decides {{if offered "name"}} … {{else}} … {{end}} in a description. A
// text whose directives do not pair, such as one from elsewhere that happens to
// hold braces, stays as it is.
func render(text string, offered func(string) bool) string {
	if !strings.Contains(text, `{{if offered "`) {
		return text
	}
	r := renderer{rest: text, offered: offered}
	r.until(true, true, 0)
	if r.failed {
		return text
	}
	return strings.TrimSpace(r.out.String())
}

type renderer struct {
	rest    string
	out     strings.Builder
	offered func(string) bool
	failed  bool
}

// until copies up to the {{end}} of its depth: what stands under a condition that
// is met, inside an outer text that is shown.
func (r *renderer) until(outer, met bool, depth int) {
	for {
		shown := outer && met
		before, after, found := strings.Cut(r.rest, "{{")
		if shown {
			r.out.WriteString(before)
		}
		if !found {
			r.rest, r.failed = "", r.failed || depth > 0
			return
		}
		directive, rest, closed := strings.Cut(after, "}}")
		name, isIf := strings.CutPrefix(directive, `if offered "`)
		switch {
		case closed && isIf && strings.HasSuffix(name, `"`):
			r.rest = rest
			r.until(shown, r.offered(strings.TrimSuffix(name, `"`)), depth+1)
		case closed && depth > 0 && directive == "else":
			r.rest = rest
			met = !met
		case closed && depth > 0 && directive == "end":
			r.rest = rest
			return
		default:
			if shown {
				r.out.WriteString("{{")
			}
			r.rest = after
		}
	}
}
