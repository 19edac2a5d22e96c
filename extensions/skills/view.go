package skills

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/spelling"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
	"github.com/hermes-ls/hermes-ls/tools"
)

//go:embed skill_view.md
var viewText string

type viewIn struct {
	Name     string `json:"name,omitempty"`
	FilePath string `json:"file_path,omitempty"`
	Query    string `json:"query,omitempty"`
	Offset   int    `json:"offset,omitempty" offer:"no"`
}

type viewed struct {
	Name        string              `json:"name"`
	Description string              `json:"description"`
	Dir         string              `json:"dir"`
	Content     string              `json:"content"`
	LinkedFiles map[string][]string `json:"linked_files"`
	Missing     []string            `json:"missing_environment,omitempty"`
	Config      map[string]any      `json:"config,omitempty"`
}

type viewedFile struct {
	Name       string `json:"name"`
	FilePath   string `json:"file_path"`
	Content    string `json:"content"`
	TotalLines int    `json:"total_lines"`
	Truncated  bool   `json:"truncated"`
	NextOffset int    `json:"next_offset,omitempty"`
}

type listed struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// toolOrder places the tools after the command tools.
const toolOrder = -12

func (x *Instance) viewTool() tools.Tool {
	return tools.New(tools.Tool{
		Name: "skill_view", Toolset: Toolset, Order: toolOrder, Kind: tools.KindRead, ReadOnly: true,
		Description: strings.TrimSpace(viewText),
		Title: tools.Titled(func(in viewIn) string {
			if in.Name == "" {
				return "Search skills for “" + in.Query + "”"
			}
			return "Read the skill " + in.Name
		}),
	}, x.view)
}

func (x *Instance) view(ctx context.Context, _ *tools.Env, call tools.Call, in viewIn) (tools.Result, error) {
	f := x.all(ctx, fresh)
	x.notify(f)
	if in.Name == "" {
		return tools.OK(map[string]any{"skills": search(x.forModel(f), in.Query)}), nil
	}
	s, ok := find(x.forModel(f), in.Name)
	if !ok { // it may be new
		f = x.all(ctx, 0)
		s, ok = find(x.forModel(f), in.Name)
	}
	if !ok {
		return tools.Failure(noSkill(x.forModel(f), in.Name)), nil
	}
	if in.FilePath != "" && in.FilePath != filepath.Base(s.Path) && in.FilePath != "SKILL.md" {
		return readFile(s, in), nil
	}
	body, err := s.Read()
	if err != nil {
		return tools.Fail("the skill %s cannot be read: %v", s.Name, err), nil
	}
	x.remember(ctx, s.Name)
	missing := x.pass(ctx, s, call)
	x.mu.Lock()
	values := x.settings.Config
	x.mu.Unlock()
	return tools.OK(viewed{
		Name: s.Name, Description: s.Description, Dir: cmp.Or(s.Dir, "(in the program)"), Content: s.fill(body, x.session.ID), LinkedFiles: s.linked(),
		Missing: missing, Config: s.Meta.settings(values),
	}), nil
}

func find(all []*Skill, name string) (*Skill, bool) {
	name = strings.TrimPrefix(name, "/")
	at := slices.IndexFunc(all, func(s *Skill) bool { return s.Name == name })
	if at < 0 {
		at = slices.IndexFunc(all, func(s *Skill) bool { return s.command() == strings.ToLower(name) })
	}
	if at < 0 {
		return nil, false
	}
	return all[at], true
}

// noSkill reports an unknown skill, with the nearest names.
func noSkill(all []*Skill, name string) string {
	text := fmt.Sprintf("There is no skill %q.", tools.OneLine(name, 100))
	names := make([]string, len(all))
	for i, s := range all {
		names[i] = s.Name
	}
	if near := spelling.Likely(name, names); len(near) > 0 {
		text += fmt.Sprintf(" Did you mean %s?", near[0])
	}
	return text + " skill_view with query finds skills."
}

const maxHits = 20

// search returns the skills with the most matching words; matches in the name come first.
func search(all []*Skill, query string) []listed {
	words := strings.FieldsFunc(strings.ToLower(query), func(r rune) bool { return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127) })
	type hit struct {
		skill *Skill
		score int
	}
	var hits []hit
	for _, s := range all {
		score, name, text := 0, strings.ToLower(s.Name), strings.ToLower(s.Description+" "+s.Tags)
		for _, w := range words {
			switch {
			case strings.Contains(name, w):
				score += 3
			case strings.Contains(text, w):
				score++
			case len(w) > 5 && strings.Contains(name+" "+text, w[:len(w)-2]): // another ending of the word
				score++
			}
		}
		if score > 0 || len(words) == 0 {
			hits = append(hits, hit{s, score})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	out := []listed{}
	for _, h := range hits[:min(len(hits), maxHits)] {
		out = append(out, listed{h.skill.Name, h.skill.Description})
	}
	return out
}

const filePage = 60_000 // bytes of a file per result

// readFile reads a file of a skill. No link is followed.
func readFile(s *Skill, in viewIn) tools.Result {
	if s.Dir == "" {
		return tools.Fail("the skill %s has no other files", s.Name)
	}
	dir, err := safefile.OpenFolder(s.Dir)
	if err != nil {
		return tools.Fail("the skill %s cannot be read: %v", s.Name, err)
	}
	defer dir.Close() // only read
	name := filepath.FromSlash(in.FilePath)
	if !filepath.IsLocal(name) {
		return tools.Fail("file_path must be a path inside the skill, such as references/x.md, not %q", in.FilePath)
	}
	data, err := dir.Read(name, maxFile)
	if err != nil {
		return tools.Fail("the skill %s has no readable file %s. linked_files of the skill lists its files: %v", s.Name, in.FilePath, err)
	}
	if data, err = textfile.Decode(data); err != nil {
		return tools.Fail("%s is no text: %v", in.FilePath, err)
	}
	lines := strings.SplitAfter(escape.Visible(string(data)), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	out := viewedFile{Name: s.Name, FilePath: in.FilePath, TotalLines: len(lines)}
	for i := max(in.Offset-1, 0); i < len(lines); i++ {
		if out.Content != "" && len(out.Content)+len(lines[i]) > filePage {
			out.Truncated, out.NextOffset = true, i+1
			break
		}
		out.Content += lines[i]
	}
	return tools.OK(out)
}

// File returns the text of a file of the skill.
func (s *Skill) File(name string) (string, error) {
	dir, err := safefile.OpenFolder(s.Dir)
	if err != nil {
		return "", err
	}
	defer dir.Close() // only read
	data, err := dir.Read(filepath.FromSlash(name), maxFile)
	return string(data), err
}
