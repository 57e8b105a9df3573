//go:build synctests

package acceptance

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/kafka"
)

// The mistake: commits follow completions in whatever order these come, and a crash loses what was still being handled.
// Here everything after a stuck record is finished, the newest first, and the commit stays at it all the same; a crash
// then brings that one again, and no other.
func TestCommitsOutOfOrder(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, stuck = 500, 10
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, records)
		b := newBooks(records)
		release := make(chan struct{})
		handler := keeping(b, func(ctx context.Context, d *godwit.Delivery) error {
			if number(d) == stuck {
				select {
				case <-release:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
			return nap(ctx, time.Duration(records-number(d))*time.Millisecond) // the newest first
		})
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: records}, handler)
		w.eventually(30*time.Second, "all but one handled", func() bool { n, _ := b.count(); return n == records-1 })
		w.eventually(10*time.Second, "a commit at the stuck record, with what is finished beyond", func() bool {
			o := w.committed()[0]
			if o.At > stuck {
				t.Fatalf("%d is committed, and %d is not finished", o.At, stuck)
			}
			return o.At == stuck && len(o.Metadata) > bareText
		})
		time.Sleep(2 * time.Second) // the commit of what was finished last
		p.crash()
		if n := b.started(stuck); n != 1 {
			t.Fatalf("record %d was started %d times before the crash", stuck, n)
		}

		close(release)
		p = w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: records}, handler)
		w.eventually(90*time.Second, "the stuck one handled", b.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if o := w.committed()[0]; o.At != records {
			t.Errorf("%d is committed at the end, want %d", o.At, records)
		}
		if _, handlings := b.count(); handlings != records {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
	})
}

// The mistake: the offset of the last finished record is committed instead of the next one's, and every start handles
// one record again.
func TestCommitsOffsetInsteadOfNext(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records = 100
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, 10)
		b := newBooks(records)
		for range 3 {
			p := w.start(kafka.Options{}, godwit.ConsumerOptions{}, keeping(b,
				func(context.Context, *godwit.Delivery) error { return nil }))
			w.eventually(60*time.Second, "everything handled", b.all)
			time.Sleep(3 * time.Second) // time for what should not come
			if _, err := p.stop(); err != nil {
				t.Fatal(err)
			}
			if o := w.committed()[0]; o.At != records || len(o.Metadata) > bareText {
				t.Fatalf("committed is %d with %q, want %d and nothing beyond", o.At, o.Metadata, records)
			}
		}
		if _, handlings := b.count(); handlings != records {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
	})
}

// The mistake: a fatal error ends the consumer at once, and what others were doing is done again, or lost. Here what
// runs is finished and committed, the fatal record is not, and Run returns the error when no handler runs any more.
func TestFatalWithoutDrain(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, fatal = 20, 7
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, records)
		b := newBooks(records)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: records},
			keeping(b, func(ctx context.Context, d *godwit.Delivery) error {
				if number(d) == fatal {
					// when all others have begun
					return errors.Join(nap(ctx, 100*time.Millisecond), godwit.Fatal(errOfTest))
				}
				return nap(ctx, 500*time.Millisecond)
			}))
		_, err := p.wait()
		if !isOfTest(err) {
			t.Errorf("Run returned %v", err)
		}
		n, _ := b.count()
		if n != records-1 {
			t.Errorf("%d of the %d others were finished", n, records-1)
		}
		if o := w.committed()[0]; o.At != fatal {
			t.Errorf("%d is committed, want %d", o.At, fatal)
		}
		if b.running() != 0 {
			t.Errorf("%d handlers ran when Run returned", b.running())
		}

		p = w.start(kafka.Options{}, godwit.ConsumerOptions{}, keeping(b,
			func(context.Context, *godwit.Delivery) error { return nil }))
		w.eventually(60*time.Second, "the fatal one handled", b.all)
		time.Sleep(time.Second)
		_, _ = p.stop()
		if _, handlings := b.count(); handlings != records {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
	})
}

// The mistake: while a group waits for a member that crashed, nothing is committed, and who crashes or stops next
// leaves all that it finished meanwhile to be handled again.
func TestCommitsStandStillWhileMembersJoin(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records = 100
		w.create(1)
		w.ensure(kafka.Options{})
		b := newBooks(2 * records)
		lasting, short := kafka.Options{SessionTimeout: 40 * time.Second},
			kafka.Options{SessionTimeout: 20 * time.Second}
		handler := keeping(b, func(context.Context, *godwit.Delivery) error { return nil })
		w.fill(records, 10)
		p := w.start(lasting, godwit.ConsumerOptions{}, handler)
		w.eventually(30*time.Second, "everything committed", func() bool { return w.committed()[0].At == records })
		lost := w.start(short, godwit.ConsumerOptions{}, handler)
		w.eventually(30*time.Second, "two members at rest", func() bool {
			state,
				members := w.membership()
			return state == "Stable" && members == 2
		})
		lost.crash()
		w.start(lasting, godwit.ConsumerOptions{}, handler)
		w.eventually(10*time.Second, "three members, one of whom is dead",
			func() bool { state, members := w.membership(); return state == "PreparingRebalance" && members == 3 })
		time.Sleep(4 * time.Second) // a heartbeat's time: the first one joins as well
		w.fill(records, 10)
		w.eventually(5*time.Second, "what is handled meanwhile committed",
			func() bool { return w.committed()[0].At == 2*records })
		began := time.Now()
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		took := time.Since(began)
		if state, members := w.membership(); state != "PreparingRebalance" || members != 2 {
			t.Errorf("the group is %s, of %d members, when one has left: it should wait for the dead one and the new "+
				"one", state, members)
		}
		t.Logf("to stop took %v", took)
	})
}

// membership is what the channel's group is, and of how many.
func (w *world) membership() (state string, members int) {
	w.t.Helper()
	groups, err := w.admin.DescribeGroups(w.t.Context(), w.group())
	if err != nil {
		w.t.Fatal(err)
	}
	return groups[w.group()].State, len(groups[w.group()].Members)
}
