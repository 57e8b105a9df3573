package nearname

import (
	"cmp"
	"slices"
	"strings"
)

// Near returns the names that a wrong one may be, the most similar first: those that differ by few letters, and else
// those of which it is the beginning, by more than half. Case does not matter.
func Near(wrong string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	wrong = strings.ToLower(wrong)
	most := max(2, len(wrong)/3)
	var all []candidate
	var begun []string
	for _, name := range names {
		lower := strings.ToLower(name)
		switch d := Distance(wrong, lower); {
		case d <= most:
			all = append(all, candidate{name, d})
		case 2*len(wrong) > len(lower) && strings.HasPrefix(lower, wrong):
			begun = append(begun, name)
		}
	}
	if len(all) == 0 {
		return begun
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	near := make([]string, len(all))
	for i, one := range all {
		near[i] = one.name
	}
	return near
}

// Distance is the number of letters to insert, delete, replace or swap with a neighbour to turn a into b.
func Distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
