package references

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/internal/amount"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/internal/search"
	"github.com/hermes-ls/hermes-ls/internal/textfile"
)

// around is how many lines are attached before and after a place.
const around = 10

// stat describes a path that the model may read.
func (x *instance) stat(ctx context.Context, name string) (abs string, info fs.FileInfo, err error) {
	files := x.session.Files
	if abs, err = files.Abs(name); err != nil {
		return abs, nil, err
	}
	if err := x.mayRead(abs); err != nil {
		return abs, nil, err
	}
	info, err = files.Stat(ctx, abs)
	return abs, info, err
}

func (x *instance) file(ctx context.Context, r Reference) (a extension.Attachment, err error) {
	files := x.session.Files
	abs, info, err := x.stat(ctx, r.Value)
	switch {
	case err != nil:
		return a, err
	case info.IsDir():
		return x.folder(ctx, r)
	case IsPicture(abs) && !info.Mode().IsRegular():
		return a, errors.New("it is not a regular file")
	case IsPicture(abs) && info.Size() > MaxPicture:
		return a, fmt.Errorf("it has %d MB; the limit of a picture is %d MB", info.Size()>>20, MaxPicture>>20)
	case IsPicture(abs):
		return extension.Attachment{Name: files.Name(abs), Text: "The picture is attached to the prompt."}, nil
	case info.Size() > mostBytes:
		return a, fmt.Errorf("it has %d MB; name lines, as in @file:%s:1-200", info.Size()>>20, r.Value)
	}
	f, err := files.Read(ctx, abs)
	if err != nil {
		return a, err
	}
	content, err := textfile.Decode(f.Text)
	if err != nil {
		return a, fmt.Errorf("it is not a text file: %w", err)
	}
	first, last := r.First, r.Last
	if first > 0 && last == 0 {
		first, last = max(1, first-around), first+around
	}
	if first > last {
		return a, fmt.Errorf("its lines %d-%d are in the wrong order", first, last)
	}
	text, first, last, total := numbered(string(content), first, last)
	if text == "" && first > total {
		return a, fmt.Errorf("it has only %s", amount.Plural(total, "line"))
	}
	a.Name, a.Text = files.Name(abs), text
	if r.First > 0 {
		a.Name += fmt.Sprintf(", lines %d-%d", first, last)
	}
	return a, nil
}

// pictures are the extensions of pictures. They include unsupported formats, so the user is
// notified.
var pictures = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif"}

// MaxPicture limits the file of a picture, in bytes.
const MaxPicture = 64 << 20

// IsPicture reports whether a path or an address of a file ends like a picture.
func IsPicture(name string) bool {
	return slices.Contains(pictures, strings.ToLower(path.Ext(name)))
}

// numbered returns the lines from first to last with their numbers, like read_file. If both are 0,
// it returns all lines.
func numbered(text string, first, last int) (out string, from, to, total int) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	total = len(lines)
	if first == 0 {
		first, last = 1, total
	}
	first, last = max(first, 1), min(last, total)
	var b strings.Builder
	for i := first; i <= last; i++ {
		fmt.Fprintf(&b, "%d|%s", i, lines[i-1])
	}
	return b.String(), first, last, total
}

// mostListed limits the listed files of a folder.
const mostListed = 300

func (x *instance) folder(ctx context.Context, r Reference) (a extension.Attachment, err error) {
	files := x.session.Files
	abs, info, err := x.stat(ctx, r.Value)
	switch {
	case err != nil:
		return a, err
	case !info.IsDir():
		return a, errors.New("it is not a folder; refer to it with @file")
	}
	found, err := files.Search(ctx, search.Query{Files: true, Path: abs, Limit: mostListed})
	if err != nil {
		return a, err
	}
	text := strings.Join(found.Files, "\n")
	if found.Truncated {
		text += fmt.Sprintf("\nand %d more", found.Total-len(found.Files))
	}
	if text == "" {
		text = "It has no files, apart from ignored ones."
	}
	return extension.Attachment{Name: "files in " + files.Name(abs), Text: text}, nil
}

// Secret names. Files whose names begin or end like these hold keys.
var (
	secretFolders  = []string{".ssh", ".aws", ".gnupg", ".kube", ".docker", ".azure", ".gcloud", ".password-store"}
	secretNames    = lazyregexp.New(`(?i)^(\.env(\..+)?|\.netrc|_netrc|\.npmrc|\.pypirc|\.pgpass|\.git-credentials|\.htpasswd|id_(rsa|dsa|ecdsa|ed25519)|credentials(\.json)?|secrets?\.(json|ya?ml|toml)|.+\.(pem|key|p12|pfx|jks|keystore|kdbx))$`)
	harmlessSuffix = lazyregexp.New(`(?i)\.(example|sample|template|dist|defaults?)$`)
)

// IsSecret reports whether a path is a place of secrets.
func IsSecret(name string) bool {
	name = filepath.ToSlash(name)
	for part := range strings.SplitSeq(name, "/") {
		if slices.Contains(secretFolders, strings.ToLower(part)) {
			return true
		}
	}
	base := path.Base(name)
	return secretNames.MatchString(base) && !harmlessSuffix.MatchString(base)
}

func (x *instance) mayRead(abs string) error {
	if IsSecret(abs) || x.session.Bounds.Sandbox.Hidden()(abs) {
		return errors.New("it is a place of secrets, which are not sent to a model")
	}
	return nil
}

var diffHeader = lazyregexp.New(`^diff --git "?a/(.+?)"? "?b/(.+?)"?$`)

// withoutSecrets removes the changes of files with secrets from a diff.
func withoutSecrets(diff string) string {
	var b strings.Builder
	skips := false
	for line := range strings.Lines(diff) {
		plain := strings.TrimRight(line, "\n")
		if m := diffHeader.FindStringSubmatch(plain); m != nil {
			if skips = IsSecret(m[1]) || IsSecret(m[2]); skips {
				fmt.Fprintf(&b, "%s\n(left out: a place of secrets)\n", plain)
			}
		} else if strings.HasPrefix(line, "commit ") {
			skips = false
		}
		if !skips {
			b.WriteString(line)
		}
	}
	return b.String()
}
