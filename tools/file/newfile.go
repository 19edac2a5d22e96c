package file

import (
	"context"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/editorconfig"
	"github.com/hermes-ls/hermes-ls/internal/textenc"
)

// newText returns the bytes of a new file with content, as the project's .editorconfig files
// require. note describes the differences from content.
func newText(ctx context.Context, env *callEnv, path, content string) (text []byte, note string) {
	var s editorconfig.Settings
	for _, above := range env.Files.Upwards(ctx, path, editorconfig.Name, editorconfig.Limit) {
		if s.Add(above.Path, above.Text) {
			break
		}
	}
	return follow(s, content)
}

// follow is newText for known settings. Empty text and text with NUL bytes stay unchanged.
func follow(s editorconfig.Settings, content string) (text []byte, note string) {
	if content == "" || strings.ContainsRune(content, 0) {
		return []byte(content), ""
	}
	var how []string
	ended, kept := withLineEnds(s, content)
	if ended != content {
		how = append(how, "CRLF line ends")
	}
	final := withFinalLineEnd(s, ended)
	switch {
	case len(final) > len(ended):
		how = append(how, "a line end at its end")
	case len(final) < len(ended):
		how = append(how, "no line end at its end")
	}
	text, charset := inCharset(s.Charset(), final)
	if charset != "" {
		how = append(how, charset)
	}
	if len(how) == 0 {
		return text, kept
	}
	return text, joined("as .editorconfig says, the file has "+strings.Join(how, ", "), kept)
}

// withLineEnds converts line ends as the settings require. Text with carriage returns stays: they
// may be intended, as in a test's input or at the user's request. kept then reports it.
func withLineEnds(s editorconfig.Settings, text string) (ended, kept string) {
	lines, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n")
	switch {
	case lines == 0 || s.LineEnd() == "" || s.LineEnd() == "\n" && crlf == 0 || s.LineEnd() == "\r\n" && crlf == lines:
		return text, ""
	case strings.Contains(text, "\r"):
		return text, "the line ends of the given text were kept, as it has carriage returns; .editorconfig wants others"
	}
	return strings.ReplaceAll(text, "\n", "\r\n"), ""
}

// withFinalLineEnd adds or removes the line end after the last line.
func withFinalLineEnd(s editorconfig.Settings, text string) string {
	want, set := s.FinalLineEnd()
	switch {
	case !set || want && (strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\r")):
		return text
	case !want:
		return strings.TrimRight(text, "\r\n")
	case strings.Contains(text, "\n"):
		return text + lineEndsOf(text)(span{len(text), len(text)})
	case s.LineEnd() != "":
		return text + s.LineEnd()
	}
	return text + "\n"
}

// inCharset encodes text in a charset. It ignores an unknown charset, and a charset that would not
// be detected when the file is read.
func inCharset(name, text string) (encoded []byte, how string) {
	charset := textenc.CharsetUTF8
	switch name {
	case "utf-8-bom":
	case "utf-16le":
		charset = textenc.CharsetUTF16LE
	case "utf-16be":
		charset = textenc.CharsetUTF16BE
	case "latin1":
		return inLatin1(text)
	default:
		return []byte(text), ""
	}
	marked := mark + strings.TrimPrefix(text, mark)
	encoded, err := charset.Encode([]byte(marked))
	switch {
	case err != nil || textenc.CharsetOf(encoded) != charset:
		return []byte(text), ""
	case charset != textenc.CharsetUTF8:
		return encoded, "the encoding " + charset.String() + " with a byte order mark"
	case text == marked:
		return encoded, ""
	}
	return encoded, "a byte order mark"
}

// inLatin1 is inCharset for Latin-1.
func inLatin1(text string) (encoded []byte, how string) {
	for _, r := range text {
		if r > 0xff || 0x80 <= r && r < 0xa0 {
			return []byte(text), ""
		}
	}
	encoded, err := textenc.CharsetLatin1.Encode([]byte(text))
	if err != nil || textenc.CharsetOf(encoded) != textenc.CharsetLatin1 {
		return []byte(text), ""
	}
	return encoded, "the encoding Latin-1"
}
