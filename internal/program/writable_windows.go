package program

// writable says of everything that it can be written: access is not a matter of modes
// there.
func writable(string) bool { return true }
