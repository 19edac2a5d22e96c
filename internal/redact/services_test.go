package redact_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/config/catalog"
	"github.com/hermes-ls/hermes-ls/internal/redact"
)

var variable = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]+$`)

// TestServices checks the list itself: a kind, a source, names of variables, and no variable twice.
func TestServices(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, s := range redact.Services() {
		if u, err := url.Parse(s.Source); err != nil || u.Scheme != "https" || u.Host == "" {
			t.Errorf("%s: the source is %q", s.Name, s.Source)
		}
		if !slices.Contains([]string{"models", "search and browsing", "version control and packages", "clouds", "services"}, s.Kind) {
			t.Errorf("%s: the kind is %q", s.Name, s.Kind)
		}
		if len(s.Variables) == 0 && s.Form == "" {
			t.Errorf("%s has neither variables nor a form", s.Name)
		}
		for _, v := range s.Variables {
			if !variable.MatchString(v) || seen[v] != "" {
				t.Errorf("%s: the variable %q is also of %q", s.Name, v, seen[v])
			}
			seen[v] = s.Name
		}
	}
	for _, p := range catalog.Providers() {
		for _, key := range p.Keys {
			if seen[key] == "" {
				t.Errorf("%s of the provider %s is not in services.tsv: add a line with the form of its keys", key, p.Name)
			}
		}
	}
}

// TestFormsOfServices checks that a key of each form is withheld whole, in any position, and that
// nothing is withheld twice.
func TestFormsOfServices(t *testing.T) {
	t.Parallel()
	var set redact.Set
	for _, s := range redact.Services() {
		if s.Form == "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			keys := rapid.StringMatching(s.Form).Filter(func(k string) bool { return !strings.ContainsAny(k[:1], "._~") }) // where a word begins
			for i := range 15 {
				key := keys.Example(i)
				for _, around := range [][2]string{{"", ""}, {"key=", ""}, {`"`, `"`}, {"(", ")"}, {"https://host/?k=", "&b=1"}, {"the key ", " was used"}, {"a\n", "\nb"}} {
					got := set.Text(around[0] + key + around[1])
					if strings.Contains(got, key) || !strings.HasPrefix(got, around[0]) || !strings.HasSuffix(got, around[1]) || set.Find(got) != "" {
						t.Errorf("%q in %q became %q", key, around, got)
					}
					if again := set.Text(got); again != got {
						t.Errorf("%q became %q", got, again)
					}
				}
			}
		})
	}
}

// TestTokensInLines checks keys as shown in logs and forms, and similar innocent texts.
func TestTokensInLines(t *testing.T) {
	t.Parallel()
	var set redact.Set
	a := strings.Repeat("aB3", 20)
	for _, secret := range []string{
		"1//0g" + a, "AQ." + a, "ABSK" + a, "hvs." + a, "dckr_pat_" + a, "SG." + a[:22] + "." + a[:43], "sk-proj-" + a, "gsk_" + a, "glrt-" + a, "xoxe.xoxp-1-" + a,
		"client_secret=" + a[:9], "grant_type=x&client_secret=abc.def~1&code=2", "access_token=abcdefg", "DB_PASSWORD=hunter22", `password="hunter22"`, "API_KEY=abcdef1",
	} {
		if got := set.Text(secret); !strings.Contains(got, "withheld") || strings.Contains(got, "hunter22") || strings.Contains(got, "abc.def") || strings.Contains(got, a[:9]) {
			t.Errorf("%q became %q", secret, got)
		}
	}
	for _, innocent := range []string{
		"a task-list of sk-ills, basic authentication", "re_compile_the_long_expression_again", "fig_1_shows_that", "napi_create_external_arraybuffer", "password=$PASSWORD", "password=${DB_PASSWORD}",
		"api_key=os.environ['X']"[:8], "the secret is safe", "0123456789abcdef0123456789abcdef.js", "SG.1.2", "key-value store", "hvs. and hvb.", "version=1.0.0-rc", "pa-tience",
	} {
		if got := set.Text(innocent); got != innocent {
			t.Errorf("%q became %q", innocent, got)
		}
	}
}
