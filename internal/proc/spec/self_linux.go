package spec

// Self is our binary. The link works even if the file was replaced or removed, and still leads to
// the running version.
func Self() string { return "/proc/self/exe" }
