// Package storetest simulates disk failures for tests of a session store: SQLite's writes and
// reads fail as on a full or a broken disk, from a selected call on.
//
// It changes SQLite for the whole process. Use it in a separate process.
package storetest
