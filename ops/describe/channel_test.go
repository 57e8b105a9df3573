package describe_test

import (
	"context"
	"errors"
	"math"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
	"github.com/godwitmq/godwit/ops/describe"
	"github.com/godwitmq/godwit/ops/processes"
)

// service is a backend with one queue, to which a message is sent each second; what is done is unknown.
type service struct {
	driver.Backend
	begun   time.Time
	unknown bool // nothing is counted
	blind   time.Duration
}

var orders = driver.Channel{Queue: "orders"}

func (s *service) Operations() driver.Operations {
	return driver.Operations{
		Catalog: func(context.Context) ([]driver.ChannelInfo, error) {
			return []driver.ChannelInfo{{Channel: orders}}, nil
		},
		Activity: s.activity, Inspect: s.Inspect,
		Members: func(context.Context, driver.Channel) ([]driver.Member, error) {
			return []driver.Member{{ID: "m1", Partitions: []int32{0, 1}}}, nil
		},
	}
}

func (s *service) Inspect(context.Context, driver.Channel) (driver.Depth, error) {
	return driver.Depth{Waiting: 7, Oldest: -1}, nil
}

func (s *service) activity(_ context.Context, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
	none := driver.Reading[int64]{Err: driver.ErrNotCounted}
	sent := driver.Reading[int64]{Value: int64(time.Since(latest(since, s.begun)) / time.Second)}
	if s.unknown || time.Since(since) < s.blind {
		sent = none
	}
	return []driver.Activity{{
		Channel: cs[0], Sent: sent, Received: none, Deleted: none, Delivered: none, Failed: none, Consumers: none,
	}}, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// The last hour comes from the service's counts: a step before the first message is zero, one that the service has not
// counted yet is unknown, and a number of which nothing is known is no line of zeros.
func TestLastHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{begun: time.Now().Add(24 * time.Hour), blind: 6 * time.Minute}
		time.Sleep(24*time.Hour + 30*time.Minute)
		c, err := describe.Read(t.Context(), s, "orders", &describe.Options{LastHour: true})
		if err != nil {
			t.Fatal(err)
		}
		unknown := math.NaN()
		want := &describe.Timeline{Sent: []float64{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, unknown, unknown}}
		if diff := cmp.Diff(want, c.Timeline, cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if c.Activity == nil || c.Activity.Sent.Value != 1800 {
			t.Errorf("the hour is %+v, want 1800 sent", c.Activity)
		}
		s.unknown = true
		if c, err = describe.Read(t.Context(), s, "orders", &describe.Options{LastHour: true}); err != nil ||
			c.Timeline != nil || len(c.Problems) != 1 || !errors.Is(c.Problems[0], driver.ErrNotCounted) {
			t.Errorf("%v: %+v, problems %v", err, c.Timeline, c.Problems)
		}
		if c, err = describe.Read(t.Context(), s, "orders", nil); err != nil || c.Timeline != nil ||
			c.Audience != nil || len(c.Problems) > 0 {
			t.Errorf("%v: %+v", err, c)
		}
	})
}

// The file of a sampler has the last hour as well, without a question to the service.
func TestLastHourOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "history")
	synctest.Test(t, func(t *testing.T) {
		s := &service{begun: time.Now()}
		sampler, err := ops.NewSampler(s, &ops.SamplerOptions{History: file})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
		defer cancel()
		for range sampler.Watch(ctx) {
		}
		s.unknown = true
		c, err := describe.Read(t.Context(), s, "orders", &describe.Options{LastHour: true, History: file})
		if err != nil || c.Timeline == nil {
			t.Fatalf("%v: %+v", err, c)
		}
		line := c.Timeline
		if n := len(line.Waiting); n != 12 || !math.IsNaN(line.Waiting[0]) || line.Waiting[11] != 7 ||
			line.Done != nil || math.Abs(line.Sent[11]-1) > 0.1 {
			t.Errorf("%+v", line)
		}
	})
	for file, want := range map[string]string{
		filepath.Join(t.TempDir(), "none"): "nothing of the channel", "channel_test.go": "it is another file",
	} {
		c, err := describe.Read(t.Context(), &service{}, "orders", &describe.Options{History: file})
		if err != nil || len(c.Problems) != 1 || c.Timeline != nil ||
			!strings.Contains(c.Problems[0].Error(), want) {
			t.Errorf("%s: %v, problems %v, want %q", file, err, c.Problems, want)
		}
	}
}

// Where the bodies of large messages are is told beside the rest, and so is why it is not known.
func TestPayloads(t *testing.T) {
	want := describe.Payloads{Bucket: "payloads", Prefix: "big/", Days: 60}
	for _, wrong := range []error{nil, errors.New("denied")} {
		c, err := describe.Read(t.Context(), &service{}, "orders", &describe.Options{
			Payloads: func(context.Context) (describe.Payloads, error) { return want, wrong },
		})
		if err != nil {
			t.Fatal(err)
		}
		told := want
		if wrong != nil {
			told.Days = -1
		}
		if *c.Payloads != told || !errors.Is(errors.Join(c.Problems...), wrong) {
			t.Errorf("%v: %+v, problems %v", wrong, c.Payloads, c.Problems)
		}
	}
}

// Who consumes a queue is what the service tells, and what processes report; one that does not answer is a problem.
func TestAudience(t *testing.T) {
	workers, err := ops.NewWorkers(nil)
	if err != nil {
		t.Fatal(err)
	}
	workers.Hooks("orders")
	workers.Hooks("bills")
	server, gone := httptest.NewServer(workers), httptest.NewServer(nil)
	defer server.Close()
	gone.Close()
	p, err := processes.New(&processes.Options{
		Addresses: []string{server.Listener.Addr().String() + "/workers", gone.Listener.Addr().String()},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := describe.Read(t.Context(), &service{}, "orders", &describe.Options{Audience: true, Processes: p})
	if err != nil {
		t.Fatal(err)
	}
	if a := c.Audience; !a.Told || len(a.Members) != 1 || !a.Asked || len(a.Holders) != 1 ||
		a.Holders[0].Channel != "orders" || a.Holders[0].PID == 0 || len(c.Problems) != 1 {
		t.Errorf("%+v, problems %v", a, c.Problems)
	}
}

// All looks at every channel if none is selected.
func TestAll(t *testing.T) {
	all, err := describe.All(t.Context(), &service{}, nil)
	if err != nil || len(all) != 1 || all[0].Depth.Waiting != 7 {
		t.Errorf("%v, %v", all, err)
	}
	if all, err = describe.All(t.Context(), &service{}, func(driver.Channel) bool { return false }); len(all) > 0 {
		t.Errorf("%v, %v", all, err)
	}
}
