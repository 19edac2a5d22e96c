package textenc

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// Encodings only used as weights; see guess.
const (
	greekCode Charset = -1 - iota
	hebrewCode
	arabicCode
	thaiCode
	centralCode    // windows-1250
	centralISOCode // ISO 8859-2
	turkishCode
)

// legacy are the older encodings of one or several bytes for a character, with their names.
var legacy = map[Charset]struct {
	enc  encoding.Encoding
	name string
}{
	CharsetGBK:         {simplifiedchinese.GBK, "GBK (Chinese)"},
	CharsetGB18030:     {simplifiedchinese.GB18030, "GB18030 (Chinese)"},
	CharsetBig5:        {traditionalchinese.Big5, "Big5 (Chinese)"},
	CharsetShiftJIS:    {japanese.ShiftJIS, "Shift_JIS (Japanese)"},
	CharsetEUCJP:       {japanese.EUCJP, "EUC-JP (Japanese)"},
	CharsetISO2022JP:   {japanese.ISO2022JP, "ISO-2022-JP (Japanese)"},
	CharsetEUCKR:       {korean.EUCKR, "EUC-KR (Korean)"},
	CharsetKOI8R:       {charmap.KOI8R, "KOI8-R (Cyrillic)"},
	CharsetWindows1251: {charmap.Windows1251, "windows-1251 (Cyrillic)"},
	greekCode:          {charmap.Windows1253, ""},
	hebrewCode:         {charmap.Windows1255, ""},
	arabicCode:         {charmap.Windows1256, ""},
	thaiCode:           {charmap.Windows874, ""},
	centralCode:        {charmap.Windows1250, ""},
	centralISOCode:     {charmap.ISO8859_2, ""},
	turkishCode:        {charmap.Windows1254, ""},
}

// decodeLegacy decodes text. Invalid bytes become U+FFFD; [CharsetOf] does not return a charset
// with other characters than the text's.
func (c Charset) decodeLegacy(text []byte) []byte {
	out, err := legacy[c].enc.NewDecoder().Bytes(text)
	if err != nil {
		return bytes.ToValidUTF8(text, []byte(string(utf8.RuneError))) // no decoder of these returns an error
	}
	return out
}

func (c Charset) encodeLegacy(text []byte) ([]byte, error) {
	out, err := legacy[c].enc.NewEncoder().Bytes(text)
	if err == nil {
		return out, nil
	}
	for i, r := range string(text) {
		if r < utf8.RuneSelf {
			continue
		}
		if _, err := legacy[c].enc.NewEncoder().String(string(r)); err != nil {
			return nil, lacks(c, r, text[:i], "or convert the file to UTF-8 first")
		}
	}
	return nil, fmt.Errorf("the new text cannot be written in %v; nothing was changed: %w", c, err)
}

// lacks is the error for a character missing in a charset.
func lacks(c Charset, r rune, before []byte, advice string) error {
	return fmt.Errorf("the file is written in %v, which has no %q (line %d of the new text); nothing was changed. Spell it with characters that it has, %s",
		c, r, 1+bytes.Count(before, []byte{'\n'}), advice)
}

// Reader returns a reader of UTF-8 for a text in c. If c is UTF-8, UTF-16 or not known, ok is false.
func (c Charset) Reader(r io.Reader) (decoded io.Reader, ok bool) {
	if c == CharsetLatin1 {
		return charmap.Windows1252.NewDecoder().Reader(r), true
	}
	known, ok := legacy[c]
	if !ok {
		return r, false
	}
	return known.enc.NewDecoder().Reader(r), true
}

// byLines reports whether the lines of a text can be found before decoding, and decoded
// individually.
func (c Charset) byLines() bool {
	_, known := legacy[c]
	return known || c == CharsetLatin1 || c == CharsetUnknown
}

// keeps reports whether all bytes of text come back if it is decoded and encoded.
func (c Charset) keeps(text []byte) bool {
	plain := c.Decode(text)
	if bytes.ContainsRune(plain, utf8.RuneError) {
		return false
	}
	back, err := c.Encode(plain)
	return err == nil && bytes.Equal(back, text)
}

