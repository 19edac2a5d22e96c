package textenc

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

// A text of another language is not called Latin-1, and an edit keeps its bytes.
func TestUnknownEncoding(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		enc  encoding.Encoding
		text string
		want Charset
	}{
		"GB18030":      {simplifiedchinese.GB18030, "// 这个函数计算总和\nint sum;\n", CharsetUnknown},
		"Big5":         {traditionalchinese.Big5, "// 這個函數計算總和\nint sum;\n", CharsetUnknown},
		"Shift JIS":    {japanese.ShiftJIS, "// この関数は合計を計算します\n", CharsetUnknown},
		"EUC-JP":       {japanese.EUCJP, "// この関数は合計を計算します\n", CharsetUnknown},
		"EUC-KR":       {korean.EUCKR, "// 이 함수는 합계를 계산합니다\n", CharsetUnknown},
		"KOI8-R":       {charmap.KOI8R, "// сумма всех чисел\n", CharsetUnknown},
		"windows-1251": {charmap.Windows1251, "// сумма всех чисел\n", CharsetUnknown},
		"windows-1252": {charmap.Windows1252, "// Größe über Maß, café à 5 €\n", CharsetLatin1},
	} {
		coded, err := test.enc.NewEncoder().Bytes([]byte(test.text))
		if err != nil {
			t.Fatal(err)
		}
		c := CharsetOf(coded)
		if c != test.want {
			t.Errorf("%s: %v", name, c)
		}
		edited, err := c.Encode(append([]byte("x = 1\n"), c.Decode(coded)...))
		if err != nil || !bytes.Equal(edited, append([]byte("x = 1\n"), coded...)) {
			t.Errorf("%s: an edit changed other bytes, %v", name, err)
		}
		if _, err := c.Encode([]byte("数")); err == nil || c == CharsetUnknown && !strings.Contains(err.Error(), "do not convert") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
