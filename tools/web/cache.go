package web

import (
	"container/list"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/webpage"
)

const (
	cacheAge   = 15 * time.Minute
	cacheBytes = 16 << 20
)

// pageCache remembers the pages that a session read recently. The zero value is ready; it is safe
// for concurrent use.
type pageCache struct {
	mu    sync.Mutex
	pages map[string]*list.Element
	used  list.List // of *cachedPage, the latest in front
	bytes int
}

type cachedPage struct {
	key  string
	page webpage.Page
	read time.Time
}

func (c *pageCache) get(key string) (webpage.Page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.pages[key]
	if e == nil {
		return webpage.Page{}, false
	}
	p := e.Value.(*cachedPage)
	if time.Since(p.read) > cacheAge {
		c.drop(e)
		return webpage.Page{}, false
	}
	c.used.MoveToFront(e)
	return p.page, true
}

func (c *pageCache) put(key string, p webpage.Page) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.pages[key]; e != nil {
		c.drop(e)
	}
	if c.pages == nil {
		c.pages = map[string]*list.Element{}
	}
	c.pages[key] = c.used.PushFront(&cachedPage{key, p, time.Now()})
	c.bytes += len(p.Text)
	for c.bytes > cacheBytes {
		c.drop(c.used.Back())
	}
}

func (c *pageCache) drop(e *list.Element) {
	p := c.used.Remove(e).(*cachedPage)
	delete(c.pages, p.key)
	c.bytes -= len(p.page.Text)
}
