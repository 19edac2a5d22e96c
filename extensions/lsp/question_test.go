package lsp

import "testing"

func TestLocate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		line, symbol string
		want         int
	}{
		{"func Total(all []Price)", "Total", 5},
		{"subTotal + Total", "Total", 11},
		{"subTotal", "Total", 3},
		{"Total(Total(x))", "Total#2", 6},
		{"Total(Total(x))", "Total#3", -1},
		{"shop.Total(1)", "shop.Total", 5},
		{"a->b.c()", "a->b.c()", 5},
		{"größe := größen + größe", "größe#2", 22},
		{"$x = $y", "$y", 5},
		{"C#2 = C#1", "C#2", 2},
		{"x", "", 0},
		{"x", "y", -1},
		{"a + b", "+", 2},
	} {
		if got := locate(tt.line, tt.symbol); got != tt.want {
			t.Errorf("%s in %s: %d, want %d", tt.symbol, tt.line, got, tt.want)
		}
	}
}
