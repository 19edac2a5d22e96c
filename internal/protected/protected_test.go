package protected

import "testing"

func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	kinds := map[string]int{}
	for _, n := range Names() {
		if key := n.Kind + " " + n.Text; n.Text == "" || seen[key] {
			t.Errorf("%q stands twice or is empty", key)
		} else {
			seen[key] = true
		}
		if (n.Reason == "") != (n.Kind == "sandbox") {
			t.Errorf("%s: reason %q", n.Text, n.Reason)
		}
		if n.Kind == "sandbox" && !n.Runs && !n.Reviewed {
			t.Errorf("%s: nothing protects it", n.Text)
		}
		kinds[n.Kind]++
	}
	for kind, least := range map[string]int{"folder": 15, "path": 90, "ending": 4, "sandbox": 5} {
		if kinds[kind] < least {
			t.Errorf("only %d names of the kind %q", kinds[kind], kind)
		}
	}
}
