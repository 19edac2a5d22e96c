//go:build unix && !linux

package delegate_test

func landlocked() bool { return false }
