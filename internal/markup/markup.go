// Package markup writes quotations and code in Markdown, so that no text can end them.
package markup

import "strings"

// Quote returns text as a quotation.
func Quote(text string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n> ")
}

// Fence returns a line of backquotes that is longer than each such line in text.
func Fence(text string) string { return strings.Repeat("`", max(longestRun(text), 2)+1) }

// Fenced returns text as a block of code. It ends without a line break.
func Fenced(lang, text string) string {
	fence := Fence(text)
	return fence + lang + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// Code returns a line as code.
func Code(line string) string {
	marks := strings.Repeat("`", longestRun(line)+1)
	if strings.HasPrefix(line, "`") || strings.HasSuffix(line, "`") {
		line = " " + line + " "
	}
	return marks + line + marks
}

// longestRun returns the length of the longest run of backquotes.
func longestRun(text string) (longest int) {
	run := 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}
