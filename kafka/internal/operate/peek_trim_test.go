package operate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/offsets"
)

// However many records there are, and in whatever order partitions bring them, few are held, and the result is that of
// all of them.
func TestAPeekHoldsFewRecords(t *testing.T) {
	const partitions, records, most = 5, 400, 20
	for seed := range uint64(50) {
		random := rand.New(rand.NewPCG(seed, 0))
		var all []*kgo.Record
		logs := make([][]*kgo.Record, partitions)
		for i := range partitions * records {
			n := random.IntN(partitions)
			r := &kgo.Record{
				Partition: int32(n), Offset: int64(len(logs[n])), Timestamp: time.UnixMilli(int64(i)),
				Value: fmt.Append(nil, i),
			}
			logs[n], all = append(logs[n], r), append(all, r)
		}
		for _, last := range []bool{false, true} {
			p := &peek{most: most, from: driver.PeekFrom{Last: last}, parts: map[int32]*glimpse{}}
			for n, log := range logs {
				p.parts[int32(n)] = &glimpse{end: int64(len(log)), past: offsets.NewPast(0, "", "")}
			}
			read := make([]int, partitions)
			for rounds := 0; p.unread(); rounds++ {
				if rounds > partitions*records {
					t.Fatalf("seed %d, last %v: a partition is never read far enough", seed, last)
				}
				n := random.IntN(partitions)
				for range min(random.IntN(10), len(logs[n])-read[n]) {
					p.see(logs[n][read[n]])
					read[n]++
				}
				if p.count() > 2*most {
					p.trim()
				}
				if p.count() > 2*most {
					t.Fatalf("seed %d, last %v: %d records are held", seed, last, p.count())
				}
			}
			want := all[:most]
			if last {
				want = all[len(all)-most:]
			}
			got := p.merged()
			if !slices.EqualFunc(want, got, func(r *kgo.Record, s sight) bool { return r == s.Record }) {
				t.Fatalf("seed %d, last %v: got %d records", seed, last, len(got))
			}
		}
	}
}

// Producers set the times of records, so an early one may be behind a late one.
func TestAPeekFromATimeLeavesOutEarlierRecords(t *testing.T) {
	p := &peek{most: 9, from: driver.PeekFrom{Time: time.UnixMilli(5)}, parts: map[int32]*glimpse{
		0: {end: 3, past: offsets.NewPast(0, "", "")},
	}}
	for i, ms := range []int64{5, 3, 7} {
		p.see(&kgo.Record{Offset: int64(i), Timestamp: time.UnixMilli(ms)})
	}
	if got := p.merged(); len(got) != 2 || got[1].Offset != 2 || p.unread() {
		t.Errorf("got %v", got)
	}
}
