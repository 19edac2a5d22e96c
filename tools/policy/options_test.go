package policy

import "testing"

// An option that is no UTF-8 is read like others.
func TestOptionsOfAnyBytes(t *testing.T) {
	t.Parallel()
	for _, src := range []string{`docker run -$'\xff' x`, `docker run -a$'\xff'=y x`, `tar -$'\xfff' x`} {
		checkShape(t, src, Command(src, here))
	}
}

// A command of several lines has no placeholder of xargs.
func TestXargsRunsLines(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]Level{"ls | xargs sh -c 'ls\nrm -rf x' _": Asks, "ls | xargs sh -c 'ls\nreboot'": Blocked, "ls | xargs -n 1 sh -c 'ls \"$1\"\nls' _": Runs} {
		if v := Command(src, here); v.Level != want {
			t.Errorf("%q: %s (%s), want %s", src, v.Level, v.Reason, want)
		}
	}
}

// A line feed within an argument begins no other one.
func TestLineFeedsInArguments(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]Level{
		"npm publish --tag 'x\n--dry-run'": Asks, "kubectl apply -f 'x\n--help\n'": Asks, "aws s3 cp a 's3://b\nx\n'": Asks, "aws s3 cp '\ns3://b' s3://c": Asks,
		"echo 'npm\npublish'": Runs, "gh -R 'a\npr\ncreate' pr view": Runs, "kill 'x\n-1'": Runs, "find / -exec 'x\nrm' {} +": Runs,
	} {
		if v := Command(src, here); v.Level != want {
			t.Errorf("%q: %s (%s), want %s", src, v.Level, v.Reason, want)
		}
	}
}
