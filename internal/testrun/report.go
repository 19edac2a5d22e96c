package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// slowest is how many packages and tests the table lists.
const slowest = 20

// report writes the table of stages, the slowest packages and tests, and the skipped tests. It
// reports whether everything ran and passed.
func report(w io.Writer, set string, outcomes []outcome, took time.Duration) bool {
	ok := true
	var packages, tests []labeled
	var count results
	failures := 0
	cpu := time.Duration(0)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nSTAGE\tRESULT\tTIME\tPROCESSOR TIME")
	for _, o := range outcomes {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", o.stage.name, o.status, o.took.Round(time.Second), o.cpu.Round(time.Second))
		cpu += o.cpu
		ok = ok && o.status == passed
		for _, p := range o.tests.packages {
			packages = append(packages, labeled{o.stage.name, p})
		}
		for _, t := range o.tests.tests {
			tests = append(tests, labeled{o.stage.name, t})
		}
		count.passed += o.tests.passed
		count.skipped += o.tests.skipped
		failures += len(o.tests.failures())
	}
	fmt.Fprintf(table, "make %s\t\t%s\t%s\n", set, took.Round(time.Second), cpu.Round(time.Second))
	table.Flush() // into a builder
	writeSlowest(w, "PACKAGE", packages)
	writeSlowest(w, "TEST", tests)
	if !writeOmitted(w, outcomes) {
		ok = false
	}
	fmt.Fprintf(w, "\n%d passed, %d failed, %d skipped\n", count.passed, failures, count.skipped)
	return ok
}

type labeled struct {
	stage string
	timed
}

func writeSlowest(w io.Writer, title string, all []labeled) {
	slices.SortStableFunc(all, func(a, b labeled) int { return cmp.Compare(b.took, a.took) })
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "\nSLOWEST %s\tSTAGE\tTIME\n", title)
	for _, l := range all[:min(slowest, len(all))] {
		name := strings.TrimPrefix(l.pkg, module+"/")
		if l.name != "" {
			name += " " + l.name
		}
		fmt.Fprintf(table, "%s\t%s\t%.1fs\n", name, l.stage, l.took.Seconds())
	}
	table.Flush() // into a builder
}

// writeOmitted lists the skipped tests, by their needs. It reports whether there are none.
func writeOmitted(w io.Writer, outcomes []outcome) bool {
	tests := map[string][]string{}
	for _, o := range outcomes {
		for _, om := range o.omitted {
			name := o.stage.name + ": " + om.test
			if !slices.Contains(tests[om.needs], name) {
				tests[om.needs] = append(tests[om.needs], name)
			}
		}
	}
	for _, needs := range slices.Sorted(maps.Keys(tests)) {
		fmt.Fprintf(w, "\nLEFT OUT, needs %s:\n    %s\n", needs, strings.Join(tests[needs], "\n    "))
	}
	return len(tests) == 0
}
