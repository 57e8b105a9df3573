package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/ops"
)

// operator acts on the channel until the time of operators is over.
func (o *operated) operator() {
	acts := []func(driver.Backend, string, *stream){
		o.requeue, o.requeue, o.requeue, o.requeueSlowly, o.requeueSlowly, o.requeueAndCrash, o.requeueAndStop,
		o.sweep, o.alert,
	}
	if !o.kafka {
		acts = append(acts, o.pause)
	}
	for n := 0; ; n++ {
		r := o.about("operator", n)
		time.Sleep(r.between(10*time.Second, 100*time.Second))
		if o.now() > o.lasts {
			return
		}
		act := pick(r, acts...)
		if r.chance(0.05) {
			act = o.purge
		}
		o.act(fmt.Sprintf("operator%d", n), r, act)
	}
}

// act opens the backend of an operator and lets it act.
func (o *operated) act(name string, r *stream, act func(driver.Backend, string, *stream)) {
	b, _, err := o.carrier.join(name)
	if err != nil {
		o.ledger.violated(nil, "%s: %v", name, err)
		return
	}
	act(b, name, r)
	if err := b.Close(context.Background()); err != nil {
		o.ledger.violated(nil, "%s: close: %v", name, err)
	}
}

// requeue sends the dead letters back.
func (o *operated) requeue(b driver.Backend, name string, r *stream) {
	q := &ops.RequeueOptions{
		Journal: filepath.Join(o.journals, name), MaxDeaths: pick(r, 0, 0, -1),
		PerSecond: pick[float64](r, 0, 0, 2),
	}
	switch r.IntN(4) {
	case 0:
		q.Most = 1 + r.IntN(10)
	case 1:
		chosen := byte('0' + r.IntN(5))
		q.Select.Body = func(body []byte) (bool, error) {
			label := labelOf(string(body))
			return label[len(label)-1] != chosen, nil
		}
	}
	o.runs(b, q)
}

// requeueSlowly edits what it sends, and takes longer than a lease for it.
func (o *operated) requeueSlowly(b driver.Backend, name string, r *stream) {
	takes := r.between(500*time.Millisecond, 7*time.Second)
	o.tally.add(seenSlowRequeue, 1)
	o.runs(b, &ops.RequeueOptions{
		Journal: filepath.Join(o.journals, name), MaxDeaths: -1,
		Edit: func(body []byte) ([]byte, error) {
			time.Sleep(takes)
			return append(bytes.Clone(body), "\nedited"...), nil
		},
	})
}

// requeueAndStop ends a run early.
func (o *operated) requeueAndStop(b driver.Backend, name string, r *stream) {
	ctx, cancel := context.WithTimeout(context.Background(), r.between(0, 5*time.Second))
	defer cancel()
	result, err := ops.Requeue(ctx, b, "orders@dlq", &ops.RequeueOptions{
		Journal: filepath.Join(o.journals, name), MaxDeaths: -1,
		Edit: func(body []byte) ([]byte, error) {
			time.Sleep(300 * time.Millisecond)
			return body, nil
		},
	})
	if result != nil {
		o.ledger.requeued(result.Moved, len(result.Doubled))
	}
	if err != nil && ctx.Err() == nil {
		o.unless(err, "requeue")
	}
	o.runs(b, &ops.RequeueOptions{Journal: filepath.Join(o.journals, name), MaxDeaths: -1})
}

// requeueAndCrash crashes in a run. The next one goes on at once, with the same journal.
func (o *operated) requeueAndCrash(b driver.Backend, name string, r *stream) {
	mortal, net, err := o.carrier.join(name + "-crashes")
	if err != nil {
		o.ledger.violated(nil, "%s: %v", name, err)
		return
	}
	o.tally.add(seenRequeueCrash, 1)
	journal := filepath.Join(o.journals, name)
	ctx, cancel := context.WithCancel(context.Background())
	moved := int64(0)
	dead := make(chan struct{})
	o.processes.Go(func() {
		defer close(dead)
		_, _ = ops.Requeue(ctx, mortal, "orders@dlq", &ops.RequeueOptions{
			Journal: journal, MaxDeaths: -1,
			Edit: func(body []byte) ([]byte, error) {
				time.Sleep(200 * time.Millisecond)
				return body, nil
			},
			Progress: func(p *ops.RequeueResult) { moved = p.Moved },
		})
	})
	select {
	case <-dead:
	case <-time.After(r.between(0, 15*time.Second)):
	}
	left, err := os.ReadFile(journal) // as it is when the process dies
	net.cut()
	o.ledger.requeueCrashed()
	cancel()
	<-dead
	_ = mortal.Close(context.Background())
	if err == nil {
		err = os.WriteFile(journal, left, 0o600)
	} else if errors.Is(err, os.ErrNotExist) {
		err = os.RemoveAll(journal)
	}
	if err != nil {
		o.ledger.violated(nil, "%s: %v", name, err)
	}
	o.ledger.requeued(moved, 0)
	o.runs(b, &ops.RequeueOptions{Journal: journal, MaxDeaths: -1})
}

