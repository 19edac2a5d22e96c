package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// record is the state shared by all sessions of the user, in $HERMES_HOME/extensions/feedback.json.
type record struct {
	Offered  int64 `json:"offered"` // when the last offer was shown, in seconds; 0: never
	Ignored  int   `json:"ignored"` // offers in a row without an answer
	Off      bool  `json:"off"`     // the user wants no offers
	Worked   int   `json:"worked"`
	Problems int   `json:"problems"`
}

const mostIgnored = 3

// mayOffer reports whether the user may be asked.
func (r record) mayOffer(now time.Time) bool {
	since := now.Sub(time.Unix(r.Offered, 0))
	return !r.Off && r.Ignored < mostIgnored && (since >= 24*time.Hour || since < 0)
}

const fileName = "feedback.json"

// change edits the record under a lock. An undecodable file is replaced.
func change(ctx context.Context, home string, edit func(*record)) error {
	path := filepath.Join(home, "extensions")
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	unlock, err := filelock.Lock(ctx, filepath.Join(path, fileName+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	var r record
	data, err := safefile.Read(filepath.Join(path, fileName), 1<<16)
	if err == nil {
		_ = json.Unmarshal(data, &r)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	edit(&r)
	if data, err = json.Marshal(r); err != nil {
		return err
	}
	dir, err := safefile.OpenFolder(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Write(fileName, data, 0o600), dir.Close())
}
