package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A way is a form in which users pass a secret to a command. It is searched only in texts with any
// of the signs. The last group of the form is the secret.
type way struct {
	signs []string
	form  *regexp.Regexp
	sure  bool // only in text known to be a command line
}

const (
	// valueForm is a word of a command line, or a part in quotes, which JSON may have escaped.
	valueForm = `(\\?"[^"\\]+|'[^']+|[^\s"'\\;|&<>()]+)`
	// sameForm are other words of the same command.
	sameForm = `(?:[^\n;|&]*?\s)??`
	// flagsForm are the ends of long options and of names of settings.
	flagsForm = `(?:token|password|passwd|passphrase|passcode|secret|secret-key|oauth2-bearer|bearer|api-?key|access-?key|private-?key|auth-?key|account-?key|credentials?|storepass|keypass|userpwd)`
	quoteForm = `(?:\\?["'])?`
)

// ways finds secrets in command lines. Single-letter options are secret only for the named
// programs.
var ways = sync.OnceValue(func() []way {
	c := regexp.MustCompile
	return []way{
		{[]string{"--", "-password", "-storepass", "-keypass"}, c(`(?i:(?:^|[\s"'])--?(?:[a-z0-9]+-)*` + flagsForm + `(?:\s+|=))` + valueForm), false},
		{[]string{"-H", "-header"}, c(`(?:^|\s)(?:-H|--header)[\s=]*` + quoteForm + `(?i:[\w-]*(?:auth|token|key|secret|cookie|password|signature|credential)[\w-]*)\s*:\s*([^"'\n\\]+)`), false},
		{[]string{"-H", "-header"}, c(`(?:^|\s)(?:-H|--header)[\s=]*` + quoteForm + `[\w-]+\s*:\s*([^"'\n\\]+)`), true},
		{[]string{"-u", "-user", "-U", "-auth"}, c(`(?:^|\s)(?:-u|-U|--user|--proxy-user|--auth)[\s=]*` + quoteForm + `[A-Za-z_][\w.@+-]*:([^\s"'\\;|&<>/]+)`), false},
		{[]string{"-u", "-user"}, c(`(?:^|\s)(?:-u|--user)[\s=]+` + valueForm), true},
		{[]string{"http"}, c(`\b(?:https?|xh|httpie)\s` + sameForm + `(?:-a|--auth)[\s=]*` + quoteForm + `[^\s:"']*:?([^\s"'\\;|&<>:]+)`), false},
		{[]string{"mysql", "mariadb"}, c(`\b(?:mysql\w*|mariadb[\w-]*)\s` + sameForm + `-p` + valueForm), false},
		{[]string{" -p"}, c(`(?:^|\s)-p([^\s"'\\;|&<>()=:,./0-9-][^\s"'\\;|&<>()=:,./]*\d[^\s"'\\;|&<>()]*)`), true},
		{[]string{"sshpass"}, c(`\bsshpass\s` + sameForm + `-p\s*` + valueForm), false},
		{[]string{"7z", "zip", "rar"}, c(`\b(?:7za?|7zr|zip|unzip|unrar|rar)\s` + sameForm + `-[pP]\s*` + valueForm), true},
		{[]string{"login"}, c(`\blogin\s` + sameForm + `(?:-p|--password)[\s=]+` + valueForm), false},
		{[]string{"redis-cli"}, c(`\bredis-cli\s` + sameForm + `-a\s+` + valueForm), false},
		{[]string{"ldap"}, c(`\bldap\w+\s` + sameForm + `-w\s+` + valueForm), false},
		{[]string{"mongo", "cqlsh", "twine", "rabbitmqadmin", "mosquitto", "influx", "clickhouse"}, c(`\b(?:mongo\w*|cqlsh|twine|rabbitmqadmin|mosquitto_\w+|influx|clickhouse-client)\s` + sameForm + `-[pP]\s+` + valueForm), false},
		{[]string{"%"}, c(`\b(?:smbclient|mount\.cifs|rpcclient|net)\s` + sameForm + `(?:-U|--user)[\s=]*` + quoteForm + `[^\s%"']+%` + valueForm), false},
		{[]string{"pass:"}, c(`(?:^|[\s"'=])pass:` + valueForm), false},
		{[]string{"curl"}, c(`\bcurl\s` + sameForm + `(?:-b|--cookie)[\s=]+` + quoteForm + `([^\s"'\\]*=[^"'\n\\]+)`), false},
		{[]string{"--from-literal"}, c(`--from-literal[\s=]+` + quoteForm + `[^\s="']+=` + valueForm), false},
		{[]string{"config"}, c(`\bconfig(?:ure)?\s+(?:set\s+|--\S+\s+)*(?i:[^\s"'=]*(?:secret|token|password|passwd|_key|apikey|authtoken)[^\s"'=]*)[\s=]+` + valueForm), false},
		{[]string{"set"}, c(`\b(?:config:set|secrets?\s+set|secrets?\s+put|env\s+set|vars\s+set)\s` + sameForm + quoteForm + `\w+=` + valueForm), false},
		{[]string{"secret set"}, c(`\bsecret\s+set\s` + sameForm + `(?:-b|--body)[\s=]+` + valueForm), false},
		{[]string{"<<<", `\u003c`}, c(`(?:--with-token|--password-stdin)[^\n;|&<]*?(?:<|\\u003c){3}\s*` + valueForm), false},
		{[]string{"-stdin", "-with-token", "sudo -S"}, c(`\b(?:echo|printf)\s+(?:-n\s+|%s\s+)?` + valueForm + `\s*\|[^\n;|]*(?:--password-stdin|--with-token|--pass(?:word|phrase)-fd|sudo -S)`), false},
		{[]string{"TOKEN=", "KEY=", "PASS=", "PWD=", "AUTH=", "PASSPHRASE=", "PASSWORD=", "CREDENTIALS="}, c(`\b[A-Z0-9_]*(?:TOKEN|_KEY|APIKEY|PASS|[A-Z]_PWD|PGPASSWORD|PASSWORD|_AUTH|PASSPHRASE|CREDENTIALS)=` + valueForm), false},
		{[]string{"?", "&", `\u0026`}, c(`(?:[?&]|\\u0026)(?i:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|key|token|auth|access_key|subscription-key|sas|pwd|pass|code)=([^\s&"'<>\\;]+)`), false},
		{[]string{`":`, `" :`}, c(`\\?"(?i:[\w-]*(?:secret|password|passwd|passphrase|api_?key|access_?key|private_?key|access_token|refresh_token|id_token|auth_token|authtoken))\\?"\s*:\s*\\?"([^"\\]+)`), false},
		{[]string{" login ", " token "}, c(`\bvault\s+(?:login|token)\s+(?:\S+=)?([\w.-]{12,})`), false},
	}
})

