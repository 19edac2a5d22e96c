package fspath

// SameOwner reports whether two files belong to the same user.
func SameOwner(string, string) bool { return false }
