//go:build !linux || !(amd64 || arm64)

package store_test

// children are the functions that a child process of these tests can run, besides a [worker].
var children map[string]func(arg string) error
