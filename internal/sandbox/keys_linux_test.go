package sandbox

import (
	"os/exec"
	"strings"
	"testing"
)

// If a command needs a user's key, the hint contains the reason and the remedy, for each way to
// sign and with the real programs' error texts.
func TestExplainMissedKeys(t *testing.T) {
	t.Parallel()
	const commit = `git -c user.name=A -c user.email=a@b -c commit.gpgsign=true -c user.signingkey=KEY -c gpg.format=FORMAT commit --allow-empty -m x`
	with := func(key, format string) string {
		return strings.NewReplacer("KEY", key, "FORMAT", format).Replace(commit)
	}
	cases := map[string]string{
		"gpg": with("0xABCD", "openpgp"),
		"ssh": with("~/.ssh/id_ed25519.pub", "ssh"),
		"tag": "git -c user.name=A -c user.email=a@b tag -s v1 -m x HEAD",
	}
	for _, m := range here(t) {
		if m.Kind == None {
			continue
		}
		t.Run(m.letter(WorkspaceWrite), func(t *testing.T) {
			t.Parallel()
			v := newVictim(t, m, WorkspaceWrite, true)
			v.host("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", v.home+"/.ssh/id_ed25519_sign")
			v.run("git init -q; git -c user.name=A -c user.email=a@b commit -q --allow-empty -m x")
			tag := v.run("git -c user.name=A -c user.email=a@b -c gpg.format=ssh -c user.signingkey=~/.ssh/id_ed25519_sign.pub tag -s v2 -m x HEAD 2>&1")
			if text := v.box.Explain(tag, true) + v.box.Explain(tag, false); !strings.Contains(text, "sign") || !strings.Contains(text, "sandbox") {
				t.Errorf("a tag: %q is explained by %q", tag, text)
			}
			if text := v.box.Explain(v.run("git log 2>&1"), false); text != "" {
				t.Errorf("git log is explained by %q", text)
			}
			for name, command := range cases {
				if _, err := exec.LookPath("gpg"); err != nil && name != "ssh" {
					t.Fatal(err)
				}
				out := v.run(command + " 2>&1")
				if text := v.box.Explain(out, true); !strings.Contains(text, "sign") || !strings.Contains(text, "sandbox") || !strings.Contains(text, "approval") {
					t.Errorf("%s: %q is explained by %q", name, out, text)
				}
			}
		})
	}
	for _, out := range []string{
		"git-crypt: Error: Unable to open key file", "Failed to get the data key required to decrypt the SOPS file.", "age: error: no identity matched any of the recipients",
		"fatal: could not read Username for 'https://github.com': terminal prompts disabled", "git@github.com: Permission denied (publickey).",
	} {
		if text := missedKey(out); !strings.Contains(text, "sandbox.read") {
			t.Errorf("%q is explained by %q", out, text)
		}
	}
	if text := missedKey("make: *** [all] Error 1\nno key"); text != "" {
		t.Errorf("another failure is explained by %q", text)
	}
}
