package sandbox

import (
	"slices"
	"strings"
)

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

// unsigned are ssh-keygen's errors after which git makes a tag without a signature and exits with 0.
var unsigned = []string{"Couldn't load public key", "No private key found for", "Couldn't find key in agent", "Couldn't get agent socket", "Couldn't sign message"}

// unsignedTag returns a hint if the output of a command that exited with 0 shows that git has made a tag without its
// signature, because commands do not see the key. Otherwise it returns "".
func unsignedTag(output string) string {
	if !slices.ContainsFunc(unsigned, func(sign string) bool { return strings.Contains(output, sign) }) {
		return ""
	}
	return "commands do not see the user's signing keys and agents (sandbox), so nothing was signed. If the command made a tag, it has no signature: remove it (git tag -d NAME), " +
		"and tell the user to make it in a terminal of their own, or to add the key's folder to sandbox.read if the key needs no agent"
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
