package skills

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hermes-ls/hermes-ls/internal/escape"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// Levels of a finding. A block is rejected; a warn is shown.
const (
	Block = "block"
	Warn  = "warn"
)

// Finding is a noteworthy place in a skill, shown to the user. The scanner is advisory.
type Finding struct {
	File  string `json:"file"`
	Line  int    `json:"line"`
	Level string `json:"level"`
	What  string `json:"what"`
}

func (f Finding) String() string {
	if f.Line == 0 { // it is about the whole file
		verb := "has"
		if strings.HasPrefix(f.What, "a ") || strings.HasPrefix(f.What, "no ") {
			verb = "is"
		}
		return f.File + " " + verb + " " + f.What
	}
	return fmt.Sprintf("%s line %d has %s", f.File, f.Line, f.What)
}

// Blocked returns the first rejected finding.
func Blocked(found []Finding) (Finding, bool) {
	at := slices.IndexFunc(found, func(f Finding) bool { return f.Level == Block })
	if at < 0 {
		return Finding{}, false
	}
	return found[at], true
}

// pattern is a rule for a line.
type pattern struct {
	level, what string
	match       *lazyregexp.Regexp
}

const (
	decodes = `base64\s+([^|\n]*\s)?(-d|-D|-di|--decode)\b`
	aShell  = `((sudo|env|command|exec|nohup|busybox)\s+(-\S+\s+|\w+=\S*\s+)*)*(/\S*/)?\b(ba|z|da|k|a)?sh\b`
)

var patterns = []pattern{
	{Block, "base64 text that is piped into a shell", lazyregexp.New(decodes + `[^\n]*\|&?\s*` + aShell + `|` + aShell + `\s([^\n|]*\s)?(-\w*c\s+)?["']?(<<<\s*)?["']?(<\(|\$\(|` + "`" + `)[^\n]*` + decodes +
		`|(\b(eval|source)|(^|[\s;&|])\.)\s+["']?(<\(|\$\(|` + "`" + `)[^\n]*` + decodes)},
	{Block, "a password-protected download that is run", lazyregexp.New(`(?i)(unzip\s+[^\n]*-P\s*\S+|7z\s+x\s+[^\n]*-p\S+)[^\n]*(&&|;)\s*(\./|sh |bash |chmod )`)},
	{Warn, "a download that is piped into a program", lazyregexp.New(`(?i)\b(curl|wget)\b[^|\n]*\|\s*(sudo\s+)?(ba|z|da|k)?(sh|python3?|node|perl|ruby)\b`)},
	{Warn, "a command that deletes recursively", lazyregexp.New(`\brm\s+-[a-zA-Z]*[rR][a-zA-Z]*\s`)},
	{Warn, "a command that runs as root", lazyregexp.New(`\bsudo\s`)},
	{Warn, "the name of a secret", lazyregexp.New(`\b[A-Z][A-Z0-9_]*(API_KEY|TOKEN|SECRET|PASSWORD|PRIVATE_KEY)\b|\.ssh/id_|\.aws/credentials|\.netrc\b`)},
	{Warn, "settings of an agent", lazyregexp.New(`\b(CLAUDE\.md|AGENTS\.md|SOUL\.md|MEMORY\.md|settings\.local\.json|trust\.json)\b|\.hermes/config\.yaml`)},
	{Warn, "text that tells the model to ignore its rules", lazyregexp.New(`(?i)(ignore|disregard|forget)\s+(all\s+)?(previous|prior|above|earlier)\s+(instructions|rules|prompts)|do not tell the user|without telling the user`)},
	{Warn, "a command that runs at each start of a shell or of the system", lazyregexp.New(`\bcrontab\b|\.bashrc\b|\.zshrc\b|\.profile\b|systemctl\s+enable|LaunchAgents`)},
	{Warn, "code that is decoded and run", lazyregexp.New(`(?i)\beval\s*\(|\bexec\s*\(\s*(base64|compile|bytes)|fromCharCode`)},
}

const (
	scanFiles = 200
	scanBytes = 10 << 20
)

// Scan reports the findings in the skill in dir, by file and line.
func Scan(dir string) (found []Finding, err error) {
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	files, total := 0, int64(0)
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == ".git" {
				return filepath.SkipDir
			}
			return nil
		}
		if e.Type()&fs.ModeSymlink != 0 {
			found = append(found, linkFinding(dir, path, name)...)
			return nil
		}
		if !e.Type().IsRegular() {
			found = append(found, Finding{filepath.ToSlash(name), 0, Warn, "no regular file"})
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if files, total = files+1, total+info.Size(); files > scanFiles || total > scanBytes {
			found = append(found, Finding{filepath.ToSlash(name), 0, Warn, "more files than the scanner reads"})
			return fs.SkipAll
		}
		data, err := safefile.Read(path, maxFile)
		switch {
		case errors.Is(err, safefile.ErrTooLarge):
			found = append(found, Finding{filepath.ToSlash(name), 0, Warn, "more than 1 MB"})
		case err != nil:
			return err
		default:
			found = append(found, scanText(filepath.ToSlash(name), data)...)
		}
		return nil
	})
	return found, err
}

func linkFinding(dir, path, name string) []Finding {
	target, err := filepath.EvalSymlinks(path)
	if err == nil {
		if real, err2 := filepath.EvalSymlinks(dir); err2 == nil {
			if rel, err := filepath.Rel(real, target); err == nil && filepath.IsLocal(rel) {
				return nil
			}
		}
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return []Finding{{filepath.ToSlash(name), 0, Block, "a link that leaves the skill"}}
}

// scanText reports the findings of a file. Binary bytes do not hide the rest of it: a shell and a
// model read on.
func scanText(name string, data []byte) (found []Finding) {
	text := string(data)
	if !utf8.Valid(data) || strings.Contains(text, "\x00") {
		switch kind := http.DetectContentType(data); {
		case executable(data):
			return []Finding{{name, 0, Warn, "a program"}}
		case kind != "application/octet-stream" && !strings.HasPrefix(kind, "text/"): // a picture, a font, an archive
			return nil
		}
		found = append(found, Finding{name, 0, Warn, "bytes that are no text"})
		if decoded, err := textfile.Decode(data); err == nil { // as the model would read it
			text = string(decoded)
		}
		text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "")
	}
	number, begin, command := 0, 1, ""
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		if escape.HasUnseen(line) {
			found = append(found, Finding{name, number, Block, "invisible characters"})
		}
		command += strings.TrimRight(line, "\r\n")
		if before, more := strings.CutSuffix(command, "\\"); more && len(before) < longestCommand {
			command = before
			continue
		}
		found = append(found, scanCommand(name, begin, command)...)
		begin, command = number+1, ""
	}
	return append(found, scanCommand(name, begin, command)...)
}

// longestCommand limits a line with its continuations, in bytes.
const longestCommand = 64 << 10

func scanCommand(name string, line int, command string) (found []Finding) {
	for _, p := range patterns {
		if p.match.MatchString(command) {
			found = append(found, Finding{name, line, p.level, p.what})
		}
	}
	return found
}

func executable(data []byte) bool {
	for _, magic := range []string{"\x7fELF", "MZ", "\xcf\xfa\xed\xfe", "\xca\xfe\xba\xbe"} {
		if strings.HasPrefix(string(data), magic) {
			return true
		}
	}
	return false
}
