package login

import (
	"net/url"
	"strings"
)

// Address returns a URL without its user, query and fragment, which can be secret.
func Address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return "an address that cannot be read"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// WithoutQuery removes the secret parts of the URL raw from the text of an error.
func WithoutQuery(text, raw string) string {
	u, err := url.Parse(raw)
	if err != nil || raw == "" {
		return text
	}
	text = strings.ReplaceAll(text, u.String(), Address(raw))
	text = strings.ReplaceAll(text, u.Redacted(), Address(raw))
	if u.RawQuery != "" {
		text = strings.ReplaceAll(text, "?"+u.RawQuery, "")
	}
	return text
}
