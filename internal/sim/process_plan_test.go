package sim

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/godwitmq/godwit"
)

// processPlan is what the seed decides about one process in a slot.
type processPlan struct {
	name      string
	life      time.Duration
	end       end
	pause     time.Duration // until the next process
	pull      pullStyle
	waitPolls bool // shutdown waits for open polls instead of canceling them
	options   godwit.ConsumerOptions
	batch     *godwit.BatchOptions // nil: deliveries are handled one by one
	calls     []call               // to its consumers while it runs, in order of time
	fleet     *fleet               // nil: the process has one consumer
}

// fleet is a process that consumes the main channel and the flood with one RunAll.
type fleet struct {
	options   godwit.FleetOptions
	second    processPlan // of the flood's consumer
	floodsWay bool        // the flood's consumer is the first
	weights   [2]int      // of the main channel's consumer, and the flood's
	priority  int         // of the main channel's consumer
}

type end int

const (
	endStop  end = iota // its context is canceled
	endLeave            // the loop over an iterator ends
	endCrash
)

type pullStyle int

const (
	pullNot pullStyle = iota
	pullOne
	pullBatch
)

func (p *plan) process(slot, n int) processPlan {
	r := p.about("incarnation", slot, n)
	inc := processPlan{name: fmt.Sprintf("c%d.%d", slot, n), life: r.between(5*time.Second, 150*time.Second)}
	inc.end = pick(r, endStop, endCrash)
	inc.pause = pick(r, 0, r.between(0, time.Second), r.between(time.Second, 40*time.Second))
	inc.pull = pick(r, pullNot, pullNot, pullNot, pullOne, pullBatch)
	if inc.pull != pullNot && inc.end == endStop && r.chance(0.5) {
		inc.end = endLeave
	}
	o := &inc.options
	o.Ordered, o.Name, o.HighThroughput, o.Filter = p.ordered, inc.name, p.throughput, p.filter
	o.MaxAge, o.DeadLetterExpired = p.expiry.maxAge, p.expiry.dead
	o.Logger = slog.New(slog.DiscardHandler)
	o.Concurrency = pick(r, 1, 2, 5, 12)
	o.WaitTime = pick(r, 0, -1*time.Nanosecond, 5*time.Second)
	o.Lease = pick(r, 0, 6*time.Second, 15*time.Second)
	o.ProcessingTimeout = pick(r, 2*time.Second, 10*time.Second, 90*time.Second)
	o.ShutdownTimeout = pick(r, time.Second, 4*time.Second, 12*time.Second, 0)
	o.MaxBytes = pick[int64](r, 0, 0, 2000)
	if o.ShutdownTimeout == 0 && r.chance(0.5) { // the default is longer than a poll of 20 s
		inc.waitPolls = true
	}
	if o.WaitTime < 0 && r.chance(0.9) {
		o.WaitTime = 0 // polling without waiting makes many requests; a few such processes are enough
	}
	if p.kind != worldFaults {
		inc.withoutFaults(p, slot, n, r)
		return inc
	}
	inc.widen(p, r)
	inc.save(p, p.about("saving", slot, n))
	if p.flood != nil && (slot == 0 || r.chance(0.3)) { // slot 0 always consumes the flood
		inc.fleet = p.fleet(&inc, slot, n, r)
	}
	return inc
}

// widen decides about batches, limits, breakers and calls.
func (inc *processPlan) widen(p *plan, r *stream) {
	o := &inc.options
	if inc.pull == pullNot && r.chance(0.3) {
		inc.batch = &godwit.BatchOptions{Size: pick(r, 2, 5, 20), Window: pick(r, 0, 100*time.Millisecond,
			2*time.Second, 5*time.Second)}
	}
	if r.chance(0.3) {
		o.MaxConcurrency, o.DelayTolerance = o.Concurrency*pick(r, 2, 5),
			pick(r, time.Second, 5*time.Second, 30*time.Second)
	}
	if p.tenants {
		o.MaxPerTenant = pick(r, 1, 2, 4)
	}
	if p.breakers {
		o.BreakAfter = pick(r, 2, 4, 8)
	}
	if r.chance(0.5) || inc.window() > time.Second {
		inc.calls = newCalls(r, inc.life)
	}
}

// save decides about what saves requests, and about rates.
func (inc *processPlan) save(p *plan, r *stream) {
	o := &inc.options
	o.SettleLinger = pick(r, 0, 0, -1*time.Nanosecond, time.Second)
	o.SaveRequests = r.chance(0.2)
	if r.chance(0.1) {
		o.Rate = godwit.Rate{Events: pick(r, 5, 50), Burst: pick(r, 0, 2)}
	}
	if p.tenants && r.chance(0.3) {
		o.TenantRate = godwit.Rate{Events: pick(r, 5, 50)}
	}
}

