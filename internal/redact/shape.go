package redact

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

// A Service issues keys.
type Service struct {
	Kind      string   // models, search and browsing, version control and packages, clouds, or services
	Name      string   // for people
	Variables []string // of the environment, in which its keys usually are
	Form      string   // a regular expression of its keys; empty: they look like other text
	Source    string   // a page about the form, or the keys
}

//go:embed services.tsv
var services string

// Services returns the services whose keys are known.
var Services = sync.OnceValue(func() (all []Service) {
	kind := ""
	for line := range strings.Lines(services) {
		line = strings.TrimSuffix(line, "\n")
		if heading, ok := strings.CutPrefix(line, "# "); ok {
			kind = heading
			continue
		}
		f := strings.Split(line, "\t")
		s := Service{Kind: kind, Name: f[0], Source: f[3]}
		if f[1] != "-" {
			s.Variables = strings.Fields(f[1])
		}
		if f[2] != "-" {
			s.Form = f[2]
		}
		all = append(all, s)
	}
	return all
})

// tokens finds keys by their issuers' forms.
var tokens = sync.OnceValue(func() *regexp.Regexp {
	var forms []string
	for _, s := range Services() {
		if s.Form != "" {
			forms = append(forms, s.Form)
		}
	}
	return regexp.MustCompile(`\b(?:` + strings.Join(forms, "|") + `)`)
})

// named finds values by the words before them. Each form is searched only in texts with its sign.
// The groups stay.
var named = sync.OnceValue(func() []signed {
	return []signed{
		{"-----BEGIN", regexp.MustCompile(`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`)},
		{"://", regexp.MustCompile(`(://[^\s/:@"'\\\]]*:)[^\s/@"'\\\]\[]+(@)`)},
		{" ", regexp.MustCompile(`(?i:(\b(?:bearer|basic)\s+))[A-Za-z0-9+/_.=~-]{16,}()`)},
		// A form or a shell. The name of a variable is no secret.
		{"=", regexp.MustCompile(`(?i:((?:secret|access_token|refresh_token|id_token|auth_token|api_?key|secret_access_key|password|passwd|accountkey|sharedaccesskey)=))["']?[^\s&"'<>;,$({\[\]][^\s&"'<>;,\[\]]{5,}()`)},
	}
})

type signed struct {
	sign string
	form *regexp.Regexp
}

const (
	shortest = 14      // minimum length of a key, except masked keys
	longest  = 4 << 10 // in longer text without a sign, only the start is searched: it is data, such as a picture
)

// withholdTokens replaces texts that look like keys with mark. It checks only runs of key
// characters, because there are many forms.
func withholdTokens(text, mark string) string {
	return withholdAddresses(withholdForms(text, mark), mark)
}

func withholdForms(text, mark string) string {
	for _, n := range named() {
		if strings.Contains(text, n.sign) {
			text = n.form.ReplaceAllString(text, "${1}"+mark+"${2}")
		}
	}
	var out strings.Builder
	done := 0 // length of text already in out
	for i := 0; i < len(text); {
		start := i
		for i < len(text) && inToken(text[i]) {
			i++
		}
		run := text[start:i]
		if len(run) >= shortest || len(run) > 6 && strings.ContainsAny(run, "*…") {
			if clean := withholdRun(run, mark); clean != run {
				out.WriteString(text[done:start])
				out.WriteString(clean)
				done = i
			}
		}
		if i < len(text) {
			i++
		}
	}
	if done == 0 {
		return text
	}
	out.WriteString(text[done:])
	return out.String()
}

func withholdRun(run, mark string) string {
	if len(run) <= longest {
		return tokens().ReplaceAllLiteralString(run, mark)
	}
	if at := tokens().FindStringIndex(run[:longest]); at != nil && at[0] == 0 {
		return mark
	}
	return run
}

// inToken reports whether a key may have the byte.
func inToken(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c >= 0x80 || strings.IndexByte("_-.~+/=:*", c) >= 0
}

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
