package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model"
	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/memhttp"
	"github.com/hermes-ls/hermes-ls/agent/model/internal/modeltest"
	"github.com/hermes-ls/hermes-ls/agent/model/openai"
)

func ofSession(id string) *model.Request {
	r := hello()
	r.SessionID = id
	return r
}

func pool(keys ...string) func(*client.Config) {
	return func(c *client.Config) { c.Endpoints[0].Keys = keys }
}

// TestSessionKeepsItsKey checks each strategy of a pool. A session keeps its key while the key
// works.
func TestSessionKeepsItsKey(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[string]string{
		"": "a a a a a", client.FillFirst: "a a a a a", client.RoundRobin: "a b a c a", client.LeastUsed: "a b a c a",
	} {
		virtual(t, "strategy "+strategy, func(t *testing.T) {
			rec := &modeltest.Recorder{}
			m := inMemory(rec.ServeHTTP, pool("a", "b", "c"), func(c *client.Config) { c.Endpoints[0].Pool = strategy })
			for _, session := range []string{"one", "two", "one", "three", "one"} {
				if _, _, err := modeltest.Ask(t.Context(), m, ofSession(session)); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Join(rec.Keys, " "); got != want {
				t.Errorf("keys %s, want %s", got, want)
			}
		})
	}
	virtual(t, "a limited key", func(t *testing.T) {
		rec := &modeltest.Recorder{}
		limited := true
		rec.Answer = func(n int, _ []byte, w http.ResponseWriter) {
			if limited && rec.Keys[n-1] == "a" {
				w.Header().Set("Retry-After", "20")
				status(429, w)
				return
			}
			io.WriteString(w, modeltest.Fine)
		}
		m := inMemory(rec.ServeHTTP, pool("a", "b"))
		ask := func(session string) {
			t.Helper()
			if _, notices, err := modeltest.Ask(t.Context(), m, ofSession(session)); err != nil || notices != nil {
				t.Fatal(notices, err)
			}
		}
		ask("one") // a is limited; the session continues with b
		limited = false
		ask("two") // a rests
		time.Sleep(21 * time.Second)
		ask("three") // a may be used again
		ask("one")   // keeps b
		if got := strings.Join(rec.Keys, " "); got != "a b b a b" {
			t.Errorf("keys %s", got)
		}
	})
}

// TestKeyCooldown limits a key without naming a time. If there are others, it is not used
// during the cooldown. An account without credit is not used again at once.
func TestKeyCooldown(t *testing.T) {
	t.Parallel()
	for code, rest := range map[int]time.Duration{429: 60 * time.Second, 402: time.Hour} {
		virtual(t, fmt.Sprint(code), func(t *testing.T) {
			rec := &modeltest.Recorder{}
			rec.Answer = func(n int, _ []byte, w http.ResponseWriter) {
				if n == 1 {
					status(code, w)
					return
				}
				io.WriteString(w, modeltest.Fine)
			}
			m := inMemory(rec.ServeHTTP, pool("a", "b"))
			for range 2 {
				if _, _, err := modeltest.Ask(t.Context(), m, hello()); err != nil {
					t.Fatal(err)
				}
				time.Sleep(rest - time.Second)
			}
			time.Sleep(2 * time.Second)
			if _, _, err := modeltest.Ask(t.Context(), m, hello()); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(rec.Keys, " "); got != "a b b a" {
				t.Errorf("keys %s", got)
			}
		})
	}
}

// TestRefusedKeyIsNotUsedAgain refuses a key. It is not sent again until it changes, not even
// for another model of the process.
func TestRefusedKeyIsNotUsedAgain(t *testing.T) {
	t.Parallel()
	virtual(t, "one key", func(t *testing.T) {
		rec := &modeltest.Recorder{}
		rec.Answer = func(n int, _ []byte, w http.ResponseWriter) {
			if rec.Keys[n-1] == "bad-key" {
				status(401, w)
				return
			}
			io.WriteString(w, modeltest.Fine)
		}
		shared := new(client.Keys)
		with := func(key string) *client.Model {
			return inMemory(rec.ServeHTTP, pool(key), func(c *client.Config) { c.Keys = shared })
		}
		for range 2 {
			_, _, err := modeltest.Ask(t.Context(), with("bad-key"), hello())
			modeltest.CheckError(t, err, model.ErrAuth, "status 401")
		}
		if _, _, err := modeltest.Ask(t.Context(), with("new-key"), hello()); err != nil {
			t.Error(err)
		}
		if got := strings.Join(rec.Keys, " "); got != "bad-key new-key" {
			t.Errorf("keys %s", got)
		}
	})
}

func inTurn(turn string, background bool) *model.Request {
	r := hello()
	r.SessionID, r.Turn, r.Background = "s", turn, background
	return r
}

// TestRefusedKeyIsTriedAgain checks refused keys and keys with a long limit. The user's next
// prompt tries them again. Other requests wait: for a minute after a refusal, for the end of a
// limit.
func TestRefusedKeyIsTriedAgain(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse func(w http.ResponseWriter)
		kind   model.ErrorKind
		rest   time.Duration
	}{
		"401": {func(w http.ResponseWriter) { status(401, w) }, model.ErrAuth, time.Minute},
		"403": {func(w http.ResponseWriter) { status(403, w) }, model.ErrAuth, time.Minute},
		"429 for an hour": {func(w http.ResponseWriter) {
			w.Header().Set("Retry-After", "3600")
			status(429, w)
		}, model.ErrBusy, time.Hour},
	} {
		virtual(t, name, func(t *testing.T) {
			broken, asked := true, 0
			m := inMemory(func(w http.ResponseWriter, _ *http.Request) {
				if asked++; broken {
					c.refuse(w)
					return
				}
				io.WriteString(w, modeltest.Fine)
			})
			fails := func(req *model.Request, want int) {
				t.Helper()
				_, _, err := modeltest.Ask(t.Context(), m, req)
				modeltest.CheckError(t, err, c.kind, "")
				if asked != want {
					t.Errorf("asked %d times, want %d", asked, want)
				}
			}
			fails(inTurn("one", false), 1)
			fails(inTurn("one", false), 1)  // the same prompt
			fails(inTurn("child", true), 1) // no prompt of the user
			fails(inTurn("two", false), 2)  // the next prompt
			fails(inTurn("two", false), 2)
			time.Sleep(c.rest + time.Second)
			fails(inTurn("child", true), 3)
			broken = false
			if _, _, err := modeltest.Ask(t.Context(), m, inTurn("three", false)); err != nil || asked != 4 {
				t.Errorf("%v, asked %d times", err, asked)
			}
			if _, _, err := modeltest.Ask(t.Context(), m, inTurn("child", true)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPoolWaitsForTheFirstKey limits all keys of a pool. It waits up to a minute for the first
// usable key, with a notice. Keys without a named end do not shorten or end the wait.
func TestPoolWaitsForTheFirstKey(t *testing.T) {
	t.Parallel()
	for _, limits := range [][2]int{{40, 50}, {40, 80}, {80, 40}, {40, 0}, {0, 40}} {
		virtual(t, fmt.Sprint(limits), func(t *testing.T) {
			began := time.Now()
			rec := &modeltest.Recorder{}
			rec.Answer = func(n int, _ []byte, w http.ResponseWriter) {
				seconds := limits[slices.Index([]string{"a", "b"}, rec.Keys[n-1])]
				switch rest := time.Duration(seconds)*time.Second - time.Since(began); {
				case seconds == 0:
					status(429, w)
				case rest > 0:
					w.Header().Set("Retry-After", fmt.Sprint(rest.Seconds()))
					status(429, w)
				default:
					io.WriteString(w, modeltest.Fine)
				}
			}
			m := inMemory(rec.ServeHTTP, pool("a", "b"), as("one"))
			_, notices, err := modeltest.Ask(t.Context(), m, inTurn("t", false))
			if d := time.Since(began); err != nil || d != 40*time.Second || len(rec.Keys) != 3 {
				t.Errorf("%v after %v, keys %s", err, d, rec.Keys)
			}
			if want := "every key of one is rate limited (429); trying again in 40 s"; len(notices) != 1 || !strings.Contains(notices[0], want) {
				t.Errorf("notices %q", notices)
			}
		})
	}
}

// TestEveryKeyIsLimited checks the error if all keys of a pool are limited. No request is sent
// while the limits are long.
func TestEveryKeyIsLimited(t *testing.T) {
	t.Parallel()
	virtual(t, "named", func(t *testing.T) {
		rec := &modeltest.Recorder{Answer: func(n int, _ []byte, w http.ResponseWriter) {
			w.Header().Set("Retry-After", map[int]string{1: "300", 2: "98"}[n])
			status(429, w)
		}}
		m := inMemory(rec.ServeHTTP, pool("sk-secret-one", "sk-secret-two"), as("openrouter"))
		for range 2 {
			_, notices, err := modeltest.Ask(t.Context(), m, hello())
			e := modeltest.CheckError(t, err, model.ErrBusy, "")
			if e.RetryAfter == 0 || notices != nil || !strings.Contains(err.Error(), "every key of openrouter is rate limited (429); the first is free in 98 seconds") {
				t.Errorf("notices %q, error %v", notices, err)
			}
		}
		if len(rec.Keys) != 2 {
			t.Errorf("keys %q", rec.Keys)
		}
	})
	virtual(t, "another session waits for the time that was named", func(t *testing.T) {
		rec := &modeltest.Recorder{Answer: func(n int, _ []byte, w http.ResponseWriter) {
			if n == 1 {
				w.Header().Set("Retry-After", "30")
				status(429, w)
				return
			}
			io.WriteString(w, modeltest.Fine)
		}}
		m := inMemory(rec.ServeHTTP)
		began := time.Now()
		var both sync.WaitGroup
		for i := range 2 {
			both.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				if _, notices, err := modeltest.Ask(t.Context(), m, ofSession(fmt.Sprint(i))); err != nil || len(notices) != 1 {
					t.Error(notices, err)
				}
			})
		}
		both.Wait()
		if d := time.Since(began); d != 30*time.Second || len(rec.Keys) != 3 {
			t.Errorf("%d requests in %v", len(rec.Keys), d)
		}
	})
}

func as(provider string) func(*client.Config) {
	return func(c *client.Config) { c.Endpoints[0].Provider = provider }
}

// TestConcurrent checks the limit of concurrent requests for a key. The user's requests go
// first, and a canceled request frees its slot.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		m := inMemory(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(10 * time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			io.WriteString(w, modeltest.Fine)
		}, func(c *client.Config) { c.Endpoints[0].MaxConcurrent = 2 })
		var ended []string
		var all sync.WaitGroup
		ask := func(ctx context.Context, name string, background bool) {
			all.Go(func() {
				req := ofSession(name)
				req.Background = background
				_, _, err := modeltest.Ask(ctx, m, req)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					ended = append(ended, name)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		ask(t.Context(), "child 1", true)
		ask(t.Context(), "child 2", true)
		ask(short, "cancelled", false)
		ask(t.Context(), "child 3", true)
		ask(t.Context(), "child 4", true)
		ask(t.Context(), "user 1", false)
		ask(t.Context(), "user 2", false)
		all.Wait()
		slices.Sort(ended[0:2])
		slices.Sort(ended[2:4])
		slices.Sort(ended[4:6])
		if want := []string{"child 1", "child 2", "user 1", "user 2", "child 3", "child 4"}; !reflect.DeepEqual(ended, want) || most != 2 {
			t.Errorf("%q, at most %d at once", ended, most)
		}
	})
}

// TestKeyCommand checks when the command runs: once in 30 minutes, and again after 401.
func TestKeyCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := &modeltest.Recorder{}
		good := "token-0001"
		rec.Answer = func(n int, _ []byte, w http.ResponseWriter) {
			if rec.Keys[n-1] != good {
				w.WriteHeader(401)
				fmt.Fprintf(w, `{"error":{"message":"bad token %s"}}`, rec.Keys[n-1])
				return
			}
			io.WriteString(w, modeltest.Fine)
		}
		runs := 0
		m := inMemory(rec.ServeHTTP, pool(), func(c *client.Config) {
			c.Endpoints[0].Command = func(context.Context) (string, error) {
				runs++
				if runs == 5 {
					return "", errors.New("no login")
				}
				return fmt.Sprintf(" token-%04d\n", runs), nil
			}
		})
		ask := func(want int) {
			t.Helper()
			if _, _, err := modeltest.Ask(t.Context(), m, hello()); err != nil || runs != want {
				t.Errorf("%d runs, want %d: %v", runs, want, err)
			}
		}
		ask(1)
		ask(1)
		good = "token-0002"
		ask(2) // after 401
		good = "token-0003"
		time.Sleep(31 * time.Minute)
		ask(3)
		good = "never"
		_, _, err := modeltest.Ask(t.Context(), m, hello()) // token-4 is refused, too
		if e := modeltest.CheckError(t, err, model.ErrAuth, "[key]"); strings.Contains(e.Message, "token-") {
			t.Error(e)
		}
		_, _, err = modeltest.Ask(t.Context(), m, hello())
		if err == nil {
			t.Error("a refused token was used")
		}
	})
}

// TestKeyStaysAtItsHost checks the keys and headers of requests. Each endpoint gets only its
// own.
func TestKeyStaysAtItsHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []string
		serve := func(code int) http.RoundTripper {
			return memhttp.Transport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r.Host+" "+r.Header.Get("Authorization")+" "+r.Header.Get("X-Team"))
				if code != 200 {
					status(code, w)
					return
				}
				io.WriteString(w, modeltest.Fine)
			}))
		}
		m := client.New(client.Config{Endpoints: []client.Endpoint{
			{API: openai.API{}, Provider: "one", BaseURL: "http://one.test", Model: "a", Keys: []string{"k1"}, Headers: map[string]string{"X-Team": "t1"}, Transport: serve(401)},
			{API: openai.API{}, Provider: "two", BaseURL: "http://two.test", Model: "b", Keys: []string{"k2"}, Transport: serve(200)},
		}})
		if _, _, err := modeltest.Ask(t.Context(), m, hello()); err != nil {
			t.Fatal(err)
		}
		if want := []string{"one.test Bearer k1 t1", "two.test Bearer k2 "}; !reflect.DeepEqual(got, want) {
			t.Errorf("%q", got)
		}
	})
}
