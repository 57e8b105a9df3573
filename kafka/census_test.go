package kafka

import "testing"

// Half of the records without a key are worth one warning, after enough of them.
func TestCensus(t *testing.T) {
	for name, c := range map[string]struct {
		every, want int // one record in so many has a key
	}{"half": {2, 1}, "a third without": {1, 0}, "nearly none with a key": {100, 1}} {
		var k census
		told := 0
		for i := range 10 * censusSize {
			if k.counts(i%c.every == 0) {
				told++
			}
		}
		if told != c.want {
			t.Errorf("%s: told %d times, want %d", name, told, c.want)
		}
	}
}
