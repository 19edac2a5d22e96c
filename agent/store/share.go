package store

import (
	"context"
	"database/sql"
	"sync"
)

// sharing lets small writes that come at the same time, such as the messages of many
// subagents, go into one transaction: each alone costs as much as all of them.
type sharing struct {
	mu      sync.Mutex
	waiting []*change
	leading bool // somebody writes, or is about to
}

// change is a write that waits.
type change struct {
	ctx  context.Context
	do   func(*sql.Tx) error // is called again when the first time came to nothing
	err  error
	turn chan bool // true: it is done; false: it is for this one to write all that wait
}

// writeShared is like write, for a change that may be made together with others.
func (db *database) writeShared(ctx context.Context, do func(*sql.Tx) error) error {
	c := &change{ctx: ctx, do: do, turn: make(chan bool, 1)}
	s := &db.sharing
	s.mu.Lock()
	s.waiting = append(s.waiting, c)
	first := !s.leading
	s.leading = true
	s.mu.Unlock()
	if first || !<-c.turn {
		db.lead()
	}
	return c.err
}

// lead writes all that wait, and then leaves it to the next one, if there is one.
func (db *database) lead() {
	// No context of theirs: the others would fail with it.
	tx, err := db.writer.BeginTx(context.Background(), nil)
	s := &db.sharing
	s.mu.Lock()
	batch := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	alone := false
	if err == nil {
		err = together(tx, batch)
		alone = err != nil && len(batch) > 1 // which of them was it?
	}
	for _, c := range batch {
		if c.err = err; alone {
			c.err = db.write(c.ctx, c.do)
		}
	}
	s.mu.Lock()
	if s.leading = len(s.waiting) > 0; s.leading {
		s.waiting[0].turn <- false
	}
	s.mu.Unlock()
	for _, c := range batch {
		c.turn <- true // nobody reads the leader's own
	}
}

// together makes all changes or none.
func together(tx *sql.Tx, batch []*change) error {
	for _, c := range batch {
		err := c.ctx.Err()
		if err == nil {
			err = c.do(tx)
		}
		if err != nil {
			_ = tx.Rollback() // the first error is the one that tells
			return err
		}
	}
	return tx.Commit()
}
