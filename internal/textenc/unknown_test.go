package textenc

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"pgregory.net/rapid"

	"github.com/hermes-ls/hermes-ls/internal/testneed"
)

// sentences are typical texts of programs and their documents in each encoding.
var sentences = map[Charset][]string{
	CharsetGBK:         {"// 这个函数计算总和\n", "# 配置文件不存在，请检查路径\n", "错误：无法打开数据库连接\n", "用户登录成功\n", "print(\"你好，世界\")\n", "今天天气很好，我们去公园吧。\n"},
	CharsetBig5:        {"// 這個函數計算總和\n", "# 設定檔不存在，請檢查路徑\n", "錯誤：無法開啟資料庫\n", "使用者登入成功\n", "今天天氣很好，我們去公園吧。\n"},
	CharsetShiftJIS:    {"// この関数は合計を計算します\n", "設定ファイルが見つかりません\n", "エラー：データベースに接続できません\n", "print(\"こんにちは世界\")\n"},
	CharsetEUCJP:       {"// この関数は合計を計算します\n", "設定ファイルが見つかりません\n", "エラー：データベースに接続できません\n", "print(\"こんにちは世界\")\n"},
	CharsetISO2022JP:   {"// この関数は合計を計算します\n", "設定ファイルが見つかりません\n", "今日は\n"},
	CharsetEUCKR:       {"// 이 함수는 합계를 계산합니다\n", "설정 파일을 찾을 수 없습니다\n", "오류: 데이터베이스에 연결할 수 없습니다\n", "print(\"안녕하세요 세계\")\n"},
	CharsetKOI8R:       {"// сумма всех чисел\n", "Ошибка: не удалось открыть файл настроек\n", "Сегодня хорошая погода, пойдём гулять.\n"},
	CharsetWindows1251: {"// сумма всех чисел\n", "Ошибка: не удалось открыть файл настроек\n", "Сегодня хорошая погода, пойдём гулять.\n"},
	CharsetLatin1:      {"// Größe über Maß, café à 5 €\n", "Il a été naïf, «peut-être»\n", "configuração e opções são iguais\n", "El año pasado comí piña\n"},
}

func coded(t interface {
	Helper()
	Fatal(...any)
}, c Charset, text string) []byte {
	t.Helper()
	out, err := c.Encode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A single sentence is detected in its encoding, and decoded.
func TestEncodingsOfLanguages(t *testing.T) {
	t.Parallel()
	for want, texts := range sentences {
		for _, text := range texts {
			bytes := coded(t, want, text)
			if c := CharsetOf(bytes); c != want || string(c.Decode(bytes)) != text {
				t.Errorf("%v: %q is found to be %v: %q", want, text, c, c.Decode(bytes))
			}
		}
	}
}

// For any lines of program and language, an edit of a line changes no byte of the others.
// Characters missing in the encoding are rejected.
func TestEditInEncodingOfLanguage(t *testing.T) {
	t.Parallel()
	code := []string{"int sum;\n", "\n", "return x * 2;\r\n", "if (a < b) { c(\"~|\\\\\"); }\n"}
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SampledFrom([]Charset{CharsetGBK, CharsetBig5, CharsetShiftJIS, CharsetEUCJP, CharsetISO2022JP, CharsetEUCKR, CharsetKOI8R, CharsetWindows1251, CharsetLatin1}).Draw(t, "encoding")
		lines := rapid.SliceOfN(rapid.SampledFrom(append(code, sentences[want]...)), 0, 12).Draw(t, "lines")
		lines = append(lines, sentences[want]...)
		old := coded(t, want, strings.Join(lines, ""))
		c := CharsetOf(old)
		if c != want {
			t.Fatalf("%v is found to be %v: %q", want, c, lines)
		}
		at := rapid.IntRange(0, len(lines)-1).Draw(t, "line")
		added := rapid.SampledFrom(append(code, sentences[want]...)).Draw(t, "added")
		lines[at] = added + lines[at]
		text := strings.Join(lines, "")
		edited, err := c.EncodeEdit(old, []byte(text))
		before, after := coded(t, want, strings.Join(lines[:at], "")), coded(t, want, strings.TrimPrefix(lines[at], added)+strings.Join(lines[at+1:], ""))
		if err != nil || !bytes.HasPrefix(edited, before) || !bytes.HasSuffix(edited, after) || len(edited) != len(before)+len(coded(t, want, added))+len(after) {
			t.Fatalf("%v: the edit changed other bytes, %v", c, err)
		}
		if string(c.Decode(edited)) != text {
			t.Fatalf("%v: the new text is %q", c, c.Decode(edited))
		}
		if _, err := c.EncodeEdit(old, []byte(text+"😀\n")); err == nil || !strings.Contains(err.Error(), "has no '😀'") {
			t.Fatalf("%v: %v", c, err)
		}
	})
}

