package redact

import (
	"regexp"
	"strings"
	"sync"
)

// shapes finds tokens by the form that their issuers gave them. The groups stay.
var shapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:` + strings.Join([]string{
		`(?:sk|rk|gsk|xai|csk)[-_][A-Za-z0-9_-]{16,}`, `sk-[A-Za-z0-9]{2,}[*…][*….A-Za-z0-9]+`, `[ps]k_live_[A-Za-z0-9]{12,}`,
		`(?:hf|npm|dop_v1|shpat)_[A-Za-z0-9]{20,}`, `(?:pypi|glpat|nvapi|pplx)-[A-Za-z0-9_-]{20,}`, `fc-[0-9a-f]{20,}`, `tvly-[A-Za-z0-9-]{12,}`,
		`gh[pousr]_[A-Za-z0-9]{20,}`, `github_pat_[A-Za-z0-9_]{20,}`,
		`xox[abeprs]-[A-Za-z0-9-]{10,}`, `(?:AKIA|ASIA)[0-9A-Z]{16}`,
		`AIza[0-9A-Za-z_-]{30,}`, `ya29\.[0-9A-Za-z_-]{20,}`,
		`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`,
	}, "|") + `)|(?i:(\b(?:bearer|basic)\s+))[A-Za-z0-9+/_.=~-]{16,}` +
		`|(://[^\s/:@"'\\\]]*:)[^\s/@"'\\\]\[]+(@)` +
		`|-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`)
})

// SecretName reports whether a value under this name is a secret: in JSON, in an
// environment variable, in a header, or as a flag. Protocols use "token" for names of
// progress, so the bare word does not count.
func SecretName(name string) bool {
	flat := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(name))
	switch flat {
	case "token", "progresstoken", "workdonetoken", "partialresulttoken", "tokens", "key", "keys", "auth", "author", "authmethods", "authmethodid":
		return false
	case "cookie", "setcookie", "authorization", "proxyauthorization":
		return true
	}
	for _, part := range []string{"apikey", "secret", "password", "passwd", "passphrase", "credential", "privatekey", "accesskey", "authkey"} {
		if strings.Contains(flat, part) {
			return true
		}
	}
	return strings.HasSuffix(flat, "token") || strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_AUTH")
}
