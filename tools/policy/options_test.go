package policy

import "testing"

// An option that is no UTF-8 is read like others.
func TestOptionsOfAnyBytes(t *testing.T) {
	t.Parallel()
	for _, src := range []string{`docker run -$'\xff' x`, `docker run -a$'\xff'=y x`, `tar -$'\xfff' x`} {
		checkShape(t, src, Command(src, here))
	}
}
