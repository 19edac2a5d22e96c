package skills

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/tools"
)

var listCommand = extension.Command{Name: "skills", Neovim: "skills", Description: "List the skills, and those that are left out", Order: 151}

// Table holds the rows of the command table.
var Table = []extension.Command{
	listCommand,
	{Execute: "hermes.skill.open", VSCode: "hermes.skill.open", Title: "Open Skill…", Description: "Open a skill in the editor", Order: 153},
	{VSCode: "hermes.skill.install", Title: "Install Skill…", Description: "Install a skill from GitHub, git, an address or a folder", Order: 152},
}

// SkillOrder is the order of the slash commands of skills. They follow built-in commands and
// Markdown files. Skills of the workspace come before the Markdown files.
const (
	SkillOrder     = 600
	workspaceOrder = 549
)

// maxStacked limits the skills read by a prompt.
const maxStacked = 5

// Commands returns /skills and a command for each skill.
func (x *Instance) Commands() []extension.Command {
	f := x.all(context.Background(), fresh)
	all := append(make([]extension.Command, 0, 1+len(f.Skills)), listCommand.With(x.list))
	sorted := slices.Clone(f.Skills)
	order(sorted, readUse(x.Home))
	for _, s := range sorted {
		if !s.forUser() {
			continue
		}
		hint := s.Meta.Hint
		if hint == "" {
			hint = "what to do"
		}
		c := extension.Command{Name: s.command(), Alias: "skill:" + s.command(), Description: cut(s.Description, 120), Hint: hint, Order: SkillOrder, Run: x.announce(s)}
		if s.Place == Workspace {
			c.Order = workspaceOrder
		}
		c.Prompt = func(args string) string { return x.prompt(s, args) }
		all = append(all, c)
	}
	return all
}

func (x *Instance) list(ctx context.Context, _ string) (string, error) {
	f := x.all(ctx, 0)
	var b strings.Builder
	for _, s := range f.Skills {
		fmt.Fprintf(&b, "- **%s** (%s): %s\n", s.Name, s.Place, cut(s.Description, 160))
	}
	if len(f.Skills) == 0 {
		b.WriteString("There are no skills.\n")
	}
	left := slices.DeleteFunc(slices.Clone(f.LeftOut), func(s *Skill) bool { return s.Place == Bundled })
	if len(left) > 0 {
		b.WriteString("\nLeft out:\n\n")
		for _, s := range left {
			fmt.Fprintf(&b, "- `%s`: %s\n", s.Path, s.Problem)
		}
	}
	b.WriteString("\n`/NAME TEXT` reads a skill and sends the text.")
	return b.String(), nil
}

// forUser reports whether a skill has a slash command.
func (s *Skill) forUser() bool { return !s.Meta.NotForUser && s.Meta.here() && s.command() != "" }

// announce returns the function of a skill's command. Its prompt follows.
func (x *Instance) announce(first *Skill) func(context.Context, string) (string, error) {
	return func(ctx context.Context, args string) (string, error) {
		for _, s := range x.stacked(first, args) {
			if _, err := s.skill.Read(); err != nil {
				return "", fmt.Errorf("the skill %s cannot be read: %w", s.skill.Name, err)
			}
			x.remember(ctx, s.skill.Name)
			if missing := x.pass(ctx, s.skill, tools.Call{ID: "skill-" + s.skill.Name, Name: "skill_view"}); len(missing) > 0 {
				x.session.Notify(fmt.Sprintf("The skill %s wants variables that are not set or not allowed: %s. Set them in .env.", s.skill.Name, strings.Join(missing, ", ")))
			}
		}
		return "", nil
	}
}

// stackedSkill is a skill of a prompt, and the text of the prompt after it.
type stackedSkill struct {
	skill *Skill
	rest  string
}

// stacked returns the skills at the beginning of a prompt.
func (x *Instance) stacked(first *Skill, args string) []stackedSkill {
	all := []stackedSkill{{first, args}}
	f := x.all(context.Background(), time.Minute)
	for len(all) < maxStacked {
		word, ok := strings.CutPrefix(args, "/")
		if !ok {
			return all
		}
		end := strings.IndexAny(word, " \t\n")
		rest := ""
		if end >= 0 {
			word, rest = word[:end], strings.TrimSpace(word[end:])
		}
		s, ok := find(f.Skills, strings.TrimPrefix(word, "skill:"))
		if !ok || !s.forUser() {
			return all
		}
		args = rest
		all = append(all, stackedSkill{s, rest})
	}
	return all
}

// prompt returns the user's prompt with the texts of the skills before it.
func (x *Instance) prompt(first *Skill, args string) string {
	var b strings.Builder
	all := x.stacked(first, args)
	x.mu.Lock()
	values := x.settings.Config
	x.mu.Unlock()
	for _, s := range all {
		body, err := s.skill.Read()
		if err != nil {
			continue // announce has returned the error
		}
		fmt.Fprintf(&b, "The user wants this task done with the skill %q. Follow it.\n\n<skill name=%q", s.skill.Name, s.skill.Name)
		if s.skill.Dir != "" {
			fmt.Fprintf(&b, " dir=%q", s.skill.Dir)
		}
		fmt.Fprintf(&b, ">\n%s\n", s.skill.fill(body, x.session.ID))
		for _, dir := range fileDirs {
			for _, file := range s.skill.linked()[dir] {
				fmt.Fprintf(&b, "[file] %s\n", filepath.Join(s.skill.Dir, filepath.FromSlash(file)))
			}
		}
		for key, value := range s.skill.Meta.settings(values) {
			if raw, ok := value.(interface{ MarshalJSON() ([]byte, error) }); ok {
				if text, err := raw.MarshalJSON(); err == nil {
					value = string(text)
				}
			}
			fmt.Fprintf(&b, "[config] %s = %v\n", key, value)
		}
		b.WriteString("</skill>\n\n")
	}
	b.WriteString(all[len(all)-1].rest)
	return strings.TrimSpace(b.String())
}
