package sandbox

import "os"

const sandboxExec = "/usr/bin/sandbox-exec"

func candidates() []Mechanism {
	if _, err := os.Stat(sandboxExec); err != nil {
		return nil
	}
	return []Mechanism{{Kind: Seatbelt, NoNetwork: true}}
}
