//go:build !linux || !(amd64 || arm64)

package store_test

// children are functions for child processes of these tests, besides a [worker].
var children map[string]func(arg string) error
