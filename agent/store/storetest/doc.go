// Package storetest lets tests take the disk away from a session store: writes and
// reads of SQLite fail as those of a full or a broken disk do, at the very call that a
// test chooses.
//
// It changes SQLite for the whole process; use it in a process of its own.
package storetest
