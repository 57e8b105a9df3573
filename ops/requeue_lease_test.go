package ops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/wire"
	"github.com/godwitmq/godwit/ops"
)

// onSQS runs a test with n dead letters of a channel on SQS, in virtual time.
func onSQS(t *testing.T, ch driver.Channel, n int, f func(m *morgue, b *local.Backend)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m, b := newSQS(t, ch)
		for i := range n {
			m.put(ch, letter(fmt.Sprint("key ", i%5), fmt.Sprintf("%03d", i)))
		}
		m.reject(ch, refused)
		f(m, b)
	})
}

// newSQS opens a backend on the embedded server, with one channel.
func newSQS(t *testing.T, ch driver.Channel) (*morgue, *local.Backend) {
	t.Helper()
	b, err := local.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	if err := b.Ensure(t.Context(), driver.ChannelSpec{Channel: ch, Owner: true}); err != nil {
		t.Fatal(err)
	}
	return &morgue{t, b}, b
}

// once fails the test unless a channel has n messages, each once.
func (m *morgue) once(ch driver.Channel, n int) {
	m.Helper()
	got := texts(m.take(ch))
	slices.Sort(got)
	if all := len(got); all != n || len(slices.Compact(got)) != n {
		m.Errorf("%s has %d messages, %d of them different, want %d", ch, all, len(slices.Compact(got)), n)
	}
}

// Messages in hand are kept however long an edit or a send takes: each is sent once.
func TestRequeueKeepsWhatIsInHand(t *testing.T) {
	const n = 40
	for _, ch := range []driver.Channel{orders, queued} {
		t.Run("edit/"+ch.String(), func(t *testing.T) {
			onSQS(t, ch, n, func(m *morgue, _ *local.Backend) {
				r := m.requeue(ch.String()+"@dlq", &ops.RequeueOptions{Edit: func(body []byte) ([]byte, error) {
					time.Sleep(7 * time.Second)
					return append(body, " edited"...), nil
				}})
				if r.Moved != n || r.Looked != n || len(r.Doubled) > 0 {
					t.Errorf("%+v", r)
				}
				m.once(ch, n)
				m.want(dead(ch))
			})
		})
		t.Run("send/"+ch.String(), func(t *testing.T) {
			onSQS(t, ch, n, func(m *morgue, b *local.Backend) {
				stop := b.Server().Control("sqs.*", func(_ context.Context, r *localaws.Request) localaws.Outcome {
					if r.Action == "SendMessageBatch" || r.Action == "DeleteMessageBatch" {
						return localaws.Outcome{Delay: 8 * time.Second}
					}
					return localaws.Outcome{}
				})
				r := m.requeue(ch.String()+"@dlq", &ops.RequeueOptions{Edit: func(b []byte) ([]byte, error) {
					time.Sleep(5 * time.Second)
					return b, nil
				}})
				stop()
				if r.Moved != n || r.Looked != n || len(r.Doubled) > 0 {
					t.Errorf("%+v", r)
				}
				m.once(ch, n)
				m.want(dead(ch))
			})
		})
	}
}

// A run sends what was dead when it began, and ends, although a consumer rejects all of it again meanwhile. It knows
// messages by the time of their death, and where clocks differ by their history.
func TestRequeueEndsAtWhatWasDead(t *testing.T) {
	for name, behind := range map[string]time.Duration{"same clock": 0, "clock behind": time.Hour} {
		for _, ch := range []driver.Channel{orders, queued} {
			t.Run(name+"/"+ch.String(), func(t *testing.T) {
				onSQS(t, ch, 75, func(m *morgue, b *local.Backend) {
					ctx, cancel := context.WithCancel(m.Context())
					var failing sync.WaitGroup
					failing.Go(func() { m.failing(ctx, b, ch, behind) })
					time.Sleep(time.Second)
					running, stop := context.WithTimeout(m.Context(), 2*time.Minute)
					defer stop()
					r, err := ops.Requeue(running, b, ch.String()+"@dlq", &ops.RequeueOptions{
						MaxDeaths: -1, Edit: func(body []byte) ([]byte, error) { return body, nil },
					})
					cancel()
					failing.Wait()
					if err != nil || r.Moved != 75 || r.Stay.Later == 0 || r.Took > time.Minute {
						t.Errorf("%+v, %v", r, err)
					}
					time.Sleep(time.Minute) // the consumer's last leases
					m.reject(ch, refused)
					m.once(dead(ch), 75)
				})
			})
		}
	}
}

