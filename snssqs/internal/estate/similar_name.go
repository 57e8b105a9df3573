package estate

import (
	"maps"
	"slices"
	"strings"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// longName is the length from which two typing errors in a channel's name are more likely than another name.
const longName = 8

// mistyped returns an error if Options.Names has an entry whose name is similar to the channel's. The entry is probably
// meant for this channel, and otherwise a second queue or topic would be created that no other program uses.
func (n *Names) mistyped(ch driver.Channel) error {
	ch.DeadLetter = false
	var entries []string
	for _, name := range slices.Sorted(maps.Keys(n.Mappings)) {
		if similar(name, ch.String()) {
			entries = append(entries, name)
		}
	}
	if len(entries) == 0 {
		return nil
	}
	return client.Permanent("channel %s: it does not exist, and Options.Names does not map it but %s: "+
		"spell both the same, or create what %s stands for yourself if it is another channel",
		ch, strings.Join(entries, " and "), ch)
}

// similar reports whether one of two different names may be the other one mistyped, such as orders and order, or events
// and events.*. Names that differ only by their digits are taken as different on purpose.
func similar(a, b string) bool {
	x, y := strings.TrimSuffix(a, ".*"), strings.TrimSuffix(b, ".*")
	switch {
	case x == y:
		return true
	case (x == a) != (y == b), withoutDigits(a) == withoutDigits(b):
		return false
	}
	most := 1
	if max(len(a), len(b)) >= longName {
		most = 2
	}
	return distance(a, b) <= most
}

func withoutDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, s)
}

// distance is the number of letters to insert, delete, replace or swap with a neighbour to turn a into b.
func distance(a, b string) int {
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
