package share

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

// A request names each record once, in the order of the offsets, and neighbors together. A record that is settled is
// not renewed.
func TestExchangeNamesEachRecordOnce(t *testing.T) {
	of := func(partition int32, offset int64, what ackType) ack {
		return ackOf(&lock{record: &kgo.Record{Partition: partition, Offset: offset}}, what, nil, 0)
	}
	c := newCall()
	c.add(1)
	renewed := of(0, 5, renew)
	renewed.call = c
	x := &exchange{acks: []ack{
		of(1, 9, accept), of(0, 6, accept), renewed, of(0, 5, accept), of(0, 8, release), of(0, 9, renew),
		{partition: 0, first: 1, last: 4, what: gap},
	}}
	x.arrange()
	got := map[int32][]stretch{}
	for i := range x.parts {
		got[x.parts[i].n] = x.parts[i].stretches()
	}
	want := map[int32][]stretch{
		0: {{1, 4, gap}, {5, 6, accept}, {8, 8, release}, {9, 9, renew}},
		1: {{9, 9, accept}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(stretch{})); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
	if err := c.wait(t.Context()); err != nil {
		t.Errorf("the renewal of a settled record: %v", err)
	}
}
