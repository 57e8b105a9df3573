package sim

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// world is one seed's run.
type world struct {
	seed    uint64
	plan    *plan
	server  *localaws.Server
	books   []*books // of the main channel, and of the flood if there is one
	trace   trace
	tally   *tally
	drained chan struct{}  // closed when nothing is left to handle
	rest    time.Duration  // how long that took after the trouble
	remains sync.WaitGroup // of processes
	slots   sync.WaitGroup

	lock     sync.Mutex // of the books
	mu       sync.Mutex
	failures []string // of the simulation itself
}

// live runs a seed's world in a bubble and returns what is wrong with it. A goroutine that is left at the end is wrong, too.
func live(t *testing.T, seed uint64) (w *world, wrong []string) {
	w = &world{seed: seed, plan: newPlan(seed), tally: newTally()}
	defer func() {
		if p := recover(); p != nil {
			wrong = append(wrong, fmt.Sprintf("the bubble burst: %v", p))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w.trace.begun = time.Now()
		w.drained = make(chan struct{})
		w.books = []*books{newBooks(w, w.plan)}
		if w.plan.flood != nil {
			w.books = append(w.books, newBooks(w, w.plan.flood))
		}
		if err := w.run(); err != nil {
			w.fail("%v", err)
		}
	})
	wrong = w.failures
	for _, b := range w.books {
		wrong = append(wrong, b.complained()...)
	}
	return w, wrong
}

func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failures = append(w.failures, fmt.Sprintf(format, args...))
}

func (w *world) run() (err error) {
	if w.server, err = localaws.New(&localaws.Options{Seed: w.seed}); err != nil {
		return err
	}
	for _, b := range w.books {
		if err := w.provision(b.plan); err != nil {
			return err
		}
	}
	w.server.Control("*", w.weather)
	if w.plan.duplicates > 0 {
		w.server.SQS().Queue(w.plan.queueName()).Chaos(queue.Chaos{Duplicate: w.plan.duplicates, Reorder: w.plan.reorder})
	}
	for i := range w.plan.slots {
		w.slots.Go(func() { w.slot(i) })
	}
	if w.plan.topicGone > 0 {
		w.slots.Go(w.deleteTopic)
	}
	var producers sync.WaitGroup
	for _, b := range w.books {
		for i := range b.plan.producers {
			producers.Go(func() { w.producer(b, i) })
		}
	}
	time.Sleep(time.Until(w.trace.begun.Add(w.plan.lasts)))
	w.server.SQS().Queue(w.plan.queueName()).Chaos(queue.Chaos{})
	producers.Wait()
	for _, b := range w.books {
		b.drain()
	}
	w.rest = time.Since(w.trace.begun) - w.plan.lasts
	close(w.drained)
	w.slots.Wait()
	w.remains.Wait()
	for _, b := range w.books {
		b.conclude()
	}
	w.count()
	return w.server.Close()
}

// deleteTopic deletes the exchange's topic behind the back of all.
func (w *world) deleteTopic() {
	time.Sleep(w.plan.topicGone)
	w.tally.add(struckTopicGone, 1)
	w.trace.note("the topic is deleted")
	name := "events"
	if w.plan.ordered {
		name += ".fifo"
	}
	conf := aws.Config{Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		HTTPClient:  &http.Client{Transport: w.server.Transport()},
		Credentials: credentials.NewStaticCredentialsProvider("operator", "secret", "")}
	in := &sns.DeleteTopicInput{TopicArn: aws.String("arn:aws:sns:us-east-1:000000000000:" + name)}
	if _, err := sns.NewFromConfig(conf).DeleteTopic(context.Background(), in); err != nil {
		w.fail("delete the topic: %v", err)
	}
}

// provision makes the channel before the first message, as a deployment would: a topic without a subscription
// accepts what nobody ever sees.
func (w *world) provision(p *plan) error {
	b, err := w.tap("provision").backend(false)
	if err != nil {
		return err
	}
	defer b.Close(context.Background())
	o := p.incarnation(0, 0).options
	c, err := godwit.NewConsumer(context.Background(), b, p.channel(), &o)
	if err != nil {
		return err
	}
	_, err = c.Close(context.Background())
	return err
}

// drain waits until the queue is empty.
func (b *books) drain() {
	q := b.w.server.SQS().Queue(b.plan.queueName()).Model()
	for {
		left := q.Messages()
		if len(left) == 0 {
			return
		}
		if time.Since(b.w.trace.begun) >= b.w.plan.lasts+drainWithin {
			b.stuck(left)
			return
		}
		time.Sleep(5 * time.Second)
	}
}

// conclude looks at what became of every message, dead letters included.
func (b *books) conclude() {
	dead := b.deadLetters()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.messages {
		if m.accepted && !m.unwanted && !m.success && !m.dropped && len(dead[m.label]) == 0 {
			b.complain([]string{m.label}, "%s is lost: it was accepted, and neither handled nor dead-lettered", m.label)
		}
	}
	for name, copies := range dead {
		b.letters(name, copies)
	}
}

