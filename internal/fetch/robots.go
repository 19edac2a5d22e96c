package fetch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/temoto/robotstxt"
)

const (
	robotsLimit = 500 << 10        // bytes, as RFC 9309 has it
	robotsTime  = 10 * time.Second // after it, the site has no rules
	robotsAge   = time.Hour        // then it is asked again
	longestGap  = 10 * time.Second // limit of a site's Crawl-delay
)

// rules are the rules of a site's robots.txt for this client; zero: everything is allowed.
type rules struct{ group *robotstxt.Group }

func (r rules) allows(u *url.URL) bool {
	if r.group == nil {
		return true
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if u.RawQuery != "" {
		path += "?" + u.RawQuery
	}
	return r.group.Test(path)
}

func (r rules) delay() time.Duration {
	if r.group == nil {
		return 0
	}
	return min(r.group.CrawlDelay, longestGap)
}

// robots remembers the rules of each site.
type robots struct {
	read func(ctx context.Context, site *url.URL) (rules, error)

	mu    sync.Mutex
	sites map[string]*site
}

type site struct {
	mu    chan struct{} // capacity 1; held by the call that reads or checks the rules
	rules rules
	until time.Time
}

// of returns the rules of u's site. An error is ctx's.
func (r *robots) of(ctx context.Context, u *url.URL) (rules, error) {
	root := &url.URL{Scheme: u.Scheme, Host: u.Host}
	r.mu.Lock()
	if r.sites == nil {
		r.sites = map[string]*site{}
	}
	s := r.sites[root.String()]
	if s == nil {
		s = &site{mu: make(chan struct{}, 1)}
		r.sites[root.String()] = s
	}
	r.mu.Unlock()
	select {
	case s.mu <- struct{}{}:
		defer func() { <-s.mu }()
	case <-ctx.Done():
		return rules{}, ctx.Err()
	}
	if time.Now().Before(s.until) {
		return s.rules, nil
	}
	fresh, err := r.read(ctx, root)
	if err != nil {
		return rules{}, err
	}
	s.rules, s.until = fresh, time.Now().Add(robotsAge)
	return fresh, nil
}

// readRobots requests the rules of a site. If it has none, or does not answer, reading is
// allowed; the request for the page reports the error.
func (c *Client) readRobots(ctx context.Context, site *url.URL) (rules, error) {
	limited, stop := context.WithTimeout(ctx, robotsTime)
	defer stop()
	at := site.JoinPath("/robots.txt")
	for range redirectLimit {
		r, err := c.send(limited, at, "text/plain,*/*;q=0.1")
		if err != nil {
			return rules{}, ctx.Err()
		}
		text, err := io.ReadAll(io.LimitReader(r.Body, robotsLimit))
		r.Body.Close() // nothing is lost
		if next, moved := redirect(r, at); moved {
			if at = next; check(at) != nil {
				return rules{}, nil
			}
			continue
		}
		if err != nil || r.StatusCode != http.StatusOK {
			return rules{}, ctx.Err()
		}
		data, err := robotstxt.FromBytes(boundedRules(text))
		if err != nil {
			return rules{}, nil // rules of this size cannot be followed
		}
		return rules{data.FindGroup(Agent)}, nil
	}
	return rules{}, nil
}

// Rules with wildcards become regular expressions, which are slow if they are long.
const (
	mostWildcards = 8        // in a single rule
	wildcardBytes = 16 << 10 // of all rules with wildcards
)

// boundedRules returns a robots.txt whose rules match any address within milliseconds. A Disallow
// with too many wildcards is cut before the first excess wildcard, so it excludes more. An Allow
// with too many is dropped, and so are all rules with wildcards after the first wildcardBytes.
func boundedRules(text []byte) []byte {
	var kept []byte
	room := wildcardBytes
	for line := range bytes.Lines(text) {
		if bytes.Count(line, []byte("*")) > mostWildcards {
			if line = withoutWildcards(line); !bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(line)), []byte("disallow")) {
				continue
			}
		}
		if bytes.ContainsAny(line, "*$") && !bytes.HasPrefix(bytes.ToLower(bytes.TrimSpace(line)), []byte("user-agent")) {
			if room -= len(line); room < 0 {
				continue
			}
		}
		kept = append(kept, line...)
	}
	return kept
}

// withoutWildcards cuts a line before the first excess wildcard.
func withoutWildcards(line []byte) []byte {
	seen := 0
	end := bytes.IndexFunc(line, func(r rune) bool {
		if r == '*' {
			seen++
		}
		return seen > mostWildcards
	})
	return append(bytes.Clone(line[:end]), '\n')
}

func redirect(r *http.Response, from *url.URL) (*url.URL, bool) {
	if r.StatusCode < 300 || r.StatusCode >= 400 {
		return nil, false
	}
	next, err := from.Parse(r.Header.Get("Location"))
	return next, err == nil && r.Header.Get("Location") != ""
}
