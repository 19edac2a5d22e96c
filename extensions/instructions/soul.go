package instructions

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// hermesSouls has the hashes of the texts that Hermes Agent writes to a new SOUL.md.
var hermesSouls = []string{
	"2765a846e1bb371d78d3b93b403dfb0f8d1ba1a9895edb5f608367abfe81194d", // 0.13 to 0.19
	"f7f66960df0a4d87d8b3a957453ff1e6173e93481f2ebdb49fd87edeaa75e251", // later
	"82fa3438d86f8b95c6e96be89d853c8b561b3e6973ed61c90e70e0231dd24a7e", // a comment with examples
	"6bc146a50e8fe3bd555e89a77e93af1f781cece8cf549f0d7a02ee2389811c72", // a comment without examples
}

// untouched reports whether a SOUL.md is as Hermes Agent wrote it, so that it has no wish of the user.
func untouched(soul string) bool {
	soul = strings.ReplaceAll(strings.TrimPrefix(soul, "\ufeff"), "\r\n", "\n")
	sum := sha256.Sum256([]byte(strings.TrimSpace(soul)))
	return slices.Contains(hermesSouls, hex.EncodeToString(sum[:]))
}