// failing rejects all messages of a channel at once, with a clock that is behind, until ctx ends.
func (m *morgue) failing(ctx context.Context, b driver.Backend, ch driver.Channel, behind time.Duration) {
	r, err := b.Receiver(ctx, ch, driver.ReceiverOptions{Concurrency: 1, Wait: time.Second})
	if err != nil {
		m.Error(err)
		return
	}
	for ctx.Err() == nil {
		ds, _ := r.Receive(ctx, driver.Ask{Max: 10}, nil)
		var batch []driver.Settlement
		for i := range ds {
			death := refused
			death.Last = time.Now().Add(-behind)
			batch = append(batch, driver.Settlement{Handle: ds[i].Handle, Action: driver.Reject, Death: &death})
		}
		if err := r.Settle(context.WithoutCancel(ctx), batch); err != nil {
			m.Error(err)
		}
	}
	if err := r.Close(context.WithoutCancel(ctx)); err != nil {
		m.Error(err)
	}
}

// A run that could not look at all messages says so, with the time after which the rest can be received.
func TestRequeueTellsWhatItDidNotSee(t *testing.T) {
	onSQS(t, orders, 40, func(m *morgue, b *local.Backend) {
		r, err := b.Receiver(m.Context(), dead(orders), driver.ReceiverOptions{Concurrency: 1, Lease: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if ds, err := r.Receive(m.Context(), driver.Ask{Max: 10}, nil); err != nil || len(ds) != 10 {
			t.Fatalf("%d, %v", len(ds), err)
		}
		first, err := ops.Requeue(m.Context(), b, "orders@dlq", nil)
		unseen, _ := errors.AsType[*ops.UnseenError](err)
		if unseen == nil || unseen.Messages != 10 || unseen.After < time.Minute || first.Moved != 30 ||
			first.Stay.Unlooked != 10 {
			t.Fatalf("%+v, %+v, %v", first, unseen, err)
		}
		if !strings.Contains(err.Error(), "about 10 messages of orders@dlq were not seen") {
			t.Error(err)
		}
		time.Sleep(unseen.After)
		if again := m.requeue("orders@dlq", nil); again.Moved != 10 {
			t.Errorf("%+v", again)
		}
		m.once(orders, 40)
	})
}

// A message whose lease was lost in hand is received again. It is not sent again, and is deleted with its newest
// handle.
func TestRequeueOfLostLeases(t *testing.T) {
	for _, ch := range []driver.Channel{orders, queued} {
		t.Run(ch.String(), func(t *testing.T) {
			onSQS(t, ch, 20, func(m *morgue, b *local.Backend) {
				broken := localaws.Outcome{Err: &wire.Error{Code: "InternalError", Message: "try again", Fault: true}}
				stop := b.Server().Control("sqs.ChangeMessageVisibilityBatch",
					func(context.Context, *localaws.Request) localaws.Outcome { return broken })
				r, err := ops.Requeue(m.Context(), b, ch.String()+"@dlq", &ops.RequeueOptions{
					Edit: func(body []byte) ([]byte, error) {
						time.Sleep(10 * time.Second)
						return body, nil
					},
				})
				stop()
				if err != nil || r.Moved != 20 || r.Looked != 20 || len(r.Doubled) > 0 {
					t.Errorf("%+v, %v", r, err)
				}
				time.Sleep(time.Minute)
				m.once(ch, 20)
				m.want(dead(ch))
			})
		})
	}
}
