package sim

import (
	"fmt"
	"time"
)

const (
	troubleFor = 10 * time.Minute
	// drainWithin bounds the quiet time after the trouble. The longest retry of a handler is six minutes, and a key may
	// have several of them in a row.
	drainWithin = 4 * time.Hour
	// slack is the room that checks of times leave for calls under way.
	slack = 5 * time.Second
)

// plan is what a seed decides for its world and the main channel of it, or for the second channel.
type plan struct {
	dice
	name        string // of the channel, unless it is an exchange's
	senders     string // prefix of the producers' names
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
	sendFrom    time.Duration
	sendFor     time.Duration
	tenants     bool          // consumers have a cap for each tenant
	down        span          // when what handlers depend on is down
	breakers    bool          // consumers have a breaker; all of them or none, since it decides how many receives the queue takes
	longest     time.Duration // of a handler that does not misbehave and is not slow
	calm        bool          // nothing goes wrong, but for a few minutes much more comes than the smallest pools can do
	flood       *plan         // of a second channel, on which much comes at once; nil: there is none
}

// span is a part of the world's time; it is empty where it ends at 0.
type span struct{ from, to time.Duration }

func (s span) holds(now time.Duration) bool { return now >= s.from && now < s.to }

func newPlan(seed uint64) *plan {
	d := dice(seed)
	r := d.about("plan")
	p := &plan{dice: d, name: "orders", senders: "p", sendFor: troubleFor, longest: 200 * time.Millisecond, ordered: seed%3 != 0, exchange: seed%4 == 1, slots: 2 + r.IntN(2), producers: 1 + r.IntN(3)}
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
	if seed%10 == 9 {
		p.becalm(r)
		return p
	}
	p.tenants = !p.ordered && p.keys > 0 && r.chance(0.5)
	if r.chance(0.4) {
		p.down.from = r.between(time.Minute, 5*time.Minute)
		p.down.to = p.down.from + r.between(time.Minute, 4*time.Minute)
		p.breakers = r.chance(0.8)
	}
	if r.chance(0.3) {
		p.flood = newFlood(p)
	}
	return p
}

// newFlood plans the second channel of a world: for most of the time nothing comes, and then much at once.
func newFlood(p *plan) *plan {
	d := dice(p.about("flood").Uint64())
	r := d.about("plan")
	f := &plan{dice: d, name: "flood", senders: "f", ordered: r.chance(0.5), slots: p.slots, producers: 1 + r.IntN(2)}
	f.keys = pick(r, 5, 20)
	f.messages = (150+r.IntN(100))/f.producers + 1
	f.attempts = 2 + r.IntN(4)
	f.backoff = r.between(time.Second, 10*time.Second)
	f.throughput = f.ordered && r.chance(0.5)
	f.misbehaving = pick(r, 0, 0.05, 0.15)
	f.sendFrom = r.between(30*time.Second, 6*time.Minute)
	f.sendFor = r.between(5*time.Second, time.Minute)
	f.tenants = !f.ordered && r.chance(0.5)
	f.longest = pick(r, 200*time.Millisecond, 2*time.Second)
	f.down, f.breakers = p.down, p.breakers
	return f
}

// becalm makes a world in which pools need only grow and shrink in time. Where order is kept, lanes set the pace as well.
func (p *plan) becalm(r *roll) {
	p.calm, p.ordered, p.throughput, p.storms, p.misbehaving, p.slots = true, false, false, nil, 0, 2
	p.duplicates, p.reorder = 0, 0
	p.messages = (280+r.IntN(60))/p.producers + 1
	p.sendFrom, p.sendFor = r.between(0, time.Minute), r.between(140*time.Second, 180*time.Second)
}

// channel is where the consumers receive, and target where the producers send.
func (p *plan) channel() string {
	if p.exchange {
		return "events.audit"
	}
	return p.name
}

func (p *plan) target() string {
	if p.exchange {
		return "events.*"
	}
	return p.name
}

// queueName is the queue's on the server, and deadName that of its dead letters.
func (p *plan) queueName() string { return p.named("") }
func (p *plan) deadName() string  { return p.named("--dlq") }

func (p *plan) named(role string) string {
	name := p.name + role
	if p.exchange {
		name = "events--audit" + role
	}
	if p.ordered {
		name += ".fifo"
	}
	return name
}

// label names a message: its key and its place in the line of that key.
func label(key string, index int) string { return fmt.Sprintf("%s/%d", key, index) }