// EncodeEdit is [Charset.Encode] for a change of old. New characters in a text of [CharsetUnknown]
// are an error, because their bytes are unknown.
func (c Charset) EncodeEdit(old, text []byte) ([]byte, error) {
	if c == CharsetUnknown {
		has := map[string]bool{}
		for _, word := range foreign(c.Decode(old)) {
			has[word.text] = true
		}
		for _, word := range foreign(text) {
			if !has[word.text] {
				return nil, fmt.Errorf("the file is written in %v, so the bytes of %q (line %d of the new text) are not known. Nothing was changed. "+
					"Add only ASCII, or use a program that knows the encoding. Do not convert it from Latin-1: that destroys it",
					c, word.text, 1+bytes.Count(text[:word.at], []byte{'\n'}))
			}
		}
	}
	return c.Encode(text)
}

// word is a run of non-ASCII characters.
type word struct {
	text string
	at   int
}

func foreign(text []byte) (words []word) {
	for i := 0; i < len(text); {
		if i += asciiLength(text[i:]); i == len(text) {
			break
		}
		end := i
		for end < len(text) && text[end] >= utf8.RuneSelf {
			end++
		}
		words = append(words, word{string(text[i:end]), i})
		i = end
	}
	return words
}

// sampleSize is how much of a text is weighed.
const sampleSize = 64 << 10

// sampleMore keeps the beginning of a text, starting at the byte before the first character that is
// not ASCII or changes the character set.
func (t *tally) sampleMore(text []byte) {
	if len(t.sample) == 0 && len(text) > 0 {
		at := asciiLength(text)
		if esc := bytes.IndexByte(text[:at], 0x1b); esc >= 0 {
			at = esc
		}
		before := t.last
		if at > 0 {
			before = text[at-1]
		}
		if t.last = before; at == len(text) {
			return
		}
		t.sample, text = append(t.sample, before), text[at:]
	}
	if n := min(len(text), sampleSize-len(t.sample)); n > 0 {
		t.sample = append(t.sample, text[:n]...)
		text = text[n:]
	}
	t.more = t.more || len(text) > 0
}

// legacy returns the charset of a text other than UTF-8.
func (t *tally) legacy() Charset {
	sample := t.sample
	if t.more {
		sample = sample[:1+bytes.LastIndexByte(sample, '\n')]
	}
	c := likely(sample)
	if c == CharsetLatin1 && !isWestern(sample) {
		return CharsetUnknown
	}
	return c
}

func likely(sample []byte) Charset {
	c, sure := guess(sample)
	switch joined, alone := neighbors(sample); {
	case sure && (c == CharsetLatin1 || c == CharsetUnknown || c.keeps(sample)):
		if c == CharsetGB18030 && CharsetGBK.keeps(sample) {
			return CharsetGBK
		}
		return c
	case sure, joined >= 3 && 2*joined > alone, alone == 0:
		return CharsetUnknown
	case c == CharsetLatin1, joined == 0 && (c == CharsetUnknown || c == CharsetWindows1251 || c == CharsetKOI8R):
		return CharsetLatin1
	}
	return CharsetUnknown
}

// neighbors counts the bytes over 127 next to another such byte, and the lone ones.
func neighbors(text []byte) (joined, alone int) {
	for i, b := range text {
		switch {
		case b < utf8.RuneSelf:
		case i > 0 && text[i-1] >= utf8.RuneSelf, i+1 < len(text) && text[i+1] >= utf8.RuneSelf:
			joined++
		default:
			alone++
		}
	}
	return joined, alone
}

// unclear reports whether the text is not UTF-8 so far, and more of it may decide.
func (t *tally) unclear() bool {
	return !t.more && (t.broken > 0 || t.high == 0 && len(t.sample) > 0)
}

// escaped reports whether a text of ASCII bytes is ISO-2022-JP.
func (t *tally) escaped() bool {
	if t.high > 0 || !bytes.Contains(t.sample, []byte("\x1b$B")) && !bytes.Contains(t.sample, []byte("\x1b$@")) {
		return false
	}
	sample := t.sample
	if t.more {
		sample = sample[:1+bytes.LastIndexByte(sample, '\n')]
	}
	return len(sample) > 0 && CharsetISO2022JP.keeps(sample)
}
