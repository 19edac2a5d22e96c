// Package spelling compares the spelling of names, and finds the likely names for a
// misspelled name.
package spelling

// Distance returns how many characters must be added, removed or replaced to make one text of the other.
func Distance(a, b string) int { return distance([]rune(a), []rune(b), false) }

// distance is [Distance]. If swaps is true, two swapped neighbors count once.
func distance(x, y []rune, swaps bool) int {
	row := make([]int, len(y)+1) // of the characters of x so far, to each beginning of y
	var before, twoBefore []int  // the rows of the two characters before
	if swaps {
		before, twoBefore = make([]int, len(row)), make([]int, len(row))
	}
	for j := range row {
		row[j] = j
	}
	for i, c := range x {
		twoBefore, before = before, twoBefore
		copy(before, row)
		diagonal := row[0]
		row[0] = i + 1
		for j, d := range y {
			replaced := diagonal
			if c != d {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, diagonal+1, row[j]+1)
			if swaps && i > 0 && j > 0 && c == y[j-1] && x[i-1] == d {
				row[j+1] = min(row[j+1], twoBefore[j-1]+1)
			}
		}
	}
	return row[len(y)]
}
