// Package amount writes numbers for people: counts with their noun, sizes of files, and times that have passed.
package amount

import (
	"fmt"
	"strconv"
	"time"
)

// Comma returns a number with commas, such as "12,390".
func Comma[T ~int | ~int64](n T) string {
	text := strconv.FormatInt(int64(n), 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(text) - 3; i > first; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Plural returns a number with its noun, such as "1 line" or "2 lines".
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return Comma(n) + " " + noun
}

// Bytes returns a size in powers of 1000, such as "83 MB" or "1.5 kB".
func Bytes[T ~int | ~int64 | ~uint64](n T) string {
	return size(float64(n), 1000, []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"})
}

// IBytes returns a size in powers of 1024, such as "79 MiB" or "1.5 KiB".
func IBytes[T ~int | ~int64 | ~uint64](n T) string {
	return size(float64(n), 1024, []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"})
}

func size(n, base float64, units []string) string {
	unit := 0
	for n >= base && unit < len(units)-1 {
		n /= base
		unit++
	}
	if unit > 0 && n < 9.95 {
		return fmt.Sprintf("%.1f %s", n, units[unit])
	}
	return fmt.Sprintf("%.0f %s", n, units[unit])
}

// Ago returns how long before now a time was, such as "3 weeks ago". If less than a second has passed, it returns "now".
func Ago(then time.Time) string { return passed(time.Since(then)) }

func passed(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{360 * day, "year"}, {30 * day, "month"}, {7 * day, "week"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}, {time.Second, "second"}} {
		if d >= unit.length {
			return Plural(int(d/unit.length), unit.name) + " ago"
		}
	}
	return "now"
}