// fleet changes the process to one that consumes both channels.
func (p *plan) fleet(inc *processPlan, slot, n int, r *stream) *fleet {
	f := &fleet{second: p.flood.process(slot, n), floodsWay: r.chance(0.5)}
	f.second.name, f.second.waitPolls, f.second.options.ShutdownTimeout = inc.name, inc.waitPolls,
		inc.options.ShutdownTimeout
	inc.pull, f.second.pull = pullNot, pullNot
	if inc.end == endLeave {
		inc.end = endStop
	}
	f.weights = [2]int{pick(r, 1, 1, 3), pick(r, 1, 1, 4)}
	f.priority = pick(r, 0, 0, 1)
	f.options.Concurrency = pick(r, 1, 2, 4)
	f.options.MaxBytes = pick[int64](r, 0, 0, 5000)
	f.options.StopTogether = r.chance(0.5)
	return f
}

// withoutFaults changes the process for a world without faults. In most of these worlds, one process runs all the time.
func (inc *processPlan) withoutFaults(p *plan, slot, n int, r *stream) {
	inc.life, inc.pull, inc.waitPolls = 2*p.lasts, pullNot, false
	o := &inc.options
	o.ProcessingTimeout, o.MaxBytes, o.WaitTime = time.Minute, 0, 0
	switch p.kind {
	case worldCalm: // its pool must grow
		inc.end = endStop
		o.Concurrency, o.MaxConcurrency, o.DelayTolerance = 1, 12, calmTolerance
	case worldOutage:
		inc.waitsLong()
		inc.life, inc.pause = r.between(20*time.Minute, 5*time.Hour), r.between(0, 2*time.Minute)
		o.BreakAfter = pick(r, 2, 4, 8)
	case worldKept:
		inc.end = endStop
		inc.waitsLong()
		if o.Lease = 0; slot == 0 {
			inc.pull = pick(r, pullOne, pullBatch)
		}
	case worldWaiting:
		inc.end = endStop
		o.Concurrency = pick(r, 1, 2, 5)
	case worldShares:
		inc.end = endStop
		o.Concurrency = 5
		if p.flood != nil {
			inc.fleet = p.fleet(inc, slot, n, r)
			inc.fleet.weights = pick(r, [2]int{1, 3}, [2]int{2, 1}, [2]int{2, 5})
			inc.fleet.priority, inc.fleet.options = 0, godwit.FleetOptions{Concurrency: 1}
		}
	}
}

// waitsLong lets the polls of a process wait although its shutdown is short. Half a day of polls without a wait would
// be hundreds of thousands.
func (inc *processPlan) waitsLong() {
	if o := &inc.options; o.ShutdownTimeout > 0 {
		o.ShutdownTimeout = max(o.ShutdownTimeout, 25*time.Second)
	}
}

// calmTolerance is the most age of a message at its first start in a calm world. Without growing pools, messages would
// be several times as old.
const calmTolerance = 2 * time.Minute

// call is a call of a consumer's method while it runs.
type call struct {
	at   time.Duration // since the process began
	what callKind
	n    int // the concurrency
	of   int // which consumer of a fleet
}

type callKind int

const (
	callPause callKind = iota
	callResume
	callLook // check what a paused consumer holds, or that a resumed one requests messages
	callResize
)

// newCalls draws pauses, some of them twice in a row, and changes of concurrency.
func newCalls(r *stream, life time.Duration) (calls []call) {
	of := r.IntN(2)
	for at := r.between(0, life/2); at < life; at += r.between(time.Second, life/2) {
		if r.chance(0.5) {
			calls = append(calls, call{at: at, what: callResize, n: pick(r, 1, 3, 8, 20), of: r.IntN(2)})
			continue
		}
		calls = append(calls, call{at: at, what: callPause, of: of})
		if r.chance(0.3) {
			at += r.between(0, 2*time.Second)
			calls = append(calls, call{at: at, what: callPause, of: of})
		}
		for range r.IntN(3) {
			at += r.between(time.Second, 20*time.Second)
			calls = append(calls, call{at: at, what: callLook, of: of})
		}
		at += r.between(0, 20*time.Second)
		calls = append(calls, call{at: at, what: callResume, of: of})
		if at += settleIn; r.chance(0.8) {
			calls = append(calls, call{at: at, what: callLook, of: of})
		}
	}
	return calls
}

// settleIn is how long the effect of a pause, a resume or a stop may take without faults.
const settleIn = slack

// batchSize is the most deliveries of a handler call, and window the longest wait for them.
func (inc *processPlan) batchSize() int {
	if inc.batch == nil {
		return 1
	}
	return inc.batch.Size
}

func (inc *processPlan) window() time.Duration {
	if inc.batch == nil {
		return 0
	}
	return inc.batch.Window
}

// pollEnds is how long a poll may continue after a pause or stop.
func (inc *processPlan) pollEnds() time.Duration {
	if inc.waitPolls {
		return maxPoll
	}
	return 0
}

// lease is the lease of a receive without a renewal.
func (inc *processPlan) lease() time.Duration {
	if inc.options.Lease == 0 {
		return 30 * time.Second
	}
	return inc.options.Lease
}
