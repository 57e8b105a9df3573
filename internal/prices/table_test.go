package prices_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/internal/prices"
)

// Messages above 64 KiB are billed as several requests, alone and in a batch; messages of ordered topics are by
// their bytes.
func TestBills(t *testing.T) {
	p := prices.Table{Queue: 1e6, OrderedQueue: 2e6, Publish: 3e6, OrderedPublish: 4e6, OrderedPublishGiB: 5}
	for name, c := range map[string]struct {
		of             prices.Traffic
		chunks         float64
		alone, batched prices.Bill
	}{
		"a queue": {
			prices.Traffic{Sent: 10, Received: 20, Empty: 5, Deleted: 10, Bytes: 10},
			1,
			prices.Bill{Requests: 45, Dollars: 45},
			prices.Bill{Requests: 9, Dollars: 9},
		},
		"unknown sizes": {
			prices.Traffic{Ordered: true, Sent: 10},
			1,
			prices.Bill{Requests: 10, Dollars: 20},
			prices.Bill{Requests: 1, Dollars: 2},
		},
		"messages of 96 KiB": {
			prices.Traffic{Sent: 10, Received: 10, Deleted: 10, Bytes: 10 * 96 << 10},
			2,
			prices.Bill{Requests: 50, Dollars: 50},
			prices.Bill{Requests: 31, Dollars: 31},
		},
		"exactly 64 KiB": {
			prices.Traffic{Sent: 2, Bytes: 2 * 64 << 10},
			1,
			prices.Bill{Requests: 2, Dollars: 2},
			prices.Bill{Requests: 2, Dollars: 2},
		},
		"a topic": {
			prices.Traffic{Topic: true, Sent: 10, Bytes: 10 * 65 << 10},
			2,
			prices.Bill{Requests: 20, Dollars: 60},
			prices.Bill{Requests: 10.15625, Dollars: 30.46875},
		},
		"an ordered topic": {
			prices.Traffic{Topic: true, Ordered: true, Sent: 1 << 20, Bytes: 1 << 31},
			1,
			prices.Bill{Requests: 1 << 20, Dollars: 4<<20 + 10},
			prices.Bill{Requests: (1 << 20) / 10.0, Dollars: (4<<20)/10.0 + 10},
		},
		"nothing": {prices.Traffic{}, 1, prices.Bill{}, prices.Bill{}},
	} {
		if got := c.of.Chunks(); got != c.chunks {
			t.Errorf("%s: %v chunks, want %v", name, got, c.chunks)
		}
		for how, pair := range map[string][2]prices.Bill{
			"alone": {c.alone, p.Alone(c.of)}, "batched": {c.batched, p.Batched(c.of)},
		} {
			if diff := cmp.Diff(pair[0], pair[1], cmpopts.EquateApprox(1e-9, 0)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, how, diff)
			}
		}
	}
}
