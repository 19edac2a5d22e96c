package policy

import "testing"

// An option with invalid UTF-8 is read like others.
func TestOptionsOfAnyBytes(t *testing.T) {
	t.Parallel()
	for _, src := range []string{`docker run -$'\xff' x`, `docker run -a$'\xff'=y x`, `tar -$'\xfff' x`} {
		checkShape(t, src, Command(src, here))
	}
}

// A command of several lines contains no placeholder of xargs.
func TestXargsRunsLines(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]Level{"ls | xargs sh -c 'ls\nrm -rf x' _": Asks, "ls | xargs sh -c 'ls\nreboot'": Blocked, "ls | xargs -n 1 sh -c 'ls \"$1\"\nls' _": Runs} {
		if v := Command(src, here); v.Level != want {
			t.Errorf("%q: %s (%s), want %s", src, v.Level, v.Reason, want)
		}
	}
}

// A line feed within an argument does not start another argument.
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

// The program of an option, or a protected folder, is found behind spaces and line feeds, too.
func TestNoSpaceHidesAName(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]Level{
		"rsync -e './x /ssh' a host:b": Asks, "rsync -e 'ssh -p 22' a host:b": Runs, "rsync -e './x\n/ssh' a host:b": Asks, "tar -I 'gzip\n./x' -cf a b": Asks, "tar -I 'gzip -1; ./x' -cf a b": Asks,
		"tar -I 'zstd -T0 --long=31' -cf a b": Runs, "touch '.git/modules/a\nb/hooks/x'": Blocked, "rm -rf '/etc/a\nb'": Blocked, "touch '.git/a\nb/config'": Asks, "echo x > '/dev/a\n[sda'": Blocked,
	} {
		if v := Command(src, here); v.Level != want {
			t.Errorf("%q: %s (%s), want %s", src, v.Level, v.Reason, want)
		}
	}
}