// runs requeues until a run has seen all messages that were there.
func (o *operated) runs(b driver.Backend, q *ops.RequeueOptions) {
	for range 4 {
		dead, sent, begun := o.ledger.surelyDead(), o.ledger.sent(), time.Now()
		r, err := ops.Requeue(context.Background(), b, "orders@dlq", q)
		if r != nil {
			o.trace.note("a requeue: %+v, %v", *r, err)
			o.ledger.requeued(r.Moved, len(r.Doubled))
			if most := o.ledger.letters(begun, sent); r.Moved > most {
				o.ledger.violated(nil, "a requeue has sent %d messages, and %d were dead when it began", r.Moved, most)
			}
		}
		unseen, _ := errors.AsType[*ops.UnseenError](err)
		if unseen != nil {
			o.tally.add(seenUnseen, 1)
			time.Sleep(unseen.After + time.Second)
			continue
		}
		if err != nil {
			o.ledger.violated(nil, "requeue: %v", err)
			return
		}
		s := r.Stay
		stay := s.NotSelected + s.TooOften + s.Refused + s.Behind + s.TooMany + s.Later
		seen := r.Moved + stay
		if stay > 0 { // an ordered queue hides what is behind them
			seen += s.Unlooked
		}
		enough := q.Most > 0 && r.Moved >= int64(q.Most)
		if seen < int64(dead) && !enough && r.Native == nil {
			o.ledger.violated(nil, "a requeue has seen %d of %d dead letters, and says nothing of it: %+v", seen, dead, *r)
		}
		if _, err := os.Stat(q.Journal); err == nil && len(r.Doubled) == 0 {
			o.ledger.violated(nil, "a requeue has ended and left its journal: %+v", *r)
		}
		return
	}
	o.ledger.violated(nil, "four requeues have not seen all dead letters")
}

func (o *operated) unless(err error, what string) {
	if _, ok := errors.AsType[*ops.UnseenError](err); err != nil && !ok {
		o.ledger.violated(nil, "%s: %v", what, err)
	}
}

// purge deletes the dead letters.
func (o *operated) purge(b driver.Backend, _ string, _ *stream) {
	o.tally.add(seenPurge, 1)
	o.trace.note("an operator purges the dead letters")
	o.ledger.purges()
	if _, err := ops.Purge(context.Background(), b, "orders@dlq", nil); err != nil {
		o.ledger.violated(nil, "purge: %v", err)
	}
	for range 65 { // a purge may take a minute
		time.Sleep(time.Second)
		o.ledger.purges()
	}
}

// pause lets the service refuse all receives for a while.
func (o *operated) pause(b driver.Backend, _ string, r *stream) {
	o.tally.add(seenPolicyPause, 1)
	if _, err := ops.Pause(context.Background(), b, "orders", nil); err != nil {
		o.ledger.violated(nil, "pause: %v", err)
	}
	o.ledger.pauses(true)
	time.Sleep(r.between(10*time.Second, 90*time.Second))
	o.ledger.pauses(false)
	if _, err := ops.Resume(context.Background(), b, "orders", nil); err != nil {
		o.ledger.violated(nil, "resume: %v", err)
	}
}

// sweep finds no channel that may be deleted, because all of them are in use or new.
func (o *operated) sweep(b driver.Backend, name string, _ *stream) {
	o.tally.add(seenSweep, 1)
	state, err := ops.NewFileState(filepath.Join(o.journals, name))
	if err != nil {
		o.ledger.violated(nil, "sweep: %v", err)
		return
	}
	report, err := ops.Sweep(context.Background(), b, &ops.SweepOptions{State: state})
	if err != nil {
		o.ledger.violated(nil, "sweep: %v", err)
		return
	}
	for _, f := range report.Findings {
		if f.Action != ops.SweepNothing {
			o.ledger.violated(nil, "a sweep has done %s to %s: %s", f.Action, f.Channel, f.Reason)
		}
	}
}

// alert tells of dead letters, and takes none of them.
func (o *operated) alert(b driver.Backend, _ string, _ *stream) {
	o.tally.add(seenAlert, 1)
	alerts, err := ops.NewAlerts(b, &ops.AlertsOptions{
		Routes: []ops.Route{{Name: "all", To: ops.NewWriterNotifier(io.Discard)}},
	})
	if err != nil {
		o.ledger.violated(nil, "alerts: %v", err)
		return
	}
	if _, err := alerts.Once(context.Background(), ops.LookSources|ops.LookDeadLetters); err != nil {
		o.ledger.violated(nil, "alerts: %v", err)
	}
}
