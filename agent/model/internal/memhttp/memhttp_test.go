package memhttp_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/internal/memhttp"
)

// TestTransport runs in a bubble: a leaked connection or goroutine would fail the test.
func TestTransport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := http.Client{Transport: memhttp.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			time.Sleep(time.Minute)
			fmt.Fprintf(w, "%s %s", r.Host, body)
		}))}
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				host := fmt.Sprintf("host%d.test", i)
				resp, err := client.Post("http://"+host+"/x", "text/plain", strings.NewReader("hi"))
				if err != nil {
					t.Error(err)
					return
				}
				defer resp.Body.Close()
				if got, err := io.ReadAll(resp.Body); err != nil || string(got) != host+" hi" {
					t.Errorf("%s answered %q, %v", host, got, err)
				}
			})
		}
		all.Wait()
	})
}
