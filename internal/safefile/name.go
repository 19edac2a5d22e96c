package safefile

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const nameLength = 128

// IsName reports whether id is valid as the name of our files and directories: ASCII letters,
// digits, ".", "_" and "-", at most 128 of them, the first a letter or a digit.
func IsName(id string) bool {
	if id == "" || len(id) > nameLength || strings.IndexByte("._-", id[0]) >= 0 {
		return false
	}
	for i := range len(id) {
		c := id[i]
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte("._-", c) < 0 {
			return false
		}
	}
	return true
}

// NameOf returns id if it is a valid name, otherwise a unique name for id. So an id from elsewhere
// never leads out of its folder.
func NameOf(id string) string {
	if IsName(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "_" + hex.EncodeToString(sum[:])
}
