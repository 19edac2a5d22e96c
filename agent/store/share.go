package store

import (
	"context"
	"database/sql"
	"sync"
)

// sharing combines concurrent small writes, such as the messages of many subagents, in a
// transaction. A transaction with a single write costs as much as a transaction with all of
// them.
type sharing struct {
	mu      sync.Mutex
	waiting []*change
	leading bool // a goroutine writes, or is about to
}

// change is a waiting write.
type change struct {
	ctx  context.Context
	do   func(*sql.Tx) error // is called again if the shared transaction fails
	err  error
	turn chan bool // true: done; false: this goroutine must write all waiting changes
}

// writeShared is like write, for a change that may share a transaction with others.
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

// lead writes all waiting changes. If more changes are waiting afterwards, their first becomes
// the next leader.
func (db *database) lead() {
	// Not the context of a change: the others would fail with it.
	tx, err := db.writer.BeginTx(context.Background(), nil)
	s := &db.sharing
	s.mu.Lock()
	batch := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	alone := false
	if err == nil {
		err = together(tx, batch)
		alone = err != nil && len(batch) > 1 // retry each alone, to find the failing change
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
		c.turn <- true // the channel is buffered: the leader does not read from its own
	}
}

// together commits all changes or none.
func together(tx *sql.Tx, batch []*change) error {
	for _, c := range batch {
		err := c.ctx.Err()
		if err == nil {
			err = c.do(tx)
		}
		if err != nil {
			_ = tx.Rollback() // the first error matters more
			return err
		}
	}
	return tx.Commit()
}