// Bytes of whatever kind are kept. They are called text of an encoding only if they come back.
func TestDetectionKeepsBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		high := rapid.Custom(func(t *rapid.T) byte { return byte(rapid.IntRange(0x80, 0xff).Draw(t, "high")) })
		text := rapid.SliceOf(rapid.OneOf(high, high, rapid.Byte())).Draw(t, "text")
		c := CharsetOf(text)
		if back, err := c.EncodeEdit(text, c.Decode(text)); err != nil || !bytes.Equal(back, text) {
			t.Fatalf("%v: %q became %q, %v", c, text, back, err)
		}
	})
}

// A text in several possible encodings accepts no character whose bytes would be a guess.
func TestUncertainEncoding(t *testing.T) {
	t.Parallel()
	greek, err := charmap.Windows1253.NewEncoder().Bytes([]byte("// το άθροισμα όλων των αριθμών\nint sum;\n"))
	if err != nil {
		t.Fatal(err)
	}
	for name, old := range map[string][]byte{
		"one character": coded(t, CharsetGBK, "x = 1 // 数\n"), "another language": greek,
		"damaged": append(coded(t, CharsetGBK, "// 这个函数计算总和\n"), 0xff, 0xff, 0xff, '\n'),
	} {
		c := CharsetOf(old)
		if c != CharsetUnknown {
			t.Errorf("%s: %v", name, c)
		}
		plain := c.Decode(old)
		edited, err := c.EncodeEdit(old, append([]byte("x = 2\n"), plain...))
		if err != nil || !bytes.Equal(edited, append([]byte("x = 2\n"), old...)) {
			t.Errorf("%s: an edit changed other bytes, %v", name, err)
		}
		for _, add := range []string{"é", "数", "’"} {
			if _, err := c.EncodeEdit(old, append([]byte("x "+add+"\n"), plain...)); err == nil || !strings.Contains(err.Error(), "not convert") {
				t.Errorf("%s: %q: %v", name, add, err)
			}
		}
	}
}

// A text with four-byte characters is GB18030. Without them it is GBK, for programs that read only
// GBK.
func TestGB18030(t *testing.T) {
	t.Parallel()
	text := "// 这个函数计算总和 😀\n"
	old := coded(t, CharsetGB18030, text)
	if c := CharsetOf(old); c != CharsetGB18030 || string(c.Decode(old)) != text {
		t.Errorf("%v", c)
	}
}

// A long text is read in parts, with the same lines as the whole text.
func TestLongTextOfLanguage(t *testing.T) {
	t.Parallel()
	for want, texts := range sentences {
		text := strings.Repeat("x = 1\n", 50_000) + strings.Repeat(strings.Join(texts, ""), 20_000/len(texts))
		raw := coded(t, want, text)
		win, err := ReadWindow(t.Context(), bytes.NewReader(raw), int64(len(raw)), 50_001, 2)
		if err != nil || win.Charset != want || strings.Join(win.Lines, "\n")+"\n" != texts[0]+texts[1] {
			t.Errorf("%v: %+v, %v", want, win, err)
		}
		lines, err := ReadLines(bytes.NewReader(raw), map[int]bool{2: true, 50_001: true}, MaxLine)
		if err != nil || lines[50_001]+"\n" != texts[0] {
			t.Errorf("%v: %v, %v", want, lines, err)
		}
		if c := CharsetOf(raw); c != want {
			t.Errorf("%v: the whole text is %v", want, c)
		}
		if r, ok := want.Reader(bytes.NewReader(raw[len(raw)-len(coded(t, want, texts[len(texts)-1])):])); ok {
			var out bytes.Buffer
			if _, err := out.ReadFrom(r); err != nil || out.String() != texts[len(texts)-1] {
				t.Errorf("%v: read %q, %v", want, out.String(), err)
			}
		}
	}
}

// Mistakes on random texts of frequent characters are counted: hardly any text is found in a wrong encoding.
func TestMistakesOfDetection(t *testing.T) {
	t.Parallel()
	testneed.Long(t)
	wrong, all := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for c, list := range map[Charset]string{CharsetGBK: simplified, CharsetBig5: traditional, CharsetShiftJIS: kanji + "をはがのにです", CharsetEUCJP: kanji + "をはがのにです", CharsetEUCKR: hangul} {
			text := string(rapid.SliceOfN(rapid.SampledFrom([]rune(list)), 1, 40).Draw(t, "text"))
			raw, err := encoding.ReplaceUnsupported(legacy[c].enc.NewEncoder()).Bytes([]byte(text))
			if err != nil || bytes.IndexByte(raw, 0x1a) >= 0 {
				continue
			}
			all++
			if got := CharsetOf(raw); got != c && got != CharsetUnknown && got != CharsetUTF8 {
				wrong++
			}
		}
	})
	t.Logf("%d of %d", wrong, all)
	if wrong*200 > all {
		t.Errorf("%d of %d texts are found in a wrong encoding", wrong, all)
	}
}
