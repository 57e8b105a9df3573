package sim

import (
	"fmt"
	"time"

	"github.com/godwitmq/godwit"
)

const (
	troubleFor = 10 * time.Minute
	// drainWithin bounds the quiet time after the trouble. The longest retry of a handler is six minutes, and a key may
	// have several of them in a row.
	drainWithin = 4 * time.Hour
	// slack is the room that checks of times leave for calls under way.
	slack = 5 * time.Second
)

// plan is what a seed decides for its world.
type plan struct {
	dice
	ordered     bool
	exchange    bool
	keys        int // per producer; 0: no order keys
	producers   int
	messages    int // per producer
	slots       int
	attempts    int
	duplicates  float64 // share of receives on a standard queue
	reorder     float64
	backoff     time.Duration
	throughput  bool // HighThroughput
	storms      []storm
	misbehaving float64 // share of handler starts that do anything but succeed
}

func newPlan(seed uint64) *plan {
	d := dice(seed)
	r := d.about("plan")
	p := &plan{dice: d, ordered: seed%3 != 0, exchange: seed%4 == 1, slots: 2 + r.IntN(2), producers: 1 + r.IntN(3)}
	p.keys = pick(r, 1, 2, 5, 20)
	if r.chance(0.1) {
		p.keys = 0
	}
	p.messages = (200+r.IntN(150))/p.producers + 1
	p.attempts = 2 + r.IntN(4)
	if !p.ordered && r.chance(0.5) {
		p.duplicates, p.reorder = 0.05, 0.2
	}
	p.backoff = r.between(time.Second, 10*time.Second)
	p.throughput = p.ordered && r.chance(0.5)
	p.misbehaving = pick(r, 0.05, 0.15, 0.3)
	p.storms = newStorms(d, p.slots)
	return p
}

// channel is where the consumers receive, and target where the producers send.
func (p *plan) channel() string {
	if p.exchange {
		return "events.audit"
	}
	return "orders"
}

func (p *plan) target() string {
	if p.exchange {
		return "events.*"
	}
	return "orders"
}

// queueName is the queue's on the server, and deadName that of its dead letters.
func (p *plan) queueName() string { return p.named("") }
func (p *plan) deadName() string  { return p.named("--dlq") }

func (p *plan) named(role string) string {
	name := "orders" + role
	if p.exchange {
		name = "events--audit" + role
	}
	if p.ordered {
		name += ".fifo"
	}
	return name
}

// incarnation is one life of a process in a slot.
type incarnation struct {
	name      string
	life      time.Duration
	end       end
	pause     time.Duration // until the next
	pull      pullStyle
	waitPolls bool // open polls are waited for at shutdown, not cancelled
	options   godwit.ConsumerOptions
}

type end int

const (
	endStop  end = iota // its context ends
	endLeave            // an iterator's loop is left
	endCrash
)

type pullStyle int

const (
	pullNot pullStyle = iota
	pullOne
	pullBatch
)

func (p *plan) incarnation(slot, n int) incarnation {
	r := p.about("incarnation", slot, n)
	inc := incarnation{name: fmt.Sprintf("c%d.%d", slot, n), life: r.between(5*time.Second, 150*time.Second)}
	inc.end = pick(r, endStop, endCrash)
	inc.pause = pick(r, 0, r.between(0, time.Second), r.between(time.Second, 40*time.Second))
	inc.pull = pick(r, pullNot, pullNot, pullNot, pullOne, pullBatch)
	if inc.pull != pullNot && inc.end == endStop && r.chance(0.5) {
		inc.end = endLeave
	}
	o := &inc.options
	o.Ordered, o.MaxAttempts, o.Name, o.HighThroughput = p.ordered, p.attempts, inc.name, p.throughput
	o.Concurrency = pick(r, 1, 2, 5, 12)
	o.WaitTime = pick(r, 0, -1*time.Nanosecond, 5*time.Second)
	o.Lease = pick(r, 0, 6*time.Second, 15*time.Second)
	o.ProcessingTimeout = pick(r, 2*time.Second, 10*time.Second, 90*time.Second)
	o.ShutdownTimeout = pick(r, time.Second, 4*time.Second, 12*time.Second, 0)
	o.MaxBytes = pick[int64](r, 0, 0, 2000)
	o.Backoff = godwit.Constant(p.backoff)
	if o.ShutdownTimeout == 0 && r.chance(0.5) { // the default is long enough for a poll of 20 s
		inc.waitPolls = true
	}
	if o.WaitTime < 0 && r.chance(0.9) {
		o.WaitTime = 0 // polling without waiting is the dear way; some is enough
	}
	return inc
}

// lease is how long a receive of the incarnation is its own without a renewal.
func (inc *incarnation) lease() time.Duration {
	if inc.options.Lease == 0 {
		return 30 * time.Second
	}
	return inc.options.Lease
}

// label names a message: its key and its place in the line of that key.
func label(key string, index int) string { return fmt.Sprintf("%s/%d", key, index) }
