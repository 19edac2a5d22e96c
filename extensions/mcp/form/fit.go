package form

import (
	"errors"
	"fmt"
	"net/mail"
	"net/url"
	"slices"
	"time"
)

// limits are the parts of a schema mentioned in sentences.
type limits struct {
	Format               string
	MinLength, MaxLength *float64
	Minimum, Maximum     *float64
	MinItems, MaxItems   *float64
}

// Validate returns an error if a value does not fit. Its text is a sentence for the user.
func (f Field) Validate(value any) error {
	err := f.schema.Validate(value)
	text, isText := value.(string)
	if err == nil && (!isText || fits(f.limits.Format, text)) {
		return nil
	}
	if sentence := f.sentence(value); sentence != "" {
		return errors.New(sentence)
	}
	return err
}

// Check returns an error for the first field whose value does not fit.
func Check(fields []Field, values map[string]any) error {
	for _, f := range fields {
		if value, ok := values[f.Name]; ok {
			if err := f.Validate(value); err != nil {
				return fmt.Errorf("%s: %w", f.Title, err)
			}
		} else if f.Required {
			return fmt.Errorf("%s: This field is required", f.Title)
		}
	}
	return nil
}

// fits reports whether a text has a format. An unknown format has no rule.
func fits(format, text string) bool {
	var err error
	switch format {
	case "email":
		var a *mail.Address
		if a, err = mail.ParseAddress(text); err == nil {
			return a.Address == text
		}
	case "uri":
		var u *url.URL
		if u, err = url.Parse(text); err == nil {
			return u.IsAbs()
		}
	case "date":
		_, err = time.Parse(time.DateOnly, text)
	case "date-time":
		_, err = time.Parse(time.RFC3339, text)
	}
	return err == nil
}

// sentence describes the valid values of the field. If the schema does not restrict them, it
// returns "".
func (f Field) sentence(value any) string {
	l := f.limits
	switch f.kind {
	case "integer":
		return "Enter a whole number" + between(l.Minimum, l.Maximum) + "."
	case "number":
		return "Enter a number" + between(l.Minimum, l.Maximum) + "."
	case "boolean":
		return "Answer Yes or No."
	case "array":
		list, _ := value.([]any)
		for _, one := range list {
			if len(f.values) > 0 && !slices.ContainsFunc(mapped(f.values), func(v any) bool { return v == one }) {
				return "Choose some of the named values."
			}
		}
		return amount("Choose", l.MinItems, l.MaxItems, "")
	}
	switch {
	case len(f.values) > 0:
		return "Choose one of the named values."
	case l.Format == "email":
		return "Enter an email address, such as name@example.org."
	case l.Format == "uri":
		return "Enter a whole address, such as https://example.org."
	case l.Format == "date":
		return "Enter a date, such as 2026-11-23."
	case l.Format == "date-time":
		return "Enter a date and a time, such as 2026-11-23T14:30:00Z."
	}
	text, _ := value.(string)
	if n := float64(len([]rune(text))); l.MinLength != nil && n < *l.MinLength || l.MaxLength != nil && n > *l.MaxLength {
		return amount("Enter", l.MinLength, l.MaxLength, " characters")
	}
	return ""
}

func mapped(values map[string]any) (all []any) {
	for _, v := range values {
		all = append(all, v)
	}
	return all
}

func between(least, most *float64) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf(" from %v to %v", *least, *most)
	case least != nil:
		return fmt.Sprintf(" of at least %v", *least)
	case most != nil:
		return fmt.Sprintf(" of at most %v", *most)
	}
	return ""
}

// amount names the limits of choices or characters.
func amount(verb string, least, most *float64, what string) string {
	switch {
	case least != nil && *least > 0 && most != nil:
		return fmt.Sprintf("%s %v to %v%s.", verb, *least, *most, what)
	case most != nil:
		return fmt.Sprintf("%s at most %v%s.", verb, *most, what)
	case least != nil:
		return fmt.Sprintf("%s at least %v%s.", verb, *least, what)
	}
	return ""
}
