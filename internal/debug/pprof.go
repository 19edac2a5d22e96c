package debug

import (
	"fmt"
	"io"
	"net/http"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"time"
)

// The package net/http/pprof registers itself in http.DefaultServeMux, and it shows the
// command line, which can hold a prompt. So the profiles are served here.

const longestProfile = 10 * time.Minute

func writeGoroutines(w io.Writer) { _ = pprof.Lookup("goroutine").WriteTo(w, 1) }

// profile serves /debug/pprof/NAME.
func profile(w http.ResponseWriter, r *http.Request, name string) {
	seconds := 30 * time.Second
	if text := r.FormValue("seconds"); text != "" {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || n <= 0 || n > longestProfile.Seconds() {
			http.Error(w, "seconds must be a number up to 600", http.StatusBadRequest)
			return
		}
		seconds = time.Duration(n * float64(time.Second))
	}
	switch name {
	case "":
		listProfiles(w)
	case "profile":
		during(w, r, seconds, pprof.StartCPUProfile, pprof.StopCPUProfile)
	case "trace":
		during(w, r, seconds, trace.Start, trace.Stop)
	default:
		p := pprof.Lookup(name)
		if p == nil {
			http.Error(w, "there is no such profile; /debug/pprof/ lists them", http.StatusNotFound)
			return
		}
		debug, _ := strconv.Atoi(r.FormValue("debug")) // else 0: for go tool pprof
		if debug == 0 {
			w.Header().Set("Content-Type", "application/octet-stream")
		}
		_ = p.WriteTo(w, debug) // the reader has gone
	}
}

func listProfiles(w io.Writer) {
	fmt.Fprintln(w, "curl --unix-socket SOCKET 'http://hermes/debug/pprof/heap' -o heap && go tool pprof heap")
	fmt.Fprintln(w)
	fmt.Fprintf(w, "%-14s %s\n", "profile", "CPU, for ?seconds=30")
	fmt.Fprintf(w, "%-14s %s\n", "trace", "execution trace for `go tool trace`, for ?seconds=30")
	for _, p := range pprof.Profiles() {
		fmt.Fprintf(w, "%-14s %d entries; ?debug=1 shows them as text\n", p.Name(), p.Count())
	}
}

// during records for a time, or until the reader has gone.
func during(w http.ResponseWriter, r *http.Request, d time.Duration, start func(io.Writer) error, stop func()) {
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := start(w); err != nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		http.Error(w, "cannot record: "+err.Error(), http.StatusConflict)
		return
	}
	defer stop()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}
