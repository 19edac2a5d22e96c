// Package pictures finds the pictures named in a prompt, and prepares them for models.
//
// A prompt names a picture by a link of the editor, by @file:PATH, or in a chat document by a
// Markdown image. Only files of the workspace are read, by the rules of the session's files.
package pictures

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/agent"
	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/extension"
	"github.com/hermes-ls/hermes-ls/extensions/references"
	"github.com/hermes-ls/hermes-ls/internal/lazyregexp"
	"github.com/hermes-ls/hermes-ls/tools"
)

// Source is the session of a prompt.
type Source struct {
	Files  tools.Files
	Limits tools.Pictures
	// Document is the directory of the chat document. Empty: Markdown images of the prompt are text.
	Document string
}

// Attach adds the pictures named in a prompt to it, and fits all its pictures, in place. If a
// picture is rejected, the error is an [extension.InputError]. A name without a file in the
// workspace stays text.
func (s Source) Attach(ctx context.Context, in *agent.Input) error {
	found := map[string]bool{} // absolute paths
	in.Context = slices.DeleteFunc(slices.Clone(in.Context), func(r agent.Resource) bool {
		return r.Text == "" && references.IsPicture(r.URI) && s.add(ctx, in, found, r.URI)
	})
	for _, r := range references.Parse(in.Text) {
		if r.IsFile() && references.IsPicture(r.Value) {
			s.add(ctx, in, found, r.Value)
		}
	}
	if s.Document != "" {
		for _, name := range markdownImages(in.Text) {
			if filepath.IsAbs(name) || strings.HasPrefix(name, "file:") {
				s.add(ctx, in, found, name)
			} else if !s.add(ctx, in, found, filepath.Join(s.Document, name)) {
				s.add(ctx, in, found, name)
			}
		}
	}
	return s.fit(ctx, in.Images)
}

// add adds a file to the pictures of a prompt, once. If it cannot be read, add returns false.
func (s Source) add(ctx context.Context, in *agent.Input, found map[string]bool, name string) bool {
	abs, err := s.Files.Abs(name)
	if err != nil || references.IsSecret(abs) {
		return false
	}
	if found[abs] {
		return true
	}
	info, err := s.Files.Stat(ctx, abs)
	if err != nil || !info.Mode().IsRegular() || info.Size() > references.MaxPicture {
		return false
	}
	f, err := s.Files.Read(ctx, abs)
	if err != nil {
		return false
	}
	found[abs] = true
	in.Images = append(in.Images, model.Image{Name: s.Files.Name(abs), Data: base64.StdEncoding.EncodeToString(f.Text)})
	return true
}

// fit fits pictures to the limits, in place.
func (s Source) fit(ctx context.Context, images []model.Image) error {
	pasted := 0
	for n := range images {
		i := &images[n]
		name := i.Name
		if name == "" {
			pasted++
			name = fmt.Sprintf("image %d", pasted)
		}
		data, err := base64.StdEncoding.DecodeString(i.Data)
		if len(data) > references.MaxPicture {
			return extension.BadInput("prompt", "%s is too large: the limit is %d MB", name, references.MaxPicture>>20)
		}
		if err != nil {
			return extension.BadInput("prompt", "a picture is not base64: %v", err)
		}
		fitted, err := s.Limits.Fit(ctx, name, data)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return extension.BadInput("prompt", "%v", err)
		}
		i.MIMEType, i.Data = fitted.MIMEType, base64.StdEncoding.EncodeToString(fitted.Data)
	}
	return nil
}

var markdownImage = lazyregexp.New(`!\[[^\]\n]*\]\(\s*(?:<([^>\n]+)>|([^()\s]+(?:\([^()\s]*\)[^()\s]*)*))(?:\s+(?:"[^"\n]*"|'[^'\n]*'))?\s*\)`)

// longest is the longest part of a line in which paths of pictures are searched, in bytes.
const longest = 64 << 10

// markdownImages returns the paths of the images in a text, except in code. It leaves out addresses
// of other machines.
func markdownImages(text string) (paths []string) {
	fence := ""
	for line := range strings.Lines(text) {
		if mark := fenceOf(line); mark != "" && (fence == "" || strings.HasPrefix(mark, fence)) {
			if fence != "" {
				mark = ""
			}
			fence = mark
			continue
		}
		if fence != "" {
			continue
		}
		for i, part := range strings.Split(line, "`") {
			if i%2 == 1 || len(part) > longest {
				continue // code, or the data of a picture
			}
			for _, m := range markdownImage.FindAllStringSubmatch(part, -1) {
				name := cmp.Or(m[1], m[2])
				if u, err := url.Parse(name); err == nil && (u.Scheme != "" && u.Scheme != "file" || u.Host != "" && u.Host != "localhost") {
					continue
				}
				if decoded, err := url.PathUnescape(name); err == nil && !strings.HasPrefix(name, "file:") {
					name = decoded
				}
				if references.IsPicture(name) {
					paths = append(paths, name)
				}
			}
		}
	}
	return paths
}

// fenceOf returns the marks at the start or the end of a fenced block.
func fenceOf(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		if rest := strings.TrimLeft(line, mark); len(line)-len(rest) >= 3 {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}
