package models

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-ls/hermes-ls/agent/model/client"
	"github.com/hermes-ls/hermes-ls/config"
	"github.com/hermes-ls/hermes-ls/internal/filelock"
	"github.com/hermes-ls/hermes-ls/internal/safefile"
	"github.com/hermes-ls/hermes-ls/internal/userpath"
)

// Lists are the models that the configured providers list. A file of Home stores them for all
// servers, so that a session offers them without a request. It also has the models that the user
// has chosen.
type Lists struct {
	Home string
	Path userpath.Finder // the PATH of key commands; nil: the process's
	Log  *slog.Logger

	mu      sync.Mutex
	read    stamp
	content lists
	offered *offered
}

const (
	listsName  = "models.json"
	listsLimit = 4 << 20 // bytes; longer content loses its oldest lists
	listAge    = 24 * time.Hour
	mostUsed   = 20
)

// lists is the content of the file.
type lists struct {
	Version   int                     `json:"version"`
	Providers map[string]providerList `json:"providers"` // by listKey
	Used      []string                `json:"used,omitempty"`
}

// providerList is the list of a provider at an address.
type providerList struct {
	At     time.Time       `json:"at"`
	Models []client.Listed `json:"models"`
}

// listKey identifies the list of an endpoint. Another address has another list.
func listKey(e config.Endpoint) string { return e.Provider + " " + e.BaseURL }

// stamp identifies a version of the file.
type stamp struct {
	size  int64
	mtime time.Time
}

func (l *Lists) file() string { return filepath.Join(l.Home, listsName) }

// load returns the content of the file. It reads it only if it has changed. If there is no file, or
// if it is damaged, the content is empty. l.mu must be held.
func (l *Lists) load() lists {
	info, err := os.Stat(l.file())
	if err != nil {
		l.read, l.content = stamp{}, lists{}
		return l.content
	}
	if now := (stamp{info.Size(), info.ModTime()}); now != l.read {
		l.read, l.content = now, readLists(l.file(), l.Log)
	}
	return l.content
}

func readLists(path string, log *slog.Logger) (c lists) {
	data, err := safefile.Read(path, listsLimit)
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("the stored lists of models are not used", "file", path, "error", err)
		return lists{}
	}
	return c
}

// change changes the file.
func (l *Lists) change(ctx context.Context, edit func(*lists)) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	unlock, err := filelock.Lock(ctx, l.file()+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	c := readLists(l.file(), l.Log)
	edit(&c)
	c.Version = 1
	data, err := c.encode()
	if err != nil {
		return err
	}
	dir, err := safefile.OpenFolder(l.Home)
	if err != nil {
		return err
	}
	defer dir.Close() // only read
	return dir.Write(listsName, append(data, '\n'), 0o600)
}

// encode returns the content for the file. It leaves out the oldest lists until the rest is below the limit.
func (c lists) encode() ([]byte, error) {
	for {
		data, err := json.Marshal(c)
		if err != nil || len(data) < listsLimit || len(c.Providers) == 0 {
			return data, err
		}
		oldest := ""
		for key, list := range c.Providers {
			if oldest == "" || list.At.Before(c.Providers[oldest].At) {
				oldest = key
			}
		}
		delete(c.Providers, oldest)
	}
}

// Use records that the user has chosen a model.
func (l *Lists) Use(ctx context.Context, name string) {
	l.mu.Lock()
	used := l.load().Used
	l.mu.Unlock()
	if len(used) > 0 && used[0] == name {
		return
	}
	err := l.change(ctx, func(c *lists) {
		c.Used = append([]string{name}, slices.DeleteFunc(c.Used, func(n string) bool { return n == name })...)
		c.Used = c.Used[:min(len(c.Used), mostUsed)]
	})
	if err != nil {
		l.Log.Warn("the chosen model is not listed first", "model", name, "error", err)
	}
}

// Known returns the stored list of an endpoint. If there is none, or if it is older than a day, it
// returns nil.
func (l *Lists) Known(e config.Endpoint) []client.Listed {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.load().known(e)
}

func (c lists) known(e config.Endpoint) []client.Listed {
	list, ok := c.Providers[listKey(e)]
	if age := time.Since(list.At); !ok || age > listAge || age < -listAge {
		return nil
	}
	return list.Models
}

