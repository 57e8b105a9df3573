package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
)

const (
	// troubleFor is how long most worlds last, before all that is left is to drain.
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
	breakers    bool          // all consumers have a breaker, or none: it decides how many receives the queue takes
	longest     time.Duration // of a handler that does not misbehave and is not slow
	lasts       time.Duration // until nothing goes wrong any more, and nothing more is sent
	kind        worldKind
	filter      godwit.Filter // of an exchange's consumers
	topicGone   time.Duration // when the exchange's topic is deleted; 0: never
	flood       *plan         // of a second channel, on which much comes at once; nil: there is none
}

// worldKind is what a world is there to show, beside the promises that hold in all of them.
type worldKind int

const (
	worldStormy  worldKind = iota // faults of all kinds
	worldCalm                     // for a few minutes much more comes than the smallest pools can do
	worldOutage                   // what handlers depend on is down for half a day, while processes start and stop
	worldKept                     // callers of iterators keep deliveries for longer than the service leaves them
	worldWaiting                  // more keys wait for a retry than a consumer has places
	worldShares                   // a fleet has much to do on both of its channels
)

// kindOf gives most worlds to faults. Of the long ones a few are enough.
func kindOf(seed uint64) worldKind {
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
	return worldStormy
}

// span is a part of the world's time; it is empty where it ends at 0.
type span struct{ from, to time.Duration }

func (s span) holds(now time.Duration) bool { return now >= s.from && now < s.to }

func newPlan(seed uint64) *plan {
	d := dice(seed)
	r := d.about("plan")
	p := &plan{dice: d, name: "orders", senders: "p", kind: kindOf(seed), lasts: troubleFor, sendFor: troubleFor,
		longest: 200 * time.Millisecond, ordered: seed%3 != 0, exchange: seed%4 == 1, slots: 2 + r.IntN(2), producers: 1 + r.IntN(3)}
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
	if p.exchange {
		p.filter = pick(r, godwit.Filter{}, godwit.Filter{Prefix: []string{"A."}, Exact: []string{"B"}},
			godwit.Filter{Exclude: []string{"A.1", "C"}})
		if r.chance(0.7) {
			p.topicGone = r.between(time.Minute, 8*time.Minute)
		}
	}
	if p.kind != worldStormy {
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
	f := &plan{dice: d, name: "flood", senders: "f", kind: p.kind, lasts: p.lasts,
		ordered: r.chance(0.5), slots: p.slots, producers: 1 + r.IntN(2)}
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

// becalm makes a world without storms, for what only shows where nothing else goes wrong.
func (p *plan) becalm(r *roll) {
	p.storms, p.misbehaving, p.slots, p.duplicates, p.reorder, p.topicGone = nil, 0, 2, 0, 0, 0
	switch p.kind {
	case worldCalm: // where order is kept, lanes set the pace as well
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

// wants says whether the filter lets a routing key pass.
func (p *plan) wants(key string) bool {
	f := &p.filter
	if len(f.Exact)+len(f.Prefix) == 0 {
		return key == "" || !slices.Contains(f.Exclude, key)
	}
	return slices.Contains(f.Exact, key) ||
		slices.ContainsFunc(f.Prefix, func(p string) bool { return strings.HasPrefix(key, p) })
}

// label names a message: its key and its place in the line of that key.
func label(key string, index int) string { return fmt.Sprintf("%s/%d", key, index) }
