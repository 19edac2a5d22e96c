//go:build !linux || !(amd64 || arm64)

package store_test

// children are the tests that run in a process of their own, besides a [worker].
var children map[string]func(arg string) error
