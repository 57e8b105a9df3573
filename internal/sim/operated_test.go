package sim

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

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/driver"
)

// carrier is what carries the messages of an operated world.
type carrier interface {
	// join returns the backend of a process, and its connections.
	join(name string) (driver.Backend, connections, error)
	// left says what is wrong with what a stopped process has left in the channel.
	left(p *worker) []string
	// results returns how often each label is in the channel of results.
	results() (map[string]int, error)
	close() error
}

// connections are the connections of a process: all of them at once are cut, as in a crash, and permitted again.
type connections interface {
	cut()
	mend()
}

// operatedPlan is what a seed decides about an operated world.
type operatedPlan struct {
	rng
	kafka       bool
	ordered     bool
	share       bool // a share group of Kafka
	park        bool // Kafka's retries wait in topics, with their keys
	transform   bool // messages become results, in transactions
	keys        int
	messages    int
	slots       int
	attempts    int
	misbehaving float64 // share of handler starts that do not just succeed
	methods     bool    // handlers settle by methods of the delivery
	after       error   // what they return then
	idempotent  bool
	store       bool            // large bodies go to a store
	stream      bool            // handlers open large bodies themselves
	down        span            // when the handlers' dependency is down, and consumers have a breaker
	deploys     []time.Duration // when all processes stop
	bursts      []time.Duration // when the producer sends many messages at once
	lasts       time.Duration
}

const (
	operatedFor    = 10 * time.Minute
	operatedDrains = 90 * time.Minute
	burst          = 60 // messages
	afterBurst     = 30 // that follow one by one, so that some come during a deploy
)

func newOperatedPlan(seed uint64) *operatedPlan {
	r := rng(seed).about("operated")
	p := &operatedPlan{
		rng: rng(seed), kafka: kindOf(seed) == worldKafka, ordered: r.chance(0.6), keys: pick(r, 1, 2, 5, 20),
		messages: 300 + r.IntN(150), slots: 2 + r.IntN(2), attempts: 2 + r.IntN(2), misbehaving: pick(r, 0.2, 0.4),
		methods: r.chance(0.5), idempotent: r.chance(0.5), lasts: operatedFor,
	}
	if r.chance(0.5) {
		p.after = errBusiness
	}
	if r.chance(0.4) {
		p.down.from = r.between(time.Minute, 5*time.Minute)
		p.down.to = p.down.from + r.between(time.Minute, 3*time.Minute)
	}
	for at := r.between(time.Minute, 3*time.Minute); at < p.lasts; at += r.between(2*time.Minute, 5*time.Minute) {
		p.bursts = append(p.bursts, at)
		p.deploys = append(p.deploys, at+r.between(0, 5*time.Second))
	}
	if !p.kafka {
		p.store = r.chance(0.4)
		p.stream = p.store && r.chance(0.5)
		return p
	}
	switch r.IntN(4) {
	case 0:
		p.share, p.ordered = true, false
	case 1:
		p.transform, p.methods, p.idempotent, p.down = true, false, false, span{}
	}
	p.park = p.ordered && r.chance(0.5)
	return p
}

// operated is the run of an operated world. Unlike the other worlds it knows nothing of requests: it checks with the
// ledger of its messages alone what holds on both services.
type operated struct {
	*operatedPlan
	trace     *trace
	tally     *tally
	carrier   carrier
	ledger    *operatedLedger
	finished  *godwit.MemoryStore // of Idempotent
	drained   chan struct{}
	journals  string // the folder of the requeues' journals
	processes sync.WaitGroup
}

// runOperated runs a seed's world in a bubble and returns what is wrong with it.
func runOperated(t *testing.T, seed uint64) (w *world, wrong []string) {
	w = &world{seed: seed, plan: newPlan(seed), tally: newTally()}
	o := &operated{
		operatedPlan: newOperatedPlan(seed), trace: &w.trace, tally: w.tally, journals: t.TempDir(),
		finished: godwit.NewMemoryStore(0),
	}
	defer func() {
		if p := recover(); p != nil {
			wrong = append(wrong, fmt.Sprintf("the run ended with a panic: %v", p))
		}
		if o.ledger != nil {
			wrong = append(wrong, o.ledger.wrong...)
		}
	}()
	synctest.Test(t, func(*testing.T) {
		w.trace.begun = time.Now()
		o.drained = make(chan struct{})
		o.ledger = newOperatedLedger(o)
		if err := o.run(); err != nil {
			o.ledger.violated(nil, "%v", err)
		}
	})
	w.rest = o.lasts
	return w, wrong
}

func (o *operated) now() time.Duration { return time.Since(o.trace.begun) }

