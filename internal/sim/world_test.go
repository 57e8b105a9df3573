package sim

import (
	"context"
	"fmt"
	"net/http"
	"slices"
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

// world is the run of one seed.
type world struct {
	storedBodies
	seed      uint64
	plan      *plan
	server    *localaws.Server
	checkers  []*checker // of the main channel, and of the flood if there is one
	trace     trace
	tally     *tally
	drained   chan struct{}  // closed when no messages are left
	rest      time.Duration  // the time to drain after the time of faults
	processes sync.WaitGroup // goroutines of processes
	slots     sync.WaitGroup

	lock     sync.Mutex // of the checkers
	mu       sync.Mutex
	failures []string // of the simulation itself
}

// runSeed runs a seed's world in a bubble and returns what is wrong with it. A goroutine that is left at the end is an
// error, too.
func runSeed(t *testing.T, seed uint64) (w *world, wrong []string) {
	w = &world{seed: seed, plan: newPlan(seed), tally: newTally()}
	defer func() {
		if p := recover(); p != nil {
			wrong = append(wrong, fmt.Sprintf("the run ended with a panic: %v", p))
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		w.trace.begun = time.Now()
		w.drained = make(chan struct{})
		w.checkers = []*checker{newChecker(w, w.plan)}
		if w.plan.flood != nil {
			w.checkers = append(w.checkers, newChecker(w, w.plan.flood))
		}
		if err := w.run(); err != nil {
			w.fail("%v", err)
		}
	})
	wrong = w.failures
	for _, b := range w.checkers {
		wrong = append(wrong, b.found()...)
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
	for _, b := range w.checkers {
		if err := w.provision(b.plan); err != nil {
			return err
		}
	}
	w.server.Control("*", w.injectFaults)
	if w.plan.duplicates > 0 {
		w.server.SQS().Queue(w.plan.queueName()).Chaos(queue.Chaos{
			Duplicate: w.plan.duplicates,
			Reorder:   w.plan.reorder,
		})
	}
	for i := range w.plan.slots {
		w.slots.Go(func() { w.slot(i) })
	}
	if w.plan.topicGone > 0 {
		w.slots.Go(w.deleteTopic)
	}
	var producers sync.WaitGroup
	for _, b := range w.checkers {
		for i := range b.plan.producers {
			producers.Go(func() { w.producer(b, i) })
		}
	}
	time.Sleep(time.Until(w.trace.begun.Add(w.plan.lasts)))
	w.server.SQS().Queue(w.plan.queueName()).Chaos(queue.Chaos{})
	producers.Wait()
	for _, b := range w.checkers {
		b.drain()
	}
	w.rest = time.Since(w.trace.begun) - w.plan.lasts
	close(w.drained)
	w.slots.Wait()
	w.processes.Wait()
	for _, b := range w.checkers {
		b.conclude()
	}
	w.counts()
	w.leftovers()
	return w.server.Close()
}

// deleteTopic deletes the exchange's topic while it is in use.
func (w *world) deleteTopic() {
	time.Sleep(w.plan.topicGone)
	w.tally.add(seenTopicGone, 1)
	w.trace.note("the topic is deleted")
	name := "events"
	if w.plan.ordered {
		name += ".fifo"
	}
	conf := aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String("http://localaws.internal"),
		HTTPClient:  &http.Client{Transport: w.server.Transport()},
		Credentials: credentials.NewStaticCredentialsProvider("operator", "secret", ""),
	}
	in := &sns.DeleteTopicInput{TopicArn: aws.String("arn:aws:sns:us-east-1:000000000000:" + name)}
	if _, err := sns.NewFromConfig(conf).DeleteTopic(context.Background(), in); err != nil {
		w.fail("delete the topic: %v", err)
	}
}

// provision creates the channel before the first message is sent, as a deployment would do. A topic without a
// subscription would accept messages and lose them.
func (w *world) provision(p *plan) error {
	b, err := w.tap("provision").backend(false)
	if err != nil {
		return err
	}
	defer b.Close(context.Background())
	o := p.process(0, 0).options
	c, err := godwit.NewConsumer(context.Background(), b, p.channel(), &o)
	if err != nil {
		return err
	}
	_, err = c.Close(context.Background())
	return err
}

// drain waits until the queue is empty.
func (c *checker) drain() {
	q := c.w.server.SQS().Queue(c.plan.queueName()).Model()
	for {
		left := q.Messages()
		if len(left) == 0 {
			return
		}
		if time.Since(c.w.trace.begun) >= c.w.plan.lasts+drainWithin {
			c.stuck(left)
			return
		}
		time.Sleep(5 * time.Second)
	}
}

// conclude checks the end of every message, and the dead letters.
func (c *checker) conclude() {
	dead := c.deadLetters()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range c.messages {
		if m.accepted && !m.unwanted && !m.success && !m.dropped && len(dead[m.label]) == 0 {
			c.violated([]string{m.label}, "%s is lost: it was accepted, and it was neither handled nor rejected",
				m.label)
		}
	}
	for name, copies := range dead {
		c.letters(name, copies)
	}
}

// letters checks the copies of one message in the dead letters.
func (c *checker) letters(name string, copies []letter) {
	m := c.messages[name]
	if m == nil {
		c.violated(nil, "dead letter %q was never sent", name)
		return
	}
	c.w.tally.add(countDead, 1)
	ids := map[string]bool{} // a send that is repeated after a lost answer makes two
	// All copies point to one body, and the reader deletes it with the first.
	whole := slices.ContainsFunc(copies, func(l letter) bool { return !l.bodiless })
	for i, one := range copies {
		switch {
		case one.bodiless && !whole && !m.success && !m.dropped:
			c.violated([]string{name}, "%s has lost its body, and was not handled", name)
		case one.bodiless && c.plan.ordered && !m.rejected:
			// Without order, a queue may deliver a message that was deleted. After a rejection whose delete failed,
			// another consumer may have handled the message, and deleted the body of both copies.
			c.violated([]string{name}, "%s has lost its body before its message was deleted", name)
		}
		switch {
		case one.bodiless:
			c.w.tally.add(countBodiless, 1)
			continue
		case one.redriven:
			c.w.tally.add(countRedriven, 1)
			if c.plan.tenants {
				c.violated([]string{name},
					"the service has moved %s to the dead letters, which must not happen because of tenants' shares",
					name)
			}
			continue
		case !m.rejected:
			c.violated([]string{name}, "%s is in the dead letters although no verdict has rejected it", name)
		}
		if !m.ids[one.original] {
			c.violated([]string{name}, "the dead letter of %s has the original id %q, which was not received", name,
				one.original)
		}
		if !ids[one.original] {
			ids[one.original] = true
			continue
		}
		c.w.tally.add(countSecond, 1)
		// On an ordered channel the service removes a second copy within its window, because both have the same id.
		if c.plan.ordered && one.at.Sub(copies[i-1].at) < queue.DedupWindow {
			c.violated([]string{name}, "%s has a second dead letter within %v on an ordered channel", name,
				one.at.Sub(copies[i-1].at))
		}
	}
}

// letter is one copy in the dead letters.
type letter struct {
	original string
	at       time.Time
	redriven bool // by the service
	bodiless bool // its body in the store cannot be read
}

// deadLetters reads the dead letters with a consumer, as an operator would. The times and sources come from the server.
func (c *checker) deadLetters() map[string][]letter {
	w := c.w
	letters := map[string][]letter{}
	source := map[string]bool{}
	sent := map[string]time.Time{}
	label := map[string]string{}
	most, least := map[string]int{}, map[string]int{} // how many copies of a message are read
	for _, v := range w.server.SQS().Queue(c.plan.deadName()).Model().Messages() {
		name := w.labelOf(v.Body)
		source[v.ID], sent[v.ID], label[v.ID] = v.Source != "", v.Sent, name
		if most[name]++; !isPointer(v.Body) || least[name] == 0 {
			least[name]++ // copies with the same body in the store may be finished with the first of them
		}
	}
	var mu sync.Mutex
	tap := w.tap("dead letters")
	backend, err := tap.backend(false)
	if err != nil {
		w.fail("dead letters: %v", err)
		return nil
	}
	defer backend.Close(context.Background())
	reader, err := godwit.NewConsumer(context.Background(), backend, c.plan.channel()+"@dlq",
		&godwit.ConsumerOptions{Ordered: c.plan.ordered, HighThroughput: c.plan.throughput})
	if err != nil {
		w.fail("dead letters: %v", err)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if _, err := reader.Run(ctx, func(_ context.Context, d *godwit.Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		l := letter{redriven: source[d.ID], at: sent[d.ID], bodiless: d.Undecodable != nil}
		if d.Death != nil {
			l.original = d.Death.MessageID
		}
		if !l.redriven && (d.Death == nil || d.Death.Error == "") {
			w.fail("dead letter %s has no reason: %+v", label[d.ID], d.Death)
		}
		name := label[d.ID]
		if !l.bodiless && labelOf(string(d.Body)) != name {
			w.fail("dead letter %s has the body of %q", name, labelOf(string(d.Body)))
		}
		letters[name] = append(letters[name], l)
		return nil
	}); err != nil {
		w.fail("dead letters: %v", err)
	}
	for name := range most {
		if n := len(letters[name]); n < least[name] || n > most[name] {
			w.fail("%d of %d dead letters of %s were read", n, most[name], name)
		}
	}
	return letters
}

// counts records the properties of this world.
func (w *world) counts() {
	w.tally.add(countWorlds, 1)
	if w.plan.ordered {
		w.tally.add(countOrdered, 1)
	}
	if w.plan.exchange {
		w.tally.add(countExchange, 1)
	}
	w.tally.add(kindCounts()[w.plan.kind], 1)
	for _, b := range w.checkers {
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

// stuck reports that the world did not drain.
func (c *checker) stuck(left []queue.View) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var some []string
	for _, v := range left[:min(len(left), 5)] {
		some = append(some, fmt.Sprintf("%s (%s, %d receives)", c.w.labelOf(v.Body), v.State, v.Count))
	}
	c.violated([]string{c.w.labelOf(left[0].Body)},
		"not drained %v after the time of faults: %d messages are left in %s: %s", drainWithin, len(left),
		c.plan.channel(), strings.Join(some, ", "))
}

// over records that a consumer has returned.
func (c *checker) over(p *consumer, r godwit.Report, err error) {
	c.mu.Lock()
	crashed := p.crashed
	c.mu.Unlock()
	if !crashed {
		c.stopped(p, r, err)
	}
}

// busy reports whether handlers of a process are running.
func (c *checker) busy(p *consumer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range p.handles {
		if h.running {
			return true
		}
	}
	return false
}
