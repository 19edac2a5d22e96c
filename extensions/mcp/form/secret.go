package form

import (
	"strings"
	"unicode"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// secretWords matches words of names and titles of fields for secrets. Names are split into words,
// so author and keyword do not match.
var secretWords = lazyregexp.New(`(?i)(^| )(pass ?words?|passwd|pwd|pass ?phrases?|pass ?codes?|secrets?|credentials?|tokens?|api ?keys?|apikeys?|keys?|auth|authorization|pins?|otp|totp|2fa|mfa|cvv2?|cvc2?|ssn|` +
	`card (number|no)|credit ?cards?|debit ?cards?|iban|security code|verification code|recovery (code|key|phrase)|seed phrase|mnemonic|cookies?|` +
	`passwort|kennwort|mot de passe|contraseña|senha|пароль|密码|パスワード)( |$)`)

// secretParts are parts of such words.
var secretParts = lazyregexp.New(`(?i)password|passwd|passphrase|credential|apikey|clientsecret|accesstoken|authtoken`)

// plainKeys matches harmless names with the word key.
var plainKeys = lazyregexp.New(`(?i)(^| )((issue|project|primary|foreign|sort|partition|public|map|cache|object|s3|field|column|json|row|group|translation|config|setting|ticket|story|epic)s? keys?|key ?(word|board)s?|(max|min|limit|count|number of)( \w+)? tokens|tokens? (limit|count|type|budget))( |$)`)

// secretPhrases matches words of a description that asks for a secret.
var secretPhrases = lazyregexp.New(`(?i)(^| )(passwords?|passphrases?|passcodes?|(api|access|secret|private|recovery|license) keys?|(access|api|auth|bearer|refresh|session|personal access) tokens?|credit card|card number|cvv|one time (code|password)|seed phrase|recovery phrase|passwort|kennwort|mot de passe|contraseña|senha|пароль|密码|パスワード)( |$)`)

// Secret reports whether the field looks as if its value were a secret. A field with choices is none.
func (f Field) Secret() bool {
	if f.kind == "boolean" || len(f.values) > 0 {
		return false
	}
	for _, text := range []string{f.Name, f.Title} {
		if words := wordsOf(text); secretParts.MatchString(words) || secretWords.MatchString(plainKeys.ReplaceAllString(words, " ")) {
			return true
		}
	}
	return f.limits.Format == "password" || secretPhrases.MatchString(wordsOf(f.description))
}

// wordsOf returns the words of a text, separated by single spaces: apiKey, api_key and "API key:"
// become api key.
func wordsOf(text string) string {
	var b strings.Builder
	lower := false
	for _, r := range text {
		switch letter := unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r); {
		case !letter:
			b.WriteByte(' ')
		case lower && unicode.IsUpper(r):
			b.WriteByte(' ')
			fallthrough
		default:
			b.WriteRune(r)
		}
		lower = unicode.IsLower(r)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
