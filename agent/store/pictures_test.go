package store

import (
	"path/filepath"
	"testing"
	"time"
)

// TestRejections checks a rejection: it applies for 30 days, to an endpoint and a model.
func TestRejections(t *testing.T) {
	t.Parallel()
	s := New(filepath.Join(t.TempDir(), FileName), Options{})
	defer s.Close()
	if err := s.RejectPictures(t.Context(), "https://a", "m"); err != nil {
		t.Fatal(err)
	}
	check := func(when, endpoint, id string, want bool) {
		t.Helper()
		if got, err := s.RejectsPictures(t.Context(), endpoint, id); err != nil || got != want {
			t.Errorf("%s: %s, %s: %v, %v", when, endpoint, id, got, err)
		}
	}
	check("at once", "https://a", "m", true)
	check("at once", "https://a", "other", false)
	check("at once", "https://b", "m", false)
	set := func(at time.Time) {
		t.Helper()
		if _, err := s.open.writer.Exec("UPDATE rejections SET at = ?", at.UnixMicro()); err != nil {
			t.Fatal(err)
		}
	}
	set(time.Now().Add(-29 * 24 * time.Hour))
	check("after 29 days", "https://a", "m", true)
	set(time.Now().Add(-31 * 24 * time.Hour))
	check("after 31 days", "https://a", "m", false)
	if err := s.RejectPictures(t.Context(), "https://a", "m"); err != nil {
		t.Fatal(err)
	}
	check("again", "https://a", "m", true)
}
