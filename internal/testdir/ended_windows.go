package testdir

// ended returns false: folders of ended processes stay.
func ended(int) bool { return false }
