package form

import (
	"encoding/json"
	"fmt"
	"testing"
)

// Fields for secrets are recognized by name, title, description and format. Others are not.
func TestSecret(t *testing.T) {
	t.Parallel()
	field := func(name, rest string) string {
		return fmt.Sprintf(`{"properties":{%q:{"type":"string"%s}}}`, name, rest)
	}
	for want, forms := range map[bool][]string{
		true: {
			field("password", ""), field("userPassword", ""), field("mypassword", ""), field("api_key", ""), field("apiKey", ""), field("APIKEY", ""), field("accessToken", ""), field("secret", ""),
			field("pin", ""), field("value", `,"title":"Your passphrase"`), field("v", `,"title":"PIN"`), field("v", `,"title":"API-Key"`), field("v", `,"description":"Enter your GitHub access token."`),
			field("v", `,"description":"Password of the account"`), field("v", `,"format":"password"`), field("credit_card_number", ""), field("cvv", ""), field("auth", ""), field("key", ""), field("otp", ""), field("Passwort", ""),
			`{"properties":{"pin":{"type":"integer"}}}`,
		},
		false: {
			field("author", ""), field("keyword", ""), field("keywords", ""), field("keyboard", ""), field("monkey", ""), field("issueKey", ""), field("primary_key", ""), field("name", ""), field("authority", ""),
			field("pinned", ""), field("v", `,"description":"The name of the branch"`), field("token_type", `,"enum":["a","b"]`), `{"properties":{"max_tokens":{"type":"integer"}}}`, `{"properties":{"auth":{"type":"boolean"}}}`,
		},
	} {
		for _, schema := range forms {
			fields, err := Fields(json.RawMessage(schema))
			if err != nil || len(fields) != 1 {
				t.Fatalf("%s: %v", schema, err)
			}
			if got := fields[0].Secret(); got != want {
				t.Errorf("%s looks secret: %v", schema, got)
			}
		}
	}
}