func (o *operated) run() (err error) {
	o.tally.add(countOperated, 1)
	o.trace.note("the plan: %+v", *o.operatedPlan)
	if o.kafka {
		o.carrier, err = newKafkaCarrier(o)
	} else {
		o.carrier, err = newSQSCarrier(o)
	}
	if err != nil {
		return err
	}
	if err := o.provision(); err != nil {
		return err
	}
	var slots, people sync.WaitGroup
	for n := range o.slots {
		slots.Go(func() { o.slot(n) })
	}
	people.Go(o.producer)
	people.Go(o.operator)
	people.Go(o.stranded)
	people.Wait()
	if d := o.lasts - o.now(); d > 0 {
		time.Sleep(d)
	}
	o.ledger.drain()
	close(o.drained)
	slots.Wait()
	o.processes.Wait()
	letters, err := o.deadLetters()
	if err != nil {
		return err
	}
	var results map[string]int
	if o.transform {
		if results, err = o.carrier.results(); err != nil {
			return err
		}
	}
	o.ledger.conclude(letters, results)
	return o.carrier.close()
}

// provision creates the channel before the first message is sent.
func (o *operated) provision() error {
	b, _, err := o.carrier.join("provision")
	if err != nil {
		return err
	}
	for _, name := range []string{"orders", "results"} {
		c, err := godwit.NewConsumer(context.Background(), b, name, &godwit.ConsumerOptions{Ordered: o.ordered})
		if err != nil {
			return err
		}
		if _, err := c.Close(context.Background()); err != nil {
			return err
		}
	}
	return b.Close(context.Background())
}

// producer sends the messages of all keys, one by one or many at once.
func (o *operated) producer() {
	b, _, err := o.carrier.join("producer")
	if err != nil {
		o.ledger.violated(nil, "producer: %v", err)
		return
	}
	p, err := godwit.NewProducer(context.Background(), b, "orders", &godwit.ProducerOptions{Ordered: o.ordered})
	if err != nil {
		o.ledger.violated(nil, "producer: %v", err)
		return
	}
	bursts, soon := o.bursts, 0
	for sent := 0; sent < o.messages; {
		r := o.about("send", sent)
		n, pause := 1+r.IntN(3), 2*8*time.Minute*3/time.Duration(o.messages)
		switch {
		case len(bursts) > 0 && o.now() >= bursts[0]:
			n, pause, bursts, soon = burst, time.Second, bursts[1:], afterBurst
		case soon > 0:
			n, pause, soon = 1, 300*time.Millisecond, soon-1
		}
		var ms []godwit.Message
		for range n {
			ms = append(ms, o.compose(r))
			sent++
		}
		if err := p.SendBatch(context.Background(), ms); err != nil {
			o.ledger.violated(nil, "send: %v", err)
		}
		for i := range ms {
			o.ledger.accepted(ms[i].Headers.Value("label"))
		}
		pause = r.between(0, pause)
		if len(bursts) > 0 {
			pause = min(pause, max(0, bursts[0]-o.now()))
		}
		time.Sleep(pause)
	}
	if err := errors.Join(p.Close(context.Background()), b.Close(context.Background())); err != nil {
		o.ledger.violated(nil, "close the producer: %v", err)
	}
}

// stranded loses its connections while it sends to a channel of its own. Its Close ends with its context all the same.
func (o *operated) stranded() {
	r := o.about("stranded")
	b, net, err := o.carrier.join("stranded")
	if err != nil {
		o.ledger.violated(nil, "stranded: %v", err)
		return
	}
	p, err := godwit.NewProducer(context.Background(), b, "aside", nil)
	if err != nil {
		o.ledger.violated(nil, "stranded: %v", err)
		return
	}
	time.Sleep(r.between(0, time.Minute))
	net.cut()
	for range 1 + r.IntN(20) {
		if _, err := p.SendAsync(context.Background(), godwit.Message{Body: []byte("x")}); err != nil {
			o.trace.note("stranded: %v", err)
		}
	}
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	begun := time.Now()
	err = p.Close(ctx)
	if took := time.Since(begun); took > patience+time.Second {
		o.ledger.violated(nil, "the Close of a producer without connections took %v, and its context %v", took, patience)
	}
	if err == nil {
		o.ledger.violated(nil, "the Close of a producer without connections says that all is sent")
	}
	_ = b.Close(ctx)
}

func (o *operated) compose(r *stream) godwit.Message {
	m := o.ledger.add(fmt.Sprintf("k%d", r.IntN(o.keys)))
	return godwit.Message{
		Body: []byte(m.label + "\n" + strings.Repeat("x", r.IntN(600))), OrderKey: m.key,
		Headers: godwit.Headers{{Name: "label", Value: m.label}},
	}
}

// letter of an operated world is what is left of a message in the dead letters.
type operatedLetter struct {
	label    string
	redriven bool // by the service
}

// deadLetters reads the dead letters with a consumer.
func (o *operated) deadLetters() (letters []operatedLetter, err error) {
	b, _, err := o.carrier.join("reader")
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	c, err := godwit.NewConsumer(context.Background(), b, "orders@dlq", nil)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	_, err = c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		letters = append(letters, operatedLetter{d.Headers.Value("label"), d.Death == nil || d.Death.Kind == ""})
		return nil
	})
	return letters, errors.Join(err, b.Close(context.Background()))
}

// nextDeploy returns when all processes stop next, or a time that does not come.
func (o *operated) nextDeploy() time.Duration {
	if i := slices.IndexFunc(o.deploys, func(at time.Duration) bool { return at > o.now() }); i >= 0 {
		return o.deploys[i]
	}
	return 1 << 60
}
