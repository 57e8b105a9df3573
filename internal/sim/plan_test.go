package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
)

const (
	// troubleFor is the time of faults in most worlds. After it, the world only drains.
	troubleFor = 10 * time.Minute
	// drainWithin bounds the time to drain. The longest retry of a handler is six minutes, and a key may have several
	// of them in a row.
	drainWithin = 4 * time.Hour
	// slack is the tolerance of checks for calls that are in flight.
	slack = 5 * time.Second
)

// plan is what a seed decides about its world and the main channel, or about the second channel.
type plan struct {
	rng
	name        string // of the channel, unless it belongs to an exchange
	senders     string // prefix of the producers' names
	ordered     bool
	exchange    bool
	keys        int // for each producer; 0: no order keys
	producers   int
	messages    int // for each producer
	slots       int
	attempts    int
	duplicates  float64 // share of receives on a standard queue that deliver twice
	reorder     float64
	backoff     time.Duration
	throughput  bool // HighThroughput
	faults      []fault
	misbehaving float64 // share of handler starts that do not just succeed
	sendFrom    time.Duration
	sendFor     time.Duration
	tenants     bool // consumers have a limit for each tenant
	down        span // when the handlers' dependency is down
	// all consumers have a breaker, or none, because a breaker changes how many receives the queue allows
	breakers  bool
	longest   time.Duration // of a handler that succeeds and is not slow
	lasts     time.Duration // until there are no more faults and sends
	kind      worldKind
	filter    godwit.Filter // of an exchange's consumers
	topicGone time.Duration // when the exchange's topic is deleted; 0: never
	store     bool          // large bodies go to a store
	decides   bool          // messages can be cancelled
	expiry    expiry
	flood     *plan // the second channel, which gets many messages at once; nil: none
}

// worldKind is the special subject of a world, in addition to the checks in all worlds.
type worldKind int

const (
	worldFaults   worldKind = iota // faults of all kinds
	worldCalm                      // for a few minutes, more messages come than the smallest pools can handle
	worldOutage                    // the handlers' dependency is down for half a day, while processes start and stop
	worldKept                      // callers of iterators keep deliveries for longer than SQS allows
	worldWaiting                   // more keys wait for a retry than a consumer has places
	worldShares                    // a fleet has many messages on both channels
	worldOperated                  // operators act on the channel, see operated
	worldKafka                     // the same on Kafka
	worldLater                     // messages are delayed and cancelled, see laterWorld
)

// kindOf makes most worlds ones with faults. The other worlds take long, and a few of each are enough.
func kindOf(seed uint64) worldKind {
	switch seed % 20 {
	case 3:
		return worldOperated
	case 13:
		return worldKafka
	case 0:
		return worldLater
	}
	switch seed % 10 {
	case 9:
		return worldCalm
	case 4:
		return worldOutage
	case 6:
		return worldKept
	case 2:
		return worldWaiting
	case 7:
		return worldShares
	}
	return worldFaults
}

// span is a part of the world's time. It is empty if it ends at 0.
type span struct{ from, to time.Duration }

func (s span) holds(now time.Duration) bool { return now >= s.from && now < s.to }

func newPlan(seed uint64) *plan {
	d := rng(seed)
	r := d.about("plan")
	p := &plan{
		rng: d, name: "orders", senders: "p", kind: kindOf(seed), lasts: troubleFor, sendFor: troubleFor,
		longest: 200 * time.Millisecond, ordered: seed%3 != 0, exchange: seed%4 == 1, slots: 2 + r.IntN(2),
		producers: 1 + r.IntN(3),
	}
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
	p.faults = newFaults(d, p.slots)
	if p.exchange {
		p.filter = pick(r, godwit.Filter{}, godwit.Filter{Prefix: []string{"A."}, Exact: []string{"B"}},
			godwit.Filter{Exclude: []string{"A.1", "C"}})
		if r.chance(0.7) {
			p.topicGone = r.between(time.Minute, 8*time.Minute)
		}
	}
	if p.kind != worldFaults {
		p.withoutFaults(r)
		return p
	}
	if p.store = p.about("store").chance(0.4); p.store {
		p.faults = append(p.faults, newStoreFaults(d)...)
	}
	p.expiry = p.expiring()
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

// newFlood plans the second channel of a world: no messages for most of the time, and then many at once.
func newFlood(p *plan) *plan {
	d := rng(p.about("flood").Uint64())
	r := d.about("plan")
	f := &plan{
		rng: d, name: "flood", senders: "f", kind: p.kind, lasts: p.lasts,
		ordered: r.chance(0.5), slots: p.slots, producers: 1 + r.IntN(2),
	}
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

// withoutFaults changes the plan for a world without faults, with one special subject.
func (p *plan) withoutFaults(r *stream) {
	p.faults, p.misbehaving, p.slots, p.duplicates, p.reorder, p.topicGone = nil, 0, 2, 0, 0, 0
	switch p.kind {
	case worldCalm: // without order, because lanes would limit the rate, too
		p.ordered, p.throughput = false, false
		p.messages = (280+r.IntN(60))/p.producers + 1
		p.sendFrom, p.sendFor = r.between(0, time.Minute), r.between(140*time.Second, 180*time.Second)
	case worldOutage:
		p.lasts, p.breakers = 14*time.Hour, true
		p.down = span{20 * time.Minute, 13 * time.Hour}
		p.messages, p.sendFor = (12+r.IntN(12))/p.producers+1, pick(r, 15*time.Minute, 10*time.Hour)
		p.keys = pick(r, 2, 5)
	case worldKept:
		p.lasts = 14 * time.Hour
		p.messages, p.sendFor = (20+r.IntN(20))/p.producers+1, 2*time.Hour
		p.keys = pick(r, 5, 20)
	case worldWaiting:
		p.ordered, p.keys = true, 20
		p.producers, p.messages = 3, 100+r.IntN(20)
	case worldShares:
		p.ordered, p.throughput, p.slots, p.lasts = false, false, 1, 3*time.Minute
		p.producers, p.messages, p.sendFor = 1, 150+r.IntN(50), 5*time.Second
		p.flood = newFlood(p)
		p.flood.ordered, p.flood.throughput, p.flood.tenants, p.flood.misbehaving = false, false, false, 0
		p.flood.producers, p.flood.messages, p.flood.longest = 1, p.messages, p.longest
		p.flood.sendFrom, p.flood.sendFor = 0, p.sendFor
	}
}

// channel is where the consumers receive. target is where the producers send.
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

// queueName is the name of the queue, and deadName that of its dead letters.
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

// wants reports whether the filter selects a routing key.
func (p *plan) wants(key string) bool {
	f := &p.filter
	if len(f.Exact)+len(f.Prefix) == 0 {
		return key == "" || !slices.Contains(f.Exclude, key)
	}
	return slices.Contains(f.Exact, key) ||
		slices.ContainsFunc(f.Prefix, func(p string) bool { return strings.HasPrefix(key, p) })
}

// label identifies a message by its key and its index in the key's line.
func label(key string, index int) string { return fmt.Sprintf("%s/%d", key, index) }
