package amount

import (
	"testing"
	"time"
)

func TestAmountsAreWrittenForPeople(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for got, want := range map[string]string{
		Comma(0): "0", Comma(999): "999", Comma(1000): "1,000", Comma(int64(1234567)): "1,234,567", Comma(-999): "-999", Comma(-1000): "-1,000", Comma(-123456): "-123,456",
		Plural(0, "line"): "0 lines", Plural(1, "line"): "1 line", Plural(2000, "line"): "2,000 lines",
		Bytes(0): "0 B", Bytes(9): "9 B", Bytes(uint64(1000)): "1.0 kB", Bytes(1500): "1.5 kB", Bytes(9960): "10 kB", Bytes(82854982): "83 MB", Bytes(int64(9e18)): "9.0 EB",
		IBytes(1023): "1023 B", IBytes(1024): "1.0 KiB", IBytes(82854982): "79 MiB", IBytes(1 << 20): "1.0 MiB",
		passed(-time.Hour): "now", passed(time.Second - 1): "now", passed(time.Second): "1 second ago", passed(119 * time.Second): "1 minute ago",
		passed(23 * time.Hour): "23 hours ago", passed(day): "1 day ago", passed(13 * day): "1 week ago", passed(14 * day): "2 weeks ago",
		passed(59 * day): "1 month ago", passed(359 * day): "11 months ago", passed(360 * day): "1 year ago", passed(7300 * day): "20 years ago",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
