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

// The mistake: offsets are committed in the order in which records are finished, and a crash loses the records that are
// still being handled. Here all records after a stuck one are finished, the newest first, and the committed offset
// stays at the stuck record. After a crash this record is delivered again, and no other.
func TestCommitsOutOfOrder(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, stuck = 500, 10
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, records)
		j := newJournal(records)
		release := make(chan struct{})
		handler := noting(j, func(ctx context.Context, d *godwit.Delivery) error {
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
		w.eventually(30*time.Second, "all but one handled", func() bool { n, _ := j.count(); return n == records-1 })
		w.eventually(10*time.Second, "a commit at the stuck record, with the finished ones in its metadata", func() bool {
			o := w.committed()[0]
			if o.At > stuck {
				t.Fatalf("%d is committed, and %d is not finished", o.At, stuck)
			}
			return o.At == stuck && len(o.Metadata) > bareText
		})
		time.Sleep(2 * time.Second) // until the records that finished last are committed
		p.crash()
		if n := j.started(stuck); n != 1 {
			t.Fatalf("record %d was started %d times before the crash", stuck, n)
		}

		close(release)
		p = w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: records}, handler)
		w.eventually(90*time.Second, "the stuck record handled", j.all)
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		if o := w.committed()[0]; o.At != records {
			t.Errorf("%d is committed at the end, want %d", o.At, records)
		}
		if _, handlings := j.count(); handlings != records {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
	})
}

// The mistake: the offset of the last finished record is committed instead of the next one, and each start handles one
// record again.
func TestCommitsOffsetInsteadOfNext(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records = 100
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, 10)
		j := newJournal(records)
		for range 3 {
			p := w.start(kafka.Options{}, godwit.ConsumerOptions{}, noting(j,
				func(context.Context, *godwit.Delivery) error { return nil }))
			w.eventually(60*time.Second, "all records handled", j.all)
			time.Sleep(3 * time.Second) // time for records that must not be delivered
			if _, err := p.stop(); err != nil {
				t.Fatal(err)
			}
			if o := w.committed()[0]; o.At != records || len(o.Metadata) > bareText {
				t.Fatalf("committed is %d with the metadata %q, want %d and no finished records", o.At, o.Metadata, records)
			}
		}
		if _, handlings := j.count(); handlings != records {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
	})
}

// The mistake: a fatal error ends the consumer at once, and the records of other running handlers are handled again, or
// lost. Here running handlers finish, and their records are committed, but not the fatal one. Run returns the error
// when no handler runs any more.
func TestFatalWithoutDrain(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records, fatal = 20, 7
		w.create(1)
		w.ensure(kafka.Options{})
		w.fill(records, records)
		j := newJournal(records)
		p := w.start(kafka.Options{}, godwit.ConsumerOptions{Concurrency: records},
			noting(j, func(ctx context.Context, d *godwit.Delivery) error {
				if number(d) == fatal {
					// until all other handlers have started
					return errors.Join(nap(ctx, 100*time.Millisecond), godwit.Fatal(errOfTest))
				}
				return nap(ctx, 500*time.Millisecond)
			}))
		_, err := p.wait()
		if !isOfTest(err) {
			t.Errorf("Run returned %v", err)
		}
		n, _ := j.count()
		if n != records-1 {
			t.Errorf("%d of the %d others were finished", n, records-1)
		}
		if o := w.committed()[0]; o.At != fatal {
			t.Errorf("%d is committed, want %d", o.At, fatal)
		}
		if j.running() != 0 {
			t.Errorf("%d handlers ran when Run returned", j.running())
		}

		p = w.start(kafka.Options{}, godwit.ConsumerOptions{}, noting(j,
			func(context.Context, *godwit.Delivery) error { return nil }))
		w.eventually(60*time.Second, "the fatal record handled", j.all)
		time.Sleep(time.Second)
		_, _ = p.stop()
		if _, handlings := j.count(); handlings != records {
			t.Errorf("%d records were handled %d times", records, handlings)
		}
	})
}

// The mistake: while a group waits for a crashed member, nothing is committed. If another member crashes or stops then,
// all records that it has finished meanwhile are handled again.
func TestCommitsStandStillWhileMembersJoin(t *testing.T) {
	in(t, func(t *testing.T, w *world) {
		const records = 100
		w.create(1)
		w.ensure(kafka.Options{})
		j := newJournal(2 * records)
		lasting, short := kafka.Options{SessionTimeout: 40 * time.Second},
			kafka.Options{SessionTimeout: 20 * time.Second}
		handler := noting(j, func(context.Context, *godwit.Delivery) error { return nil })
		w.fill(records, 10)
		p := w.start(lasting, godwit.ConsumerOptions{}, handler)
		w.eventually(30*time.Second, "all records committed", func() bool { return w.committed()[0].At == records })
		lost := w.start(short, godwit.ConsumerOptions{}, handler)
		w.eventually(30*time.Second, "two members in a stable group", func() bool {
			state, members := w.membership()
			return state == "Stable" && members == 2
		})
		lost.crash()
		w.start(lasting, godwit.ConsumerOptions{}, handler)
		w.eventually(10*time.Second, "three members, one of which is dead",
			func() bool { state, members := w.membership(); return state == "PreparingRebalance" && members == 3 })
		time.Sleep(4 * time.Second) // longer than a heartbeat interval, so that the first member joins, too
		w.fill(records, 10)
		w.eventually(5*time.Second, "the records handled meanwhile committed",
			func() bool { return w.committed()[0].At == 2*records })
		began := time.Now()
		if _, err := p.stop(); err != nil {
			t.Error(err)
		}
		took := time.Since(began)
		if state, members := w.membership(); state != "PreparingRebalance" || members != 2 {
			t.Errorf("the group is %s with %d members after one has left, want it to wait for the dead member and the new "+
				"one", state, members)
		}
		t.Logf("the stop took %v", took)
	})
}

// membership returns the state of the channel's group, and the number of its members.
func (w *world) membership() (state string, members int) {
	w.t.Helper()
	groups, err := w.admin.DescribeGroups(w.t.Context(), w.group())
	if err != nil {
		w.t.Fatal(err)
	}
	return groups[w.group()].State, len(groups[w.group()].Members)
}
