package servertest_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hermes-ls/hermes-ls/agent/model/fakemodel"
	"github.com/hermes-ls/hermes-ls/server/servertest"
)

func says(text string) func(*fakemodel.Exchange) {
	return func(x *fakemodel.Exchange) { x.Text(text) }
}

func calls(name, args string) func(*fakemodel.Exchange) {
	return func(x *fakemodel.Exchange) { x.Call("c1", name, args) }
}

func TestHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := servertest.New(t, servertest.Options{Model: fakemodel.Script(says("Hello, "))})
		got := e.Ask("hi")
		if *got.Text != "Hello, " || got.StopReason != "end_turn" || got.SessionID == "" {
			t.Errorf("answer %+v", got)
		}
		if _, err := e.Call("shutdown", nil); err != nil {
			t.Fatal(err)
		}
		e.Notify("exit", nil)
		if code := e.Wait(); code != 0 {
			t.Errorf("exit code %d after a shutdown", code)
		}
	})
}

var _ = json.Valid
var _ = strings.Contains