// letters checks the copies of one message in the dead letters.
func (b *books) letters(name string, copies []letter) {
	m := b.messages[name]
	if m == nil {
		b.complain(nil, "dead letter %q was never sent", name)
		return
	}
	b.w.tally.add(countDead, 1)
	ids := map[string]bool{} // a send that was repeated after a lost answer has two
	for i, c := range copies {
		switch {
		case c.redriven:
			b.w.tally.add(countRedriven, 1)
			if b.plan.tenants {
				b.complain([]string{name}, "%s is dead-lettered by the service's own count, which must not come from shares of tenants", name)
			}
			continue
		case !m.rejected:
			b.complain([]string{name}, "%s is dead-lettered although no verdict said so", name)
		}
		if !m.ids[c.original] {
			b.complain([]string{name}, "the dead letter of %s names %q as its original, which never came", name, c.original)
		}
		if !ids[c.original] {
			ids[c.original] = true
			continue
		}
		b.w.tally.add(countSecond, 1)
		// On an ordered channel the copy's own id keeps a second one out for as long as the service remembers.
		if b.plan.ordered && c.at.Sub(copies[i-1].at) < queue.DedupWindow {
			b.complain([]string{name}, "%s has a second dead letter within %v on an ordered channel", name, c.at.Sub(copies[i-1].at))
		}
	}
}

// letter is one copy in the dead letters.
type letter struct {
	original string
	at       time.Time
	redriven bool // by the service
}

// deadLetters reads them the way an operator does, with a consumer, and beside that off the server.
func (b *books) deadLetters() map[string][]letter {
	w := b.w
	letters := map[string][]letter{}
	source := map[string]bool{}
	sent := map[string]time.Time{}
	for _, v := range w.server.SQS().Queue(b.plan.deadName()).Model().Messages() {
		source[v.ID], sent[v.ID] = v.Source != "", v.Sent
	}
	var mu sync.Mutex
	tap := w.tap("undertaker")
	backend, err := tap.backend(false)
	if err != nil {
		w.fail("undertaker: %v", err)
		return nil
	}
	defer backend.Close(context.Background())
	c, err := godwit.NewConsumer(context.Background(), backend, b.plan.channel()+"@dlq", &godwit.ConsumerOptions{Ordered: b.plan.ordered, HighThroughput: b.plan.throughput})
	if err != nil {
		w.fail("undertaker: %v", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if _, err := c.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		l := letter{redriven: source[d.ID], at: sent[d.ID]}
		if d.Death != nil {
			l.original = d.Death.MessageID
		}
		if !l.redriven && (d.Death == nil || d.Death.Error == "") {
			w.fail("dead letter %s does not tell why it died: %+v", labelOf(string(d.Body)), d.Death)
		}
		name := labelOf(string(d.Body))
		letters[name] = append(letters[name], l)
		return nil
	}); err != nil {
		w.fail("undertaker: %v", err)
	}
	if n := len(source); n > 0 {
		read := 0
		for _, ls := range letters {
			read += len(ls)
		}
		if read != n {
			w.fail("%d dead letters were read of %d", read, n)
		}
	}
	return letters
}

// count enters what this world was like.
func (w *world) count() {
	w.tally.add(countWorlds, 1)
	if w.plan.ordered {
		w.tally.add(countOrdered, 1)
	}
	if w.plan.exchange {
		w.tally.add(countExchange, 1)
	}
	w.tally.add(kindCounts()[w.plan.kind], 1)
	for _, b := range w.books {
		for _, m := range b.messages {
			w.tally.add(countMessages, 1)
			if m.accepted {
				w.tally.add(countAccepted, 1)
			} else {
				w.tally.add(countDoubtful, 1)
			}
		}
	}
}

// stuck enters that the world did not drain.
func (b *books) stuck(left []queue.View) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var some []string
	for _, v := range left[:min(len(left), 5)] {
		some = append(some, fmt.Sprintf("%s (%s, %d receives)", labelOf(v.Body), v.State, v.Count))
	}
	b.complain([]string{labelOf(left[0].Body)}, "not drained %v after the trouble: %d messages are left of %s: %s",
		drainWithin, len(left), b.plan.channel(), strings.Join(some, ", "))
}

// over enters that a consumer has returned.
func (b *books) over(p *member, r godwit.Report, err error) {
	b.mu.Lock()
	crashed := p.crashed
	b.mu.Unlock()
	if !crashed {
		b.stopped(p, r, err)
	}
}

// busy says whether a process has handlers running.
func (b *books) busy(p *member) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range p.handles {
		if h.running {
			return true
		}
	}
	return false
}
