package tools

import (
	"crypto/sha256"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/tools/approval"
)

// scripts are the files that a command would run, as they were when it was judged.
type scripts map[string]string

// scriptLimit is how much of a file is looked at.
const scriptLimit = 4 << 20

// runsFiles are programs whose first argument is what they run.
var runsFiles = []string{"sh", "bash", "dash", "zsh", "fish", "ksh", "source", ".", "python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "Rscript", "make"}

// readScripts looks at what is run by a command that asks: a person who agrees to
// ./deploy.sh agrees to what it says now.
func readScripts(v approval.Verdict, dir string) scripts {
	found := scripts{}
	if v.Level != approval.Asks {
		return found
	}
	for _, command := range v.Commands {
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		program := words[0]
		if slices.Contains(runsFiles, filepath.Base(program)) {
			at := slices.IndexFunc(words[1:], func(w string) bool { return !strings.HasPrefix(w, "-") })
			if at >= 0 {
				found.add(dir, words[1+at])
			}
		}
		if strings.Contains(program, "/") {
			found.add(dir, program)
		}
	}
	return found
}

func (s scripts) add(dir, path string) {
	if path = strings.Trim(path, `'"`); !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	if sum := contentOf(path); sum != "" {
		s[path] = sum
	}
}

// changed names one that is not as it was; empty: all are.
func (s scripts) changed() string {
	for path, sum := range s {
		if contentOf(path) != sum {
			return path
		}
	}
	return ""
}

// contentOf is a mark of what a regular file holds; empty: there is none.
func contentOf(path string) string {
	f, _, err := safefile.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // only read
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(f, scriptLimit)); err != nil {
		return ""
	}
	return string(sum.Sum(nil))
}
