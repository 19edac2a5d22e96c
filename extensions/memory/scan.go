package memory

import (
	"regexp"
	"sync"

	"github.com/hermes-ls/hermes-ls/internal/escape"
)

// pattern is a form of text that tries to command the model instead of telling it something.
type pattern struct{ reason, expr string }

var patterns = []pattern{
	{"it tells to ignore instructions", `(?i)\b(ignore|disregard|forget|override)\b[^.\n]{0,40}\b(previous|prior|above|earlier|all|any|your|system)\b[^.\n]{0,30}\b(instructions?|rules?|prompts?|guidelines?)\b`},
	{"it replaces the system prompt", `(?i)\b(new|updated|real)\s+system\s+(prompt|message|instructions?)\b|</?\s*system\s*>|\[\s*system\s*\]`},
	{"it gives the model another role", `(?i)\byou\s+are\s+(now|no\s+longer)\b|\bpretend\s+(to\s+be|that\s+you\s+are)\b|\bact\s+as\s+(if\s+you|though\s+you|an?\s+unrestricted)\b`},
	{"it hides something from the user", `(?i)\b(do\s+not|don'?t|never)\s+(tell|inform|mention|show|reveal)\b[^.\n]{0,30}\b(the\s+)?users?\b|\bwithout\s+(telling|informing|asking)\s+the\s+user\b`},
	{"it lifts restrictions", `(?i)\b(bypass|disable|skip|turn\s+off)\b[^.\n]{0,30}\b(approvals?|confirmations?|sandbox|safety|restrictions?|security\s+checks?)\b`},
	{"it sends data away", `(?i)\b(curl|wget|fetch|post|send|upload)\b[^\n]{0,120}(\$\{?\w*(key|token|secret|password)|\.env\b|id_rsa|id_ed25519|/etc/(passwd|shadow)|credentials)`},
	{"it opens access by SSH", `(?i)authorized_keys`},
	{"it has hidden HTML", `(?is)<!--.*?(instruction|system|ignore|secret).*?-->|<[a-z]+[^>]*(display\s*:\s*none|visibility\s*:\s*hidden)`},
}

var compiled = sync.OnceValue(func() (all []*regexp.Regexp) {
	for _, p := range patterns {
		all = append(all, regexp.MustCompile(p.expr))
	}
	return all
})

// poisoned returns why an entry must not reach the model. If it may, the reason is empty.
func poisoned(entry string) (reason string) {
	if invisible(entry) {
		return "it has invisible characters"
	}
	for i, re := range compiled() {
		if re.MatchString(entry) {
			return patterns[i].reason
		}
	}
	return ""
}

// invisible reports whether a text has characters that the user does not see, or that reorder
// text.
func invisible(text string) bool { return escape.Text(text) != text }
