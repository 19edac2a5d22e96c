package api

import (
	_ "embed"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

//go:embed overflow.txt
var overflowTable string

// wordings returns the wordings of overflow.txt.
var wordings = sync.OnceValue(func() [][]string { return wordingsIn(overflowTable) })

// wordingsIn returns the wordings of a table, each split at its stars.
func wordingsIn(table string) (all [][]string) {
	for line := range strings.Lines(table) {
		words, _, ok := strings.Cut(line, "\t")
		if ok && !strings.HasPrefix(line, "#") {
			all = append(all, strings.Split(words, "*"))
		}
	}
	return all
}

// overflows reports whether text is a vendor's message about a request longer than the context
// window. text is in lower case, with the codes of the error as code=WORD.
func overflows(text string) bool {
	if throttles(text) {
		return false
	}
	for _, parts := range wordings() {
		if inOrder(text, parts) {
			return true
		}
	}
	return tooLong(text)
}

func inOrder(text string, parts []string) bool {
	for _, part := range parts {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return true
}

// beyondQuota reports whether a request exceeds the account's tokens per minute. Such a request
// is never accepted, however long the client waits.
func beyondQuota(text string) bool {
	return inOrder(text, []string{"request too large for", "limit", "requested"})
}

// throttles reports whether text is about too many requests or tokens per time. Such a request
// may be accepted later.
func throttles(text string) bool {
	if beyondQuota(text) {
		return false
	}
	for _, words := range []string{"per minute", "per day", "per second", "rate limit", "throttl", "please wait", "queue", "overloaded", "too many requests", "quota"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

const (
	subject = `(?:prompt|input|context|conversation|history|chat|sequence|token count|tokens|n_(?:past|ctx|tokens)|kv[- ]cache|(?:request|messages?) (?:length|size|tokens?))`
	excess  = `(?:too long|too large|too big|too many|exceed(?:s|ed|ing)?|longer than|larger than|greater than|more than|over(?:flow(?:s|ed)?| the (?:limit|maximum)|long)|` +
		`(?:does|do|did)(?: not|n't) fit|cannot fit|out of (?:context|window)|(?:is|was) full|surpass(?:es|ed)?|limit (?:[a-z0-9_, ]{0,30} )?(?:reached|exceeded))`
)

var (
	// long matches a message calling a part of a request too long. Either the part or the
	// complaint comes first.
	long = lazyregexp.New(`\b` + subject + `\b[^.;\n]{0,80}?\b` + excess + `\b|\b` + excess + `\b[^.;\n]{0,60}?\b(?:context|window|prompt|input tokens|token limit|maximum tokens)\b`)
	// otherSubject matches parts of a request not affected by a shorter history, and other
	// limits.
	otherSubject = lazyregexp.New(`\b(?:image|picture|file|audio|video|tools?|functions?|names?|schema|description|header|url|ids?|stop|temperature|top_p|` +
		`max_(?:completion_|output_|new_)?tokens|maxoutputtokens|completion tokens|output tokens|budget_tokens|thinking|` +
		`deadline|timeout|timed out|memory|disk|connections?|retries|redirects|credits?|budget|balance)\b`)
	numbers = lazyregexp.New(`\b(?:\d{1,3}(?:[,_]\d{3})+|\d+(?:\.\d+)?k|\d+)\b`)
	// limits matches the text before the number of a limit, back to the number before it.
	limits = lazyregexp.New(`(?:max|limit|context|window|allowed|n_ctx|only|up to|at most|supports|model with|range|cannot exceed|less than|longer than|more than|above|fit into)[^.]*$|(?:<=|≤|>=?)\s*$`)
	// notLimits matches the text before a number other than a limit.
	notLimits = lazyregexp.New("(?:\\bby|requested:?|given:?|contains|resulted in|you sent|got|n_keep:?|too large:)\\s*(?:about |at least )?[(`]?$")
)

var (
	// longPart matches OpenAI's words about a member of the request in the history.
	longPart = lazyregexp.New(`'(?:messages|input)(?:\[\d+\](?:\.(?:content|output|tool_calls|function|arguments|text|\[\d+\]|\[)|\[\d+\])*)?': (?:array|string) too long`)
	// measured matches parts of a request counted in tokens, and bound a limit.
	measured = lazyregexp.New(`token|context|prompt|input|sequence|length`)
	bound    = lazyregexp.New(`\b(?:max(?:imum)?|limit|at most|up to|only|less than|cannot exceed|can not exceed|must not exceed|not exceed|exceeds?|exceeded|supports?|allowed|allows|larger than|fewer than|smaller than)\b|max_|<=|≤|>`)
	// otherUnit matches limits in other units than tokens.
	otherUnit = lazyregexp.New(`(?:array|string) too long|maxlength|\bcharacters?\b|\bchars\b|\bbytes\b|字符`)
)

// tooLong reports whether text states in general words that the request is too long.
func tooLong(text string) bool {
	if longPart.MatchString(text) {
		return true
	}
	return !otherSubject.MatchString(text) && (long.MatchString(text) || moreThanLimit(text))
}

// moreThanLimit reports whether text contains two numbers, a length and a smaller limit: "12000
// tokens, but this model supports at most 8192".
func moreThanLimit(text string) bool {
	if !measured.MatchString(text) || !bound.MatchString(text) {
		return false
	}
	limit, other := 0, 0
	for _, n := range numbersIn(text) {
		switch {
		case n.value < leastWindow:
		case limits.MatchString(n.before) && !notLimits.MatchString(n.before):
			limit = n.value
		default:
			other = max(other, n.value)
		}
	}
	return limit > 0 && other > limit
}

// number is a number in a message, with the text between it and the number before it.
type number struct {
	value  int
	before string
}

// numbersIn returns the numbers in a message. text is in lower case.
func numbersIn(text string) (all []number) {
	end := 0
	for _, at := range numbers.FindAllStringSubmatchIndex(text, -1) {
		word, thousands := strings.CutSuffix(strings.NewReplacer(",", "", "_", "").Replace(text[at[0]:at[1]]), "k")
		scale := 1.0
		if thousands {
			scale = 1000
		}
		if v, err := strconv.ParseFloat(word, 64); err == nil && v < 1e9 {
			all = append(all, number{int(v * scale), text[end:at[0]]})
			if v < 2 {
				continue // "[1, 8192]"
			}
		}
		end = at[1]
	}
	return all
}

// minimaxCode matches MiniMax messages: they end with the error code.
var minimaxCode = lazyregexp.New(`^invalid params,.*\(\d{4}\)$`)

// leastWindow is the smallest credible context window in tokens.
const leastWindow = 256

// WindowIn returns the context window in tokens named in a message about an overlong request.
// If it names none, or counts something other than tokens, WindowIn returns 0.
func WindowIn(message string) int {
	text := strings.ToLower(message)
	if otherUnit.MatchString(text) {
		return 0
	}
	if minimaxCode.MatchString(text) {
		text = text[:strings.LastIndexByte(text, '(')]
	}
	best, rank := 0, 0
	for _, n := range numbersIn(text) {
		if n.value < leastWindow || notLimits.MatchString(n.before) || !limits.MatchString(n.before) {
			continue
		}
		of := 1
		switch compared := strings.TrimRight(n.before, " ("); {
		case strings.HasSuffix(compared, ">"), strings.HasSuffix(compared, "="): // "213462 tokens > 200000 maximum"
			of = 3
		case strings.Contains(n.before, "exceed"), strings.Contains(n.before, "than"), strings.Contains(n.before, "above"):
			of = 2
		}
		if of > rank {
			best, rank = n.value, of
		}
	}
	return best
}

// Overlong reports whether a refusal without a known cause is probably about the length of a
// request. estimate is the caller's estimate of its tokens. Either the message names tokens and
// a number near or above the estimate. Or it gives no reason at all and the request fills much
// of the window.
func Overlong(err *model.Error, estimate, window int) bool {
	switch err.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
	default:
		return false
	}
	text := strings.ToLower(err.Message)
	if err.Kind != model.ErrRequest || throttles(text) {
		return false
	}
	switch strings.Trim(text, " .") {
	case "", "bad request", "unprocessable entity", "unprocessable content", "invalid request", "request failed", "error":
		return estimate > window/2
	}
	if otherSubject.MatchString(text) || !strings.Contains(text, "token") && !strings.Contains(text, "context") && !strings.Contains(text, "length") && !strings.Contains(text, "window") {
		return false
	}
	for _, n := range numbersIn(text) {
		if n.value >= leastWindow && n.value*5 >= estimate*4 {
			return true
		}
	}
	return false
}
