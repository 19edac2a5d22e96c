package sandbox

import "strings"

// keyUse is an operation that failed because commands cannot see a key.
type keyUse struct {
	signs []string // words of its output
	hint  string
}

var keyUses = []keyUse{
	{
		[]string{
			"gpg failed to sign", "failed to write commit object", "unable to sign the tag", "failed to sign the push certificate", "gpg: signing failed",
			"gpg: no default secret key", "gpg: skipped", "Couldn't sign message", "No private key found for", "gpgsm: ",
		},
		"commands do not see the user's signing keys and agents (sandbox), so nothing can be signed, and the commit or tag was not made; what was staged still is. " +
			"Tell the user to run this command in a terminal of their own, or to add the key's folder to sandbox.read if the key needs no agent. Leaving the signature out requires the user's approval",
	},
	{
		[]string{
			"git-crypt: Error", "has not been unlocked", "\"git-crypt\" ", "Failed to get the data key", "no identity matched any of the recipients",
			"failed to load age identities", "error loading identities", "decryption failed: No secret key", "age: error: ", "git-secret: abort",
		},
		"commands do not see the user's keys (sandbox), so files that are encrypted with them stay so. Do without their content, or tell the user to decrypt them in a terminal of their own, or to add the key's folder to sandbox.read",
	},
	{
		[]string{
			"terminal prompts disabled", "could not read Username for", "could not read Password for", "Authentication failed for", "Permission denied (publickey",
			"Could not open a connection to your authentication agent", "Error connecting to agent", "credential-manager", "Host key verification failed",
		},
		"commands do not see the user's SSH keys, agents and stored logins (sandbox), and no user can be asked for a password. Tell the user to run this command in a terminal of their own, " +
			"or to add the key's folder to sandbox.read, or to pass a token with terminal.env_passthrough",
	},
}

// missedKey returns a hint if the output shows that a hidden key was needed.
func missedKey(output string) string {
	for _, use := range keyUses {
		for _, sign := range use.signs {
			if strings.Contains(output, sign) {
				return use.hint
			}
		}
	}
	return ""
}
