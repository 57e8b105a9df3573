package ops_test

import (
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// A requeue says how many of its messages had expired, also in a dry run. They keep their age, or begin it again.
func TestRequeueOfExpiredMessages(t *testing.T) {
	in(t, func(m *morgue) {
		die := func() (sent time.Time) {
			m.put(orders,
				driver.Message{Body: []byte("expired"), Expires: time.Minute},
				driver.Message{Body: []byte("later"), Expires: 24 * time.Hour},
			)
			m.reject(orders, driver.Death{Kind: "rejected"})
			m.put(orders, driver.Message{Body: []byte("too old for its consumer")})
			m.reject(orders, driver.Death{Kind: "expired"})
			defer time.Sleep(time.Hour)
			return time.Now()
		}
		sent := die()
		for _, o := range []ops.RequeueOptions{{Dry: true}, {Dry: true, RenewExpiry: true}, {}} {
			if r := m.requeue("orders@dlq", &o); r.Moved != 3 || r.Expired != 2 {
				t.Errorf("%+v: moved %d, expired %d", o, r.Moved, r.Expired)
			}
		}
		for _, d := range m.take(orders) {
			if !d.First.Equal(sent) {
				t.Errorf("%s was accepted at %v, want %v", d.Body, d.First, sent)
			}
		}
		die()
		now := time.Now()
		if r := m.requeue("orders@dlq", &ops.RequeueOptions{RenewExpiry: true}); r.Moved != 3 || r.Expired != 2 {
			t.Errorf("moved %d, expired %d", r.Moved, r.Expired)
		}
		for _, d := range m.take(orders) {
			if d.First.Before(now) {
				t.Errorf("%s was accepted at %v, want %v", d.Body, d.First, now)
			}
		}
		r := m.requeue("orders@dlq", &ops.RequeueOptions{Dry: true, MaxDeaths: -1})
		if r.Expired != -1 {
			t.Errorf("nothing was looked at, and %d had expired", r.Expired)
		}
	})
}
