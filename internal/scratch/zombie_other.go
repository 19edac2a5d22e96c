//go:build !linux

package scratch

// zombie is not told here.
func zombie(int) bool { return false }
