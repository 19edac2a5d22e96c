package paths

import "testing"

// A pattern is judged like each protected name it matches.
func TestMatches(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"/ws/A*": true, "/ws/*.md": true, "/ws/.v*": true, "/ws/.V*": true, "/ws/[.]git": true, "/ws/.g?t": true, "/ws/.vs*/x": true,
		"/ws/a*": false, "/ws/?vscode": false, "/ws/*.go": false, "/ws/.vscode": false, "/ws/README*": false,
	} {
		if a := Matches(pattern); (a.Reason != "") != want || a.Settings != want {
			t.Errorf("%s: %+v", pattern, a)
		}
	}
}
