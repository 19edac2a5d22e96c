package workspace

// Differing is where two lists differ: items From up to To of the old one have
// become items of the new one. One of the two may be empty.
type Differing struct{ OldFrom, OldTo, NewFrom, NewTo int }

// Compare tells where lists differ, such as the lines or words of two texts:
// ascending, and between two differences there is at least one common item.
func Compare(old, next []string) []Differing {
	var all []Differing
	for _, c := range lineChanges(asLines(old), asLines(next)) {
		all = append(all, Differing{c.oldFrom, c.oldTo, c.newFrom, c.newTo})
	}
	return all
}

func asLines(items []string) []line {
	lines := make([]line, len(items))
	for i, item := range items {
		lines[i].text = []byte(item)
	}
	return lines
}
