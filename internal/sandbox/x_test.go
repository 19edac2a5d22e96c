package sandbox

import (
	"github.com/hermes-ls/hermes-ls/internal/proc"
	"os"
	"testing"
	"time"
)

func TestMain(m *testing.M) { proc.Supervise(); os.Exit(m.Run()) }
func TestX(t *testing.T) {
	for _, m := range candidates() {
		s := time.Now()
		err := m.Try(t.Context())
		t.Log(m, err, time.Since(s))
	}
}
