// Command generate writes models.json from catwalk (https://github.com/charmbracelet/catwalk, MIT license), a
// list of models with their windows and prices. `make models` runs it.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

// names has catwalk's name of each provider that has another name there.
var names = map[string]string{"kimi-coding": "kimi"}

// wanted are the providers of package catalog whose models have prices.
var wanted = []string{"openai", "anthropic", "gemini", "openrouter", "deepseek", "xai", "huggingface", "zai", "groq", "minimax", "kimi", "azure", "bedrock"}

// The types of package catalog, which is in another module.
type (
	table struct {
		Date      string             `json:"date"`
		Source    string             `json:"source"`
		Providers map[string][]model `json:"providers"`
	}
	model struct {
		ID      string   `json:"id"`
		Window  int64    `json:"window,omitempty"`
		Output  int64    `json:"output,omitempty"`
		Images  bool     `json:"images,omitempty"`
		Efforts []string `json:"efforts,omitempty"`
		Price   *price   `json:"price,omitempty"`
	}
	price struct {
		Input      float64 `json:"input"`
		Output     float64 `json:"output"`
		CacheRead  float64 `json:"cacheRead,omitempty"`
		CacheWrite float64 `json:"cacheWrite,omitempty"`
	}
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run() error {
	source, err := exec.Command("go", "list", "-m", "-f", "{{.Time.Format \"2006-01-02\"}} {{.Path}} {{.Version}}", "charm.land/catwalk").Output()
	if err != nil {
		return err
	}
	date, name, _ := strings.Cut(strings.TrimSpace(string(source)), " ")
	out := table{Date: date, Source: name, Providers: map[string][]model{}}
	for _, p := range embedded.GetAll() {
		name := string(p.ID)
		if ours, other := names[name]; other {
			name = ours
		}
		if !slices.Contains(wanted, name) {
			continue
		}
		for _, m := range p.Models {
			out.Providers[name] = append(out.Providers[name], convert(m))
		}
		slices.SortFunc(out.Providers[name], func(a, b model) int { return strings.Compare(a.ID, b.ID) })
	}
	e := json.NewEncoder(os.Stdout)
	e.SetEscapeHTML(false)
	return e.Encode(out)
}

func convert(m catwalk.Model) model {
	out := model{ID: m.ID, Window: m.ContextWindow, Output: m.DefaultMaxTokens, Images: m.SupportsImages, Efforts: m.ReasoningLevels}
	if m.CostPer1MIn > 0 || m.CostPer1MOut > 0 {
		p := &price{Input: m.CostPer1MIn, Output: m.CostPer1MOut}
		// The two prices of cached tokens are in different fields for different providers. Reading
		// costs less than input, writing more.
		for _, cached := range []float64{m.CostPer1MInCached, m.CostPer1MOutCached} {
			switch {
			case cached > m.CostPer1MIn:
				p.CacheWrite = cached
			case cached > 0:
				p.CacheRead = cached
			}
		}
		out.Price = p
	}
	return out
}
