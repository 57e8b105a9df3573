package ops_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// The demand follows from the backlog, its age, and the duration of handlers. It is zero only where nothing waits and
// nothing is in flight.
func TestDemand(t *testing.T) {
	in(t, func(m *morgue) {
		for range 3000 {
			m.put(orders, letter("", "x"))
		}
		m.put(queued, letter("", "held"))
		r, err := m.Receiver(m.Context(), queued, driver.ReceiverOptions{Concurrency: 1, Lease: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		if ds, err := r.Receive(m.Context(), driver.Ask{Max: 1}, nil); err != nil || len(ds) != 1 {
			t.Fatal(err)
		}
		ask := func(o *ops.DemandOptions) map[string]ops.ChannelDemand {
			t.Helper()
			all, err := ops.Demand(m.Context(), m.Backend, o)
			if err != nil {
				t.Fatal(err)
			}
			by := map[string]ops.ChannelDemand{}
			for _, d := range all {
				by[d.Channel] = d
			}
			return by
		}
		got := ask(nil)
		want := map[string]ops.ChannelDemand{
			"orders": {Channel: "orders", Backlog: 3000, Workers: 25, Consumers: 3},
			"queued": {Channel: "queued", InFlight: 1, Workers: 1, Consumers: 1},
			"lined":  {Channel: "lined"}, "other": {Channel: "other"},
			"wishes.audit": {Channel: "wishes.audit"}, "wishes.mobile": {Channel: "wishes.mobile"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		time.Sleep(40 * time.Second)
		o := &ops.DemandOptions{
			Match: "orders", ServiceTime: 100 * time.Millisecond, Tolerance: time.Minute, Workers: 4, Most: 3,
		}
		if d := ask(o)["orders"]; d.Workers != 15 || d.Consumers != 3 || d.AgeSeconds != 40 { // 300 s of work in 20 s
			t.Errorf("%+v", d)
		}
		time.Sleep(time.Hour)
		if d := ask(o)["orders"]; d.Workers != 20 { // in a quarter of the tolerance
			t.Errorf("%+v", d)
		}
	})
}

// The address answers with one object that a scaler reads, and with an error where the numbers would say nothing.
func TestDemandHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := partly{shop(t)}
		h, err := ops.DemandHandler(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]struct {
			status int
			text   string
		}{
			"/demand?channel=orders":       {http.StatusOK, `"consumers":1`},
			"/demand":                      {http.StatusOK, `"channel":"orders"`},
			"/demand?channel=order":        {http.StatusNotFound, "perhaps orders"},
			"/demand?channel=events.audit": {http.StatusServiceUnavailable, "denied"},
			"/demand?channel=orders@dlq":   {http.StatusBadRequest, "name a queue"},

			"/demand?channel=orders&service_time=10m&workers=1&most=2": {http.StatusOK, `"workers":3,"consumers":2`},
			"/demand?channel=orders&service_time=10":                   {http.StatusBadRequest, "like 200ms"},
			"/demand?channel=orders&workers=0":                         {http.StatusBadRequest, "from 1 on"},
		} {
			answer := httptest.NewRecorder()
			h.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
			if answer.Code != want.status || !strings.Contains(answer.Body.String(), want.text) {
				t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
			}
			if want.status == http.StatusOK && !json.Valid(answer.Body.Bytes()) {
				t.Errorf("%s: %s", path, answer.Body)
			}
		}
		if _, err := ops.DemandHandler(b, &ops.DemandOptions{Workers: -1}); err == nil {
			t.Error("negative options were accepted")
		}
	})
}
