//go:build linux || darwin

package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
)

func TestARunNeedsSpace(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "not", "made", "yet")
	if err := checkSpace(1, dir, missing); err != nil {
		t.Error(err)
	}
	err := checkSpace(math.MaxUint64, missing)
	if err == nil || !strings.HasPrefix(err.Error(), dir+" has ") || !strings.Contains(err.Error(), "nothing was run") {
		t.Errorf("without space: %v", err)
	}
}
