package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// Limits of a [State]. An extension with more data opens its own file, see [OpenFile].
const (
	MaxStateValue = 64 << 10 // bytes of a value
	MaxStateKey   = 200      // bytes of a key
)

// State holds the values stored by an extension with a session. They are deleted with the
// session, copied by a fork, and copied to the branch by a rewind. They are not exported. A
// State is safe for concurrent use.
type State struct {
	store              *Store
	session, namespace string
}

// State returns the state of a session in a namespace, such as the name of an extension. The
// session need not be stored yet.
func (s *Store) State(session, namespace string) *State { return &State{s, session, namespace} }

const (
	selectState = "SELECT value FROM state WHERE session_id = ? AND namespace = ? AND key = ?"
	setState    = "INSERT INTO state VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
	deleteState = "DELETE FROM state WHERE session_id = ? AND namespace = ? AND key = ?"
	listState   = "SELECT key FROM state WHERE session_id = ? AND namespace = ? ORDER BY key"
	folderState = "SELECT session_id, value FROM state JOIN sessions ON id = session_id WHERE namespace = ? AND key = ? AND cwd IN "
	copyState   = "INSERT INTO state SELECT ?, namespace, key, value FROM state WHERE session_id = ?"
)

// Get returns the value of key. If there is none, it returns nil.
func (x *State) Get(ctx context.Context, key string) (value []byte, err error) {
	db, err := x.store.database(ctx)
	if err != nil {
		return nil, err
	}
	err = db.reader.QueryRowContext(ctx, selectState, x.session, x.namespace, key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return value, x.explain("reading", key, err)
}

// Set stores the value of key. If the value or the key is too long, or the key is empty, it
// returns an error and changes nothing. If the session is not stored yet, it returns
// [ErrNotFound].
func (x *State) Set(ctx context.Context, key string, value []byte) error {
	if len(value) > MaxStateValue || key == "" || len(key) > MaxStateKey {
		return x.explain("storing", key, fmt.Errorf("the value has %d bytes and the key %d; at most %d and 1 to %d are stored; nothing was changed",
			len(value), len(key), MaxStateValue, MaxStateKey))
	}
	if value == nil {
		value = []byte{} // not NULL
	}
	return x.change(ctx, "storing", key, setState, x.session, x.namespace, key, value)
}

// Delete removes key. If there is no such key, it does nothing.
func (x *State) Delete(ctx context.Context, key string) error {
	return x.change(ctx, "deleting", key, deleteState, x.session, x.namespace, key)
}

// List returns the keys in order.
func (x *State) List(ctx context.Context) ([]string, error) {
	db, err := x.store.database(ctx)
	if err != nil {
		return nil, err
	}
	keys, err := texts(db.reader.QueryContext(ctx, listState, x.session, x.namespace))
	return keys, x.explain("listing", "", err)
}

// StatesIn returns the value of key in a namespace, of each session of the folder cwd that has one,
// by the session's id.
func (s *Store) StatesIn(ctx context.Context, cwd, namespace, key string) (values map[string][]byte, err error) {
	db, err := s.database(ctx)
	if err != nil {
		return nil, err
	}
	values, err = db.statesIn(ctx, cwd, namespace, key)
	return values, s.explain(fmt.Sprintf("reading %q of %s in the sessions of %s", key, namespace, cwd), err)
}

func (db *database) statesIn(ctx context.Context, cwd, namespace, key string) (map[string][]byte, error) {
	cwds, err := db.spellings(ctx, cwd)
	if err != nil {
		return nil, err
	}
	places := "(?" + strings.Repeat(", ?", len(cwds)-1) + ")"
	rows, err := db.reader.QueryContext(ctx, folderState+places, append([]any{namespace, key}, cwds...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	values := map[string][]byte{}
	for rows.Next() {
		var id string
		var value []byte
		if err := rows.Scan(&id, &value); err != nil {
			return nil, err
		}
		values[id] = value
	}
	return values, rows.Err()
}

// Load decodes the JSON value of key into v. If there is none, it returns false.
func (x *State) Load(ctx context.Context, key string, v any) (bool, error) {
	value, err := x.Get(ctx, key)
	if err != nil || value == nil {
		return false, err
	}
	return true, x.explain("decoding", key, json.Unmarshal(value, v))
}

// Save stores v as JSON. If v is nil, it removes the value.
func (x *State) Save(ctx context.Context, key string, v any) error {
	if v == nil {
		return x.Delete(ctx, key)
	}
	value, err := json.Marshal(v)
	if err != nil {
		return x.explain("encoding", key, err)
	}
	return x.Set(ctx, key, value)
}

func (x *State) change(ctx context.Context, doing, key, query string, args ...any) error {
	db, err := x.store.database(ctx)
	if err != nil {
		return err
	}
	err = db.writeShared(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		if hasCode(err, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY) {
			err = ErrNotFound
		}
		return err
	})
	return x.explain(doing, key, err)
}

func (x *State) explain(doing, key string, err error) error {
	return x.store.explain(fmt.Sprintf("%s %q of %s in session %s", doing, key, x.namespace, x.session), err)
}
