package random_test

import (
	"regexp"
	"testing"

	"github.com/godwitmq/godwit/localaws/random"
)

func TestOneSeedOneStream(t *testing.T) {
	a, b, c := random.New(7), random.New(7), random.New(8)
	same := 0
	for range 100 {
		x := a.UUID()
		if y := b.UUID(); x != y {
			t.Fatalf("two sources of one seed differ: %s, %s", x, y)
		}
		if x == c.UUID() {
			same++
		}
	}
	if same != 0 {
		t.Errorf("two seeds agreed %d times", same)
	}
}

func TestUUIDForm(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	s, seen := random.New(0), map[string]bool{}
	for range 10000 {
		u := s.UUID()
		if !form.MatchString(u) || seen[u] {
			t.Fatalf("bad or repeated: %s", u)
		}
		seen[u] = true
	}
}