// Fetch requests the models of a provider and stores them.
func (l *Lists) Fetch(ctx context.Context, conf *config.Loaded, provider string) (e config.Endpoint, listed []client.Listed, err error) {
	if e, err = conf.ProviderEndpoint(provider, ""); err != nil {
		return e, nil, err
	}
	if listed, err = client.List(ctx, Endpoint(e, l.Path, l.Log)); err != nil {
		return e, nil, err
	}
	stored := l.change(ctx, func(c *lists) {
		if c.Providers == nil {
			c.Providers = map[string]providerList{}
		}
		for key, list := range c.Providers {
			if time.Since(list.At) > listAge {
				delete(c.Providers, key)
			}
		}
		c.Providers[listKey(e)] = providerList{time.Now(), listed}
	})
	if stored != nil {
		l.Log.Warn("the list of models is not stored", "provider", provider, "error", stored)
	}
	return e, listed, nil
}

// ListError is a provider whose models could not be listed.
type ListError struct {
	Provider string
	Err      error
}

// Refresh requests the models of all configured providers at once and stores them. A stored list
// stays if its provider fails.
func (l *Lists) Refresh(ctx context.Context, conf *config.Loaded) (failed []ListError) {
	names := slices.DeleteFunc(conf.Configured(), func(name string) bool { return name == "embedded" })
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() { _, _, errs[i] = l.Fetch(ctx, conf, name) })
	}
	all.Wait()
	for i, name := range names {
		if errs[i] != nil {
			failed = append(failed, ListError{name, errs[i]})
		}
	}
	return failed
}

// Offer is a model that a session can choose. An unknown fact is 0 or nil.
type Offer struct {
	Name       string // PROVIDER/MODEL
	Window     int    // tokens
	Configured bool   // the window is from config.yaml
	Price      *config.Price
	Images     bool // the model is known to accept pictures
	Used       bool // the user has configured or chosen it
}

// Serves reports whether name is PROVIDER/MODEL of a configured provider, which may have the model.
func Serves(conf *config.Loaded, name string) bool {
	provider, id, _ := strings.Cut(name, "/")
	return id != "" && provider != "embedded" && slices.Contains(conf.Configured(), provider)
}

// offered are the offers for a configuration.
type offered struct {
	conf   *config.Loaded
	read   stamp
	offers []Offer
}

// Offers returns the models that a session can choose: the configured model and its fallbacks, the
// models that the user has chosen before, the lists of the providers, and the models under providers.
// It sends no request.
func (l *Lists) Offers(conf *config.Loaded) []Offer {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.load()
	if o := l.offered; o == nil || o.conf != conf || o.read != l.read {
		l.offered = &offered{conf, l.read, offersOf(conf, c)}
	}
	return slices.Clone(l.offered.offers)
}

func offersOf(conf *config.Loaded, c lists) []Offer {
	own := conf.ModelNames()
	first := own[:1:1]
	if all, err := conf.Endpoints(); err == nil {
		for _, e := range all {
			first = append(first, e.Name())
		}
	}
	listed, facts := []string{}, map[string]client.Listed{}
	providers := conf.Configured()
	for _, provider := range providers {
		e, err := conf.ProviderEndpoint(provider, "")
		if err != nil || provider == "embedded" {
			continue
		}
		for _, m := range c.known(e) {
			name := provider + "/" + m.ID
			listed, facts[name] = append(listed, name), m
		}
	}
	used := slices.DeleteFunc(slices.Clone(c.Used), func(name string) bool {
		provider, _, _ := strings.Cut(name, "/")
		return !slices.Contains(own, name) && !slices.Contains(providers, provider)
	})
	var out []Offer
	seen := map[string]bool{}
	for i, names := range [][]string{first, used, listed, own} {
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				out = append(out, offerOf(conf, name, facts[name], i < 2))
			}
		}
	}
	return out
}

// offerOf joins the facts about a model. config.yaml takes precedence over the provider's list, and
// the list over the program's table.
func offerOf(conf *config.Loaded, name string, listed client.Listed, used bool) Offer {
	e := conf.Facts(name)
	out := Offer{Name: name, Used: used, Window: e.Window, Configured: e.Window > 0, Price: e.Price}
	for _, window := range []int{listed.Window, e.Table.Window} {
		if out.Window == 0 {
			out.Window = window
		}
	}
	if p := listed.Price; out.Price == nil && p != nil {
		out.Price = &config.Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	}
	if p := e.Table.Price; out.Price == nil && p != nil {
		out.Price = &config.Price{Input: p.Input, Output: p.Output, CacheRead: p.CacheRead, CacheWrite: p.CacheWrite}
	}
	for _, images := range []*bool{e.Images, listed.Images, e.Table.Images} {
		if images != nil {
			out.Images = *images
			break
		}
	}
	return out
}
