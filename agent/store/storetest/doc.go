// Package storetest simulates disk failures for tests of a session store: writes and reads of
// SQLite fail like those of a full or a broken disk, at the call that a test selects.
//
// It changes SQLite for the whole process. Use it in a process of its own.
package storetest
