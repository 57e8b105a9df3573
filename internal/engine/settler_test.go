package engine

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/calls"
)

// fakeService takes settlements, and calls functions of the test for the other methods of its Receiver.
type fakeService struct {
	driver.Receiver
	receive func(ctx context.Context, most int) ([]driver.Delivery, error)
	extend  func(hs []driver.Handle, by time.Duration) (ends time.Time, err error)
	close   func() error

	mu      sync.Mutex
	batches [][]driver.Settlement
}

// withService gives a bare flow a settler with a service.
func withService(f *flow) *fakeService {
	s := &fakeService{}
	f.cfg.Calls = &calls.Log{}
	f.settler, f.talk.obs = newSettler(f, s), deaf{}
	return s
}

func (s *fakeService) Settle(_ context.Context, in []driver.Settlement) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.batches = append(s.batches, append([]driver.Settlement(nil), in...))
	return nil
}

func (s *fakeService) Receive(ctx context.Context, ask driver.Ask, _ []driver.Delivery) ([]driver.Delivery, error) {
	return s.receive(ctx, ask.Max)
}

func (s *fakeService) Extend(_ context.Context, hs []driver.Handle, by time.Duration) (time.Time, error) {
	return s.extend(hs, by)
}

func (s *fakeService) Close(context.Context) error { return s.close() }

// of is how many settlements with an action have come.
func (s *fakeService) of(a driver.Action) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, batch := range s.batches {
		for _, one := range batch {
			if one.Action == a {
				n++
			}
		}
	}
	return n
}

// The verdict on a handled item waits for others. Other verdicts do not, and take along what waits; nor does the last
// verdict of a lane where the service keeps the order, nor any verdict of a stop.
func TestWhichVerdictsWait(t *testing.T) {
	lim := driver.ReceiveLimits{SettleBatch: 10, Lease: 30 * time.Second, RetryMax: time.Hour}
	ordered := Config{Channel: driver.Channel{Ordered: true}}
	for _, c := range []struct {
		name   string
		lim    driver.ReceiveLimits
		cfg    Config
		kind   kind
		behind bool // another item is behind it in its lane
		action driver.Action
		stops  bool
		waits  time.Duration
	}{
		{name: "handled", lim: lim, waits: 100 * time.Millisecond},
		{
			name:  "handled, with a short lease",
			lim:   driver.ReceiveLimits{SettleBatch: 10, Lease: 500 * time.Millisecond},
			waits: 50 * time.Millisecond,
		},
		{name: "one at a time", lim: driver.ReceiveLimits{SettleBatch: 1, Lease: 30 * time.Second}},
		{name: "rejected", lim: lim, action: driver.Reject},
		{name: "in a lane, without order", lim: lim, kind: kind{lane: 7}, waits: 100 * time.Millisecond},
		{name: "the last of a lane", lim: lim, cfg: ordered, kind: kind{lane: 7}},
		{
			name: "not the last of a lane", lim: lim, cfg: ordered, kind: kind{lane: 7},
			behind: true, waits: 100 * time.Millisecond,
		},
		{name: "during a stop", lim: lim, stops: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.cfg.SettleLinger = 100 * time.Millisecond
				f := bare(c.lim, &c.cfg)
				s := withService(f)
				polls, stop := context.WithCancel(context.Background())
				f.polls = polls
				it := c.kind.arrive(f)
				if c.behind {
					c.kind.arrive(f)
				}
				c.kind.to(t, f, it, running)
				if c.stops {
					stop()
				}
				f.lock()
				f.settle(verdict{it: it, action: c.action}, driver.BehindGoesOn)
				f.unlock()
				begun := time.Now()
				for s.of(c.action) == 0 && time.Since(begun) < time.Second {
					synctest.Wait()
					if s.of(c.action) == 0 {
						time.Sleep(time.Millisecond)
					}
				}
				if took := time.Since(begun); took != c.waits {
					t.Errorf("the verdict waits %v, want %v", took, c.waits)
				}
				stop()
				f.settler.Close(t.Context())
			})
		})
	}
}

// A verdict on an item whose lease is lost is not sent, and the item's end is counted as unsettled.
func TestAVerdictWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := bare(driver.ReceiveLimits{SettleBatch: 10, Lease: 30 * time.Second}, &Config{
			SettleLinger: 100 * time.Millisecond,
			Error:        func(_, _ string, err error) error { return err },
		})
		s := withService(f)
		it := kind{}.arrive(f)
		kind{}.to(t, f, it, running)
		f.lock()
		f.settle(verdict{it: it, action: driver.Done}, driver.BehindGoesOn)
		f.markLost(it)
		f.unlock()
		f.settler.Close(t.Context())
		if s.of(driver.Done) != 0 || f.count.Unsettled != 1 || f.count.LeaseLost != 1 || it.state != gone {
			t.Errorf("sent %d; %+v; the item is %v", s.of(driver.Done), f.count, it.state)
		}
	})
}

// deaf is an observer that hears nothing.
type deaf struct{ Observer }

func (deaf) Doing(Activity)                             {}
func (deaf) Received(*Item)                             {}
func (deaf) Started(*Item)                              {}
func (deaf) Ended(any, Verdict, error, time.Duration)   {}
func (deaf) Failed(*Item, error, Verdict)               {}
func (deaf) Rejected(any, *driver.Death, error)         {}
func (deaf) TimedOut(any)                               {}
func (deaf) Abandoned(any, []byte)                      {}
func (deaf) LeaseLost(any)                              {}
func (deaf) Released(any)                               {}
func (deaf) SettleFailed(any, driver.Action, error)     {}
func (deaf) Discarded(driver.Discarded)                 {}
func (deaf) Expired(any)                                {}
func (deaf) Unopened(int)                               {}
func (deaf) Breaker(bool, error)                        {}
func (deaf) ReceiveFailed(string, error, time.Duration) {}
func (deaf) Polled(Poll)                                {}
func (deaf) Settled(Settling)                           {}
func (deaf) Renewed(Renewal)                            {}
func (deaf) Faulted(error)                              {}
