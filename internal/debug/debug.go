// Package debug serves debug pages of a running server over HTTP on a Unix socket: open calls,
// counters, goroutines, profiles, and pages added by its caller. Pages never show texts of a
// session.
//
//	listener, err := debug.Listen(path)
//	s := debug.Serve(listener, version, meter)
//	s.Handle(debug.Page{Path: "/sessions", About: "the open sessions", Write: write})
//	defer s.Close()
//
// Only processes of the same user outside of the sandbox can connect. There is no port.
package debug

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// Page is a page in plain text.
type Page struct {
	Path  string // such as "/sessions"
	About string // for the index
	Write func(w io.Writer)
}

// Server serves the pages.
type Server struct {
	http    *http.Server
	close   func()
	done    chan struct{}
	started time.Time
	version string

	mu    sync.Mutex
	pages []Page
}

// Serve serves the pages of the process and of the meter until [Server.Close].
func Serve(l *Listener, version string, m *Meter) *Server {
	s := &Server{done: make(chan struct{}), started: time.Now(), version: version, close: l.remove}
	s.Handle(
		Page{"/calls", "open calls: requests in both directions, tool calls, model requests, subagents", m.writeCalls},
		Page{"/counters", "counters since the start, and the memory", func(w io.Writer) { s.writeCounters(w, m) }},
		Page{"/goroutines", "goroutines, grouped by what they do; /debug/pprof/goroutine?debug=2 has each", writeGoroutines},
	)
	s.http = &http.Server{Handler: http.HandlerFunc(s.answer), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(trusted{l.Listener}) // ends with Close
	}()
	return s
}

// Handle adds pages.
func (s *Server) Handle(pages ...Page) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = append(s.pages, pages...)
}

// Close ends the server and removes its socket.
func (s *Server) Close() {
	_ = s.http.Close() // nothing of value is lost
	<-s.done
	s.close()
}

func (s *Server) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, "only GET is understood", http.StatusMethodNotAllowed)
		return
	}
	if name, ok := strings.CutPrefix(r.URL.Path, "/debug/pprof/"); ok {
		profile(w, r, name)
		return
	}
	s.mu.Lock()
	pages := slices.Clone(s.pages)
	s.mu.Unlock()
	if r.URL.Path == "/" {
		s.index(w, pages)
		return
	}
	i := slices.IndexFunc(pages, func(p Page) bool { return p.Path == r.URL.Path })
	if i < 0 {
		http.Error(w, "there is no page "+fmt.Sprintf("%q", r.URL.Path)+"; / lists them", http.StatusNotFound)
		return
	}
	pages[i].Write(w)
}

func (s *Server) index(w io.Writer, pages []Page) {
	fmt.Fprintf(w, "hermes-ls %s, process %d, running for %s. No page shows texts of a session.\n\n",
		s.version, os.Getpid(), time.Since(s.started).Round(time.Second))
	slices.SortFunc(pages, func(a, b Page) int { return strings.Compare(a.Path, b.Path) })
	for _, p := range pages {
		fmt.Fprintf(w, "%-14s %s\n", p.Path, p.About)
	}
	fmt.Fprintf(w, "%-14s %s\n", "/debug/pprof/", "profiles for `go tool pprof`; this page lists them")
}

func (s *Server) writeCounters(w io.Writer, m *Meter) {
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	fmt.Fprintf(w, "running for        %s\n", time.Since(s.started).Round(time.Millisecond))
	fmt.Fprintf(w, "goroutines         %d\n", runtime.NumGoroutine())
	fmt.Fprintf(w, "heap               %d KB in use, %d KB from the system\n", mem.HeapInuse>>10, mem.Sys>>10)
	fmt.Fprintf(w, "allocated          %d KB in %d objects\n", mem.TotalAlloc>>10, mem.Mallocs)
	fmt.Fprintf(w, "garbage collection %d times, %s of pauses\n\n", mem.NumGC, time.Duration(mem.PauseTotalNs))
	m.writeCounters(w)
}

// Listener is a debug socket.
type Listener struct {
	net.Listener
	remove func()
}