// found is a secret in a text, with its place.
type found struct{ start, end int }

// inCommands finds the secrets in the commands of a text, in their order. If sure is set, the text
// is a command line, and secrets that resemble other words are found, too.
func inCommands(text string, sure bool) (all []found) {
	for _, t := range ways() {
		if t.sure && !sure || !slices.ContainsFunc(t.signs, func(sign string) bool { return strings.Contains(text, sign) }) {
			continue
		}
		for from := 0; from < len(text); {
			at := t.form.FindStringSubmatchIndex(text[from:])
			if at == nil {
				break
			}
			f := found{from + at[len(at)-2], from + at[len(at)-1]}
			for f.start < f.end && strings.ContainsRune(`\"'`, rune(text[f.start])) {
				f.start++
			}
			if isValue(text[f.start:f.end], sure || strings.HasSuffix(text[:f.start], "=")) {
				all = append(all, f)
			}
			from = max(f.end, from+1)
		}
	}
	slices.SortFunc(all, func(a, b found) int { return a.start - b.start })
	return all
}

// isValue reports whether a word can be a secret: it is no option, no variable and not withheld. If
// other words are possible there, it must not be a plain word.
func isValue(word string, sure bool) bool {
	if len(word) < 2 || strings.ContainsRune("-$[{%<*", rune(word[0])) || strings.Contains(word, "withheld") {
		return false
	}
	return sure || len(word) >= 4 && strings.ContainsFunc(word, func(r rune) bool { return r < 'a' || r > 'z' })
}

// withoutCommandSecrets replaces the secrets of commands in a text.
func withoutCommandSecrets(text string, sure bool, mark string) string {
	all := inCommands(text, sure)
	if all == nil {
		return text
	}
	var b strings.Builder
	done := 0
	for _, f := range all {
		if f.start < done {
			continue // inside another secret
		}
		b.WriteString(text[done:f.start])
		b.WriteString(mark)
		done = f.end
	}
	b.WriteString(text[done:])
	return b.String()
}
