package sandbox

import "os"

func ownedByUs(os.FileInfo) bool { return false }

func sameOwner(string, string) bool { return false }

func lock(*os.File) error { return nil }
