package textenc

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/encoding/charmap"
	"pgregory.net/rapid"
)

// others are texts in encodings without a decoder, by their encoding.
var others = []struct {
	name  string
	enc   *charmap.Charmap
	texts []string
}{
	{"windows-1250", charmap.Windows1250, centralTexts},
	{"ISO 8859-2", charmap.ISO8859_2, centralTexts},
	{"windows-1254", charmap.Windows1254, []string{"// bu işlev bütün sayıların toplamını hesaplar\n", "Dosya bulunamadı, lütfen yolu kontrol edin\n", "Hata: bağlantı kurulamadı\n", "kullanıcı girişi başarılı\n"}},
	{"windows-1253", charmap.Windows1253, greekTexts},
	{"ISO 8859-7", charmap.ISO8859_7, greekTexts},
	{"windows-1255", charmap.Windows1255, []string{"// פונקציה זו מחשבת את הסכום\n", "שגיאה: הקובץ לא נמצא\n"}},
	{"windows-1256", charmap.Windows1256, []string{"// هذه الدالة تحسب المجموع\n", "خطأ: الملف غير موجود\n"}},
}

var centralTexts = []string{
	"// funkcja oblicza sumę wszystkich wartości\n", "Błąd: nie można otworzyć pliku konfiguracji\n", "Użytkownik został zalogowany\n", "Zażółć gęślą jaźń\n", "# ścieżka do katalogu\n", "zły wynik\n", "dzień dobry, świecie!\n",
	"// tato funkce počítá součet všech čísel\n", "Chyba: soubor nebyl nalezen, zkontrolujte cestu k němu\n", "Příliš žluťoučký kůň úpěl ďábelské ódy\n", "uživatel byl přihlášen\n",
	"// ez a függvény kiszámítja az összeget, amely a számokból áll elő\n", "Hiba: a fájl nem található, ellenőrizze az elérési utat\n", "Árvíztűrő tükörfúrógép\n",
	"// táto funkcia vypočíta súčet všetkých čísel\n", "Greška: datoteka nije pronađena, provjerite putanju\n", "ta funkcija izračuna vsoto vseh števil\n",
}

var greekTexts = []string{
	"// η συνάρτηση υπολογίζει το άθροισμα\n", "Σφάλμα: το αρχείο δεν βρέθηκε\n", "# ΕΙΣΑΓΩΓΗ\n", "## ΠΕΡΙΕΧΟΜΕΝΑ ΚΑΙ ΟΔΗΓΙΕΣ ΕΓΚΑΤΑΣΤΑΣΗΣ\n", "// ΡΥΘΜΙΣΕΙΣ ΣΥΣΤΗΜΑΤΟΣ\n",
	"# ΟΔΗΓΙΕΣ ΧΡΗΣΗΣ\n", "ΣΗΜΕΙΩΣΗ\n", "ΚΕΦΑΛΑΙΟ ΠΡΩΤΟ: ΕΓΚΑΤΑΣΤΑΣΗ ΤΟΥ ΠΡΟΓΡΑΜΜΑΤΟΣ\n", "/* ΑΡΧΕΙΟ ΡΥΘΜΙΣΕΩΝ */\n", "// ΤΕΛΟΣ\n", "// ΣΤΑΘΕΡΕΣ ΚΑΙ ΜΕΤΑΒΛΗΤΕΣ\n", "ΟΝΟΜΑ ΚΑΙ ΕΠΩΝΥΜΟ\n", "Ο ΕΛΕΓΧΟΣ ΕΓΙΝΕ ΣΩΣΤΑ\n",
}

// A text in an encoding without a decoder is not mistaken for another encoding.
func TestOtherEncodingsAreUnknown(t *testing.T) {
	t.Parallel()
	for _, o := range others {
		for _, text := range o.texts {
			raw, err := o.enc.NewEncoder().Bytes([]byte(text))
			if err != nil {
				continue // a letter of another of these encodings
			}
			if c := CharsetOf(raw); c != CharsetUnknown {
				t.Errorf("%s: %q is found to be %v: %q", o.name, text, c, c.Decode(raw))
			}
		}
	}
}

// Texts of Western Europe stay Latin-1, so an edit can add their letters.
func TestWesternTextsAreLatin(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"café\n", "Größe über Maß\n", "naïve\n", "élève\n", "// où est l’été ?\n", "garçon, façade, ça\n", "œuvre, cœur, sœur\n", "El niño pequeño está aquí, ¿qué pasó?\n", "São Paulo, João, irmãos, ações\n",
		"blåbærsyltetøy på brød\n", "Räksmörgås, får, också\n", "Þetta er íslenska, ég á það\n", "5 °C ± 1, 3 m², 4 m³, ½ l, §5, µm\n", "© 2020 Müller & Söhne™\n", "“quotes” – dash… €5\n", "l·l català, perquè, això\n",
		"Åland, Ängel, Öl\n", "perché è così, però città\n", "één, reünie, coördinatie\n", "año\n", "ÜBERSCHRIFT\n", "RÉSUMÉ DES DONNÉES\n", "LEÇON N° 3\n",
	} {
		raw, err := charmap.Windows1252.NewEncoder().Bytes([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if c := CharsetOf(raw); c != CharsetLatin1 {
			t.Errorf("%q is found to be %v", text, c)
		}
	}
}

// Whatever the encoding and the detected charset, an edit preserves the bytes of unchanged lines.
func TestEditsKeepBytesOfAllEncodings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom(others).Draw(t, "encoding")
		var lines [][]byte
		for _, text := range rapid.SliceOfN(rapid.SampledFrom(append(slices.Clone(o.texts), "int sum;\r\n", "\n")), 1, 8).Draw(t, "lines") {
			if raw, err := o.enc.NewEncoder().Bytes([]byte(text)); err == nil {
				lines = append(lines, raw)
			}
		}
		old := bytes.Join(lines, nil)
		c := CharsetOf(old)
		plain := strings.SplitAfter(string(c.Decode(old)), "\n")
		if len(plain) != len(lines)+1 {
			t.Fatalf("%d lines of %d", len(plain)-1, len(lines))
		}
		at := rapid.IntRange(0, len(lines)).Draw(t, "at")
		added := rapid.SampledFrom([]string{"x = 1\n", "é\n", "ł", "Σ\n", "я", ""}).Draw(t, "added")
		edited, err := c.EncodeEdit(old, []byte(strings.Join(plain[:at], "")+added+strings.Join(plain[at:], "")))
		if err != nil {
			return // refused, and nothing is changed
		}
		if !bytes.HasPrefix(edited, bytes.Join(lines[:at], nil)) || !bytes.HasSuffix(edited, bytes.Join(lines[at:], nil)) {
			t.Fatalf("%s, taken for %v: other bytes changed", o.name, c)
		}
	})
}
