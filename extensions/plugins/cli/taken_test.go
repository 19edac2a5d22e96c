package cli

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/extensions/plugins"
)

// A plugin's tool with the name of our tool is an error, unless permissions.override lists it.
func TestTaken(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for name, c := range map[string]struct {
		override []string
		want     string
	}{
		"read_file":  {nil, "has the name of a tool of hermes-ls"},
		"terminal":   {[]string{"read_file"}, "has the name of a tool of hermes-ls"},
		"web_search": {[]string{"web_search"}, ""},
		"own_tool":   {nil, ""},
	} {
		var offer plugins.Offer
		offer.Tools = append(offer.Tools, plugins.ToolOffer{Name: name})
		err := taken(home, plugins.Settings{}, plugins.Plugin{Name: "p", Permissions: plugins.Permissions{Override: c.override}}, offer)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Before the question, the user reads the reach of a plugin's hooks, which no permission limits.
func TestDescribeTellsTheReachOfHooks(t *testing.T) {
	t.Parallel()
	for hooks, want := range map[string]string{
		"pre_tool_call":                       "whatever its permissions are: the arguments of each call, such as the text of a file that is written\n",
		"Stop,post_tool_call,after-tool-call": "whatever its permissions are: each result that the model reads; the answers\n",
		"on_session_start":                    "",
	} {
		var out strings.Builder
		describe(&out, plugins.Plugin{Name: "p", Hooks: strings.Split(hooks, ",")})
		if got := out.String(); !strings.Contains(got, want) || strings.Contains(got, "can change") != (want != "") {
			t.Errorf("%s: %s", hooks, got)
		}
	}
	if got := undeclared([]string{"a", "b"}, []string{"b"}); len(got) != 1 || got[0] != "a" {
		t.Errorf("undeclared: %q", got)
	}
}
