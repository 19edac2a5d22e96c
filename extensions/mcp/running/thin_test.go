package running

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Of lines in fast sequence, the first and the last are passed on. After the end, none is.
func TestThin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var shown []string
		pass, stop := Thin(func(line string) { shown = append(shown, line) })
		for i := range 1000 {
			pass(fmt.Sprint(i))
		}
		time.Sleep(time.Second)
		pass("later")
		pass("too late")
		stop()
		pass("after the end")
		time.Sleep(time.Second)
		if !slices.Equal(shown, []string{"0", "999", "later"}) {
			t.Errorf("shown: %q", shown)
		}
	})
}
