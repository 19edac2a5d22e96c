package embedded

import (
	"fmt"
	"slices"
	"strings"
)

var wantsSubagents = pattern(`(?i)\bsub-?agents?\b`)

const maxTasks = 2 // handed to subagents at once

// delegation has subagents read several files at the same time, and tells what they
// report. They are conversations of their own, which [question] answers.
func delegation(c *conversation) (reply, bool) {
	if d, at := c.last("delegate_task"); at >= 0 {
		return say(reports(d)), true
	}
	if !wantsSubagents().MatchString(c.prompt) {
		return nil, false
	}
	if !c.has("delegate_task", "search_files") {
		return say("For this I need delegate_task and search_files, and not both are offered in this session."), true
	}
	if !c.listed() {
		return append(say("Let me see what there is to look at. "), listFiles()), true
	}
	var tasks []map[string]any
	for _, f := range apart(c) {
		tasks = append(tasks, map[string]any{
			"goal": fmt.Sprintf("What is in %s?", f), "toolsets": []string{"file"},
		})
	}
	if len(tasks) == 0 {
		return say("I found no files that subagents could read."), true
	}
	return append(say(fmt.Sprintf("I hand %d files to as many subagents. ", len(tasks))),
		callTool("delegate_task", map[string]any{"tasks": tasks})), true
}

// apart are the files that subagents read: those that the prompt names, else code
// and tests.
func apart(c *conversation) []string {
	var out []string
	add := func(f string) {
		if f != "" && len(out) < maxTasks && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	files := c.files()
	for _, name := range namedFiles(c.prompt) {
		add(listed(files, name))
	}
	for _, f := range files {
		if isSource(f) && !strings.HasSuffix(f, "__init__.py") {
			add(f)
			break
		}
	}
	for _, f := range files {
		if strings.Contains(f, "test") && !strings.HasSuffix(f, "__init__.py") {
			add(f)
		}
	}
	return out
}

// reports tells what subagents gave.
func reports(d done) string {
	switch {
	case d.result.Error != "":
		return "The subagents could not work: " + d.result.Error
	case len(d.result.Results) == 0:
		return "The subagents are at work; what they report comes later."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d subagents have ended.\n", len(d.result.Results))
	for _, r := range d.result.Results {
		fmt.Fprintf(&b, "\n%d. %s after %d requests:\n\n%s\n", r.Index+1, r.Status, r.Calls, strings.TrimSpace(r.Summary))
	}
	return b.String()
}
