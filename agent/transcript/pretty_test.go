package transcript

import "testing"

// TestPrettyKeepsCharacters checks arguments: they are shown as the model wrote them.
func TestPrettyKeepsCharacters(t *testing.T) {
	t.Parallel()
	if got, want := pretty([]byte(`{"command":"a && b <c> d"}`)), "{\n  \"command\": \"a && b <c> d\"\n}"; got != want {
		t.Errorf("pretty = %s, want %s", got, want)
	}
}
