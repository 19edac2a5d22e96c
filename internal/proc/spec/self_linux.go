package spec

// Self is our binary. The link works when the file has been replaced or removed,
// and then is still the version that runs.
func Self() string { return "/proc/self/exe" }
