package redact

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
)

// address returns an address without its password, the values of its query, its fragment, and the parts
// of its path and user that can be secrets.
func address(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	if i := strings.LastIndexByte(scheme, ':'); i >= 0 { // as in jdbc:mysql://
		return text[:i+1] + address(text[i+1:])
	}
	u, err := url.Parse(text)
	if err != nil {
		return scheme + "://withheld"
	}
	if u.Host == "" && strings.HasPrefix(rest, "/") {
		return text // a file
	}
	u.User = withoutUser(u.User)
	path := strings.Split(u.EscapedPath(), "/")
	hook := isHook(u.Host)
	for i, part := range path {
		if canBeSecret(part, hook) {
			path[i] = "withheld"
		}
		hook = hook || isHook(part)
	}
	if joined := strings.Join(path, "/"); joined != u.EscapedPath() {
		u.Path, u.RawPath = joined, ""
	}
	if u.RawQuery != "" {
		parts := strings.Split(u.RawQuery, "&")
		for i, part := range parts {
			if name, _, ok := strings.Cut(part, "="); ok && !canBeSecret(name, false) {
				parts[i] = name + "=withheld"
			} else {
				parts[i] = "withheld"
			}
		}
		u.RawQuery = strings.Join(parts, "&")
	}
	if u.Fragment != "" {
		u.Fragment, u.RawFragment = "withheld", ""
	}
	return u.String()
}

// withholdAddresses replaces the keys of webhooks and signed addresses in a text with mark.
func withholdAddresses(text, mark string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	text = signedValue.ReplaceAllString(text, "${1}"+mark)
	return hookAddress.ReplaceAllStringFunc(text, func(address string) string {
		parts, hook := strings.Split(address, "/"), false
		for i, part := range parts {
			name, rest := part, ""
			if at := strings.IndexAny(part, "?#"); at >= 0 {
				name, rest = part[:at], part[at:]
			}
			if hook && canBeSecret(name, false) {
				parts[i] = mark + rest
			}
			hook = hook || isHook(name)
		}
		return strings.Join(parts, "/")
	})
}

// withoutUser returns a user without the password. A user alone can be a key, unless it is git.
func withoutUser(user *url.Userinfo) *url.Userinfo {
	if user == nil {
		return nil
	}
	name := user.Username()
	if _, set := user.Password(); set {
		if canBeSecret(name, false) {
			name = "withheld"
		}
		return url.UserPassword(name, "withheld")
	}
	if name == "" || name == "git" {
		return user
	}
	return url.User("withheld")
}

// isHook reports whether a host or a part of a path names a webhook: what follows is a key.
func isHook(part string) bool {
	part = strings.ToLower(part)
	return strings.Contains(part, "webhook") || strings.HasPrefix(part, "hook.") || strings.HasPrefix(part, "hooks.") || part == "hook" || part == "hooks" || part == "key" || part == "token"
}

// Least lengths of a part of a path that can be a secret.
const (
	mixedSecret = 16 // with letters and digits
	hookSecret  = 8  // the same, of a webhook
)

// canBeSecret reports whether a part of a path can be a secret: a run of letters and digits, as no name of
// a file or a model has, or a UUID. hook says that it follows the name of a webhook.
func canBeSecret(part string, hook bool) bool {
	if decoded, err := url.PathUnescape(part); err == nil {
		part = decoded
	}
	least := mixedSecret
	if hook {
		least = hookSecret
	}
	if uuid.MatchString(part) {
		return true
	}
	for _, run := range strings.FieldsFunc(part, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		digit := strings.ContainsFunc(run, unicode.IsDigit)
		letter := strings.ContainsFunc(run, unicode.IsLetter)
		if len(run) >= least && digit && letter || hook && len(run) >= least && run != strings.ToLower(run) {
			return true
		}
	}
	return false
}

var uuid = lazyregexp.New(`(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

var (
	hookAddress = lazyregexp.New(`(?i)https?://[^\s"'<>\\\]\[]*(?:hooks?[./]|webhook)[^\s"'<>\\\]\[]+`)
	signedValue = lazyregexp.New(`(?i)(://[^\s"'<>\\]*?[?&#](?:x-amz-signature|x-amz-security-token|x-goog-signature|signature|sig|access_token|id_token|refresh_token|token)=)[^\s&"'<>\\#\[\]]{12,}`)
)
