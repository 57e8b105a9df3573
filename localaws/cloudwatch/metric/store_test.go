package metric

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// TestTheRoomIsGivenBack: what two stores take is what they hold, and a store without metrics takes nothing.
func TestTheRoomIsGivenBack(t *testing.T) {
	const seed = 1
	r := rand.New(rand.NewPCG(seed, 0))
	room := &Room{}
	stores := []*Store{NewStore(room), NewStore(room)}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	held := func() (bytes int64) {
		for _, s := range stores {
			for key, one := range s.series {
				bytes += int64(one.bytes(key))
			}
		}
		return bytes
	}
	for range 3000 {
		now = now.Add(time.Duration(r.IntN(600)) * time.Minute)
		s := stores[r.IntN(2)]
		id := ID{Namespace: "n", Name: strconv.Itoa(r.IntN(20)), Dimensions: []Dimension{{"d", "v"}}}
		switch r.IntN(8) {
		case 0:
			s.Trim(now)
		case 1:
			s.Read(now, Reading{ID: id, From: now.Add(-time.Hour), To: now, Period: time.Minute})
		default:
			s.Put(now, Sample{
				ID: id, At: now.Add(-time.Duration(r.IntN(1000)) * time.Minute), Fine: r.IntN(2) == 0,
				Unit: []string{"", "Count"}[r.IntN(2)], Stats: Of(float64(r.IntN(3)), float64(1+r.IntN(2))),
			})
		}
		if got, want := room.Taken(), held(); got != want {
			t.Fatalf("seed %d: %d bytes are taken, and %d held", seed, got, want)
		}
	}
	stores[0].Trim(now.Add(2 * keepCoarse))
	stores[1].Reset()
	if room.Taken() != 0 || stores[0].Len() != 0 {
		t.Errorf("%d bytes are taken by no metrics", room.Taken())
	}
}
