package plugincmd

import (
	"strings"
	"testing"

	"github.com/hermes-ls/hermes-ls/extensions/plugins"
)

// A tool with the name of one of ours is an error, unless permissions.override lists it.
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
