package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/hermes-ls/hermes-ls/internal/safefile"
)

// fileID marks a file of an extension ("Hrmx").
const fileID = 0x48726d78

// File is an SQLite file of an extension with much data. It follows the rules of the store: only
// the user can read it, several processes can open it, and a committed transaction survives kill
// -9. If the file is damaged or of a newer version, opening it returns an error and changes
// nothing. A File is safe for concurrent use.
type File struct {
	// Reader is read-only.
	Reader *sql.DB
	writer *sql.DB
	path   string
}

// OpenFile opens the file NAME.db in the directory extensions of the home directory. If it does
// not exist, OpenFile creates it. It applies the missing migrations in a transaction; for a new
// file, all of them. A released migration must not be changed.
func OpenFile(ctx context.Context, home, name string, migrations ...string) (*File, error) {
	if !safefile.IsName(name) || len(migrations) == 0 {
		return nil, fmt.Errorf("opening the data of extension %q: it needs a name of letters, digits, \".\", \"_\" and \"-\", and at least one migration; nothing was opened", name)
	}
	f := &File{path: filepath.Join(home, "extensions", name+".db")}
	var err error
	if f.writer, f.Reader, err = (format{id: fileID, migrations: migrations}).open(ctx, f.path, ""); err != nil {
		return nil, f.explain("opening", err)
	}
	return f, nil
}

// Write runs change in a transaction. Transactions of other writers do not run at the same time.
// If change fails, nothing is written.
func (f *File) Write(ctx context.Context, change func(*sql.Tx) error) error {
	return f.explain("writing", (&database{writer: f.writer}).write(ctx, change))
}

// Close closes the file.
func (f *File) Close() error {
	return f.explain("closing", errors.Join(f.Reader.Close(), f.writer.Close()))
}

// errFile comes before [ErrDamaged] in an error, because the advice of ErrDamaged is about
// sessions.
var errFile = errors.New("the file is damaged, cannot be read from its disk, or is not of hermes-ls; nothing was changed: look at the disk, restore the file from a backup, or move it away")

func (f *File) explain(doing string, err error) error {
	if err = advise(err); errors.Is(err, ErrDamaged) {
		err = fmt.Errorf("%w (%w)", errFile, err)
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", doing, f.path, err)
}
