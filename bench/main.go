package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/hermes-ls/hermes-ls/internal/modes"
)

// row is a line of the table. If there is nothing to compare, floor is zero.
type row struct {
	what      string
	value     float64
	unit      string
	floor     float64
	floorName string
	goal      string
}

// lab holds the common parts of all measurements.
type lab struct {
	bin, echo string // the built programs
	dir       string // a temporary folder
	model     *scriptedModel
	home      string
	cwd       string // a small workspace
}

func main() {
	modes.Enter()
	bin := flag.String("bin", "bin/hermes-ls", "the program to measure")
	only := flag.String("only", "", "measure just the group of this name")
	profile := flag.String("cpuprofile", "", "write a profile of our own part here (scripts run in this process)")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err == nil {
			err = pprof.StartCPUProfile(f)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
	}
	err := run(*bin, *only)
	pprof.StopCPUProfile()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin, only string) error {
	l, err := newLab(bin)
	if err != nil {
		return err
	}
	defer os.RemoveAll(l.dir)
	groups := []struct {
		name    string
		measure func(*lab) ([]row, error)
	}{
		{"start", coldStart}, {"memory", memory}, {"turn", turnOverhead}, {"calls", callOverhead},
		{"shell", shellOverhead}, {"hooks", hookOverhead}, {"servers", servers}, {"lsp", languageServer}, {"pictures", pictures}, {"skills", skillRows}, {"deltas", deltas}, {"apis", apis}, {"cancel", cancel}, {"end", endOfInput},
		{"script-calls", scripts((*scriptLab).calls)}, {"script-start", scripts((*scriptLab).start)}, {"script-output", scripts((*scriptLab).memoryDuringOutput)},
		{"search", search}, {"growth", growth}, {"children", children}, {"checkpoints", checkpoints}, {"sessions", sessions},
	}
	table := tabwriter.NewWriter(os.Stdout, 2, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s %s/%s, %d cores\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	fmt.Fprintln(table, "what\tvalue\tfloor\tratio\tgoal")
	for _, g := range groups {
		if only != "" && only != g.name {
			continue
		}
		rows, err := g.measure(l)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", g.name, err)
		}
		for _, r := range rows {
			fmt.Fprintln(table, r)
		}
		_ = table.Flush()
	}
	return nil
}

func (r row) String() string {
	floor, ratio := "", ""
	if r.floor > 0 {
		floor = fmt.Sprintf("%.3g %s (%s)", r.floor, r.unit, r.floorName)
		ratio = fmt.Sprintf("%.2f×", r.value/r.floor)
	}
	return fmt.Sprintf("%s\t%.3g %s\t%s\t%s\t%s", r.what, r.value, r.unit, floor, ratio, r.goal)
}

func newLab(bin string) (*lab, error) {
	abs, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(abs); err != nil {
		return nil, fmt.Errorf("no program to measure: %w; build it with `make build`", err)
	}
	dir, err := os.MkdirTemp("", "hermes-bench-")
	if err != nil {
		return nil, err
	}
	l := &lab{bin: abs, dir: dir, echo: filepath.Join(dir, "echo"), cwd: filepath.Join(dir, "ws")}
	if out, err := exec.Command("go", "build", "-o", l.echo, "./bench/echo").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the echo server: %w\n%s", err, out)
	}
	if err := os.MkdirAll(l.cwd, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(l.cwd, "a.txt"), []byte("one\ntwo\nthree\n"), 0o644); err != nil {
		return nil, err
	}
	if l.model, err = startModel(); err != nil {
		return nil, err
	}
	l.home, err = home(dir, l.model)
	return l, err
}

// median returns the median of n measurements.
func median(n int, measure func() (time.Duration, error)) (time.Duration, error) {
	times := make([]time.Duration, n)
	for i := range times {
		d, err := measure()
		if err != nil {
			return 0, err
		}
		times[i] = d
	}
	slices.Sort(times)
	return times[n/2], nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func us(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
