package form

import (
	"encoding/json"
	"strings"
	"testing"
)

// An invalid value is rejected with a sentence.
func TestValidate(t *testing.T) {
	t.Parallel()
	for schema, cases := range map[string]map[string]string{
		`{"type":"integer","minimum":1,"maximum":100}`:             {"7": "", "x": "Enter a whole number from 1 to 100.", "500": "Enter a whole number from 1 to 100.", "1.5": "Enter a whole number from 1 to 100."},
		`{"type":"number","maximum":1}`:                            {"0.5": "", "2": "Enter a number of at most 1."},
		`{"type":"string","minLength":2,"maxLength":3}`:            {"ab": "", "äöü": "", "a": "Enter 2 to 3 characters.", "abcd": "Enter 2 to 3 characters."},
		`{"type":"string","format":"email"}`:                       {"a@b.org": "", "a": "Enter an email address, such as name@example.org.", "A <a@b.org>": "Enter an email address, such as name@example.org."},
		`{"type":"string","format":"uri"}`:                         {"https://x.org": "", "x.org": "Enter a whole address, such as https://example.org."},
		`{"type":"string","format":"date"}`:                        {"2024-02-29": "", "2026-02-29": "Enter a date, such as 2026-11-23."},
		`{"type":"string","format":"date-time"}`:                   {"2026-11-23T14:30:00Z": "", "2026-11-23": "Enter a date and a time, such as 2026-11-23T14:30:00Z."},
		`{"type":"string","format":"color"}`:                       {"red": ""},
		`{"type":"string","enum":["1","2"],"enumNames":["A","B"]}`: {"A": "", "2": "", "C": "Choose one of the named values."},
		`{"type":"string","pattern":"^a+$"}`:                       {"aa": "", "b": `pattern: "b" does not match regular expression "^a+$"`},
		`{"type":"boolean"}`:                                       {"Yes": "", "perhaps": "Answer Yes or No."},
		`{"type":"array","minItems":1,"maxItems":2,"items":{"anyOf":[{"const":"x","title":"X"},{"const":"y"},{"const":"z"}]}}`: {
			"X": "", "X, y": "", "w": "Choose some of the named values.", "X,y,z": "Choose 1 to 2.",
		},
	} {
		fields, err := Fields(json.RawMessage(`{"properties":{"f":` + schema + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		for answer, want := range cases {
			got := ""
			if err := fields[0].Validate(fields[0].Parse(answer)); err != nil {
				got = err.Error()
			}
			if got != want && (want == "" || !strings.Contains(got, want)) {
				t.Errorf("%s: %s gave %q, not %q", schema, answer, got, want)
			}
		}
	}
}

// A field with several values names them.
func TestSeveral(t *testing.T) {
	t.Parallel()
	fields, err := Fields(json.RawMessage(`{"properties":{"f":{"type":"array","title":"Fish","default":["1"],"items":{"anyOf":[{"const":"1","title":"Tuna"},{"const":"2","title":"Trout"}]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = "Fish\nSuggested: Tuna\nSeveral of these, separated by commas: Tuna, Trout\nAnswer - to leave it out."
	if fields[0].Text != want || len(fields[0].Choices) != 0 {
		t.Errorf("the question is %q with %q", fields[0].Text, fields[0].Choices)
	}
}

// A form names its first invalid field.
func TestCheck(t *testing.T) {
	t.Parallel()
	fields, err := Fields(json.RawMessage(`{"required":["n"],"properties":{"n":{"type":"integer"},"mail":{"type":"string","format":"email","title":"Mail"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for want, values := range map[string]map[string]any{
		"": {"n": 1.0}, "n: This field is required": {}, "Mail: Enter an email address, such as name@example.org.": {"n": 1.0, "mail": "x"},
	} {
		got := ""
		if err := Check(fields, values); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%v gave %q, not %q", values, got, want)
		}
	}
}
