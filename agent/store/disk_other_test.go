//go:build !linux || !(amd64 || arm64)

package store_test

// children are what a process of these tests can be besides a [worker].
var children map[string]func(arg string) error
