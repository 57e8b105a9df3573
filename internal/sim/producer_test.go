package sim

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/godwitmq/godwit"
)

// producer sends its messages over the time of its plan. No other producer uses its keys, and it sends the messages or
// batches of a key one after another, so that the order of each key is known.
func (w *world) producer(checker *checker, n int) {
	plan := checker.plan
	name := fmt.Sprintf("%s%d", plan.senders, n)
	b, err := w.tap(name).backend(false)
	if err != nil {
		w.fail("%s: open: %v", name, err)
		return
	}
	defer b.Close(context.Background())
	p, err := godwit.NewProducer(context.Background(), b, plan.target(), &godwit.ProducerOptions{
		Ordered: plan.ordered, HighThroughput: plan.throughput, Buffer: 20,
		RetryFor:          pick(plan.about("retry for", n), 0, 3*time.Second, time.Minute),
		KeysShareRequests: plan.shares(name),
		Linger:            pick(plan.about("linger", n), 0, 0, 50*time.Millisecond, time.Second),
	})
	if err != nil {
		w.fail("%s: %v", name, err)
		return
	}
	time.Sleep(plan.sendFrom)
	next := map[string]int{}
	for sent := 0; sent < plan.messages; {
		r := plan.about("send", n, sent)
		ms, notes := checker.compose(r, name, min(1+r.IntN(10), plan.messages-sent), next)
		sent += len(ms)
		checker.deliver(r, p, ms, notes)
		time.Sleep(r.between(0, 2*plan.sendFor*time.Duration(len(ms))/time.Duration(plan.messages)))
	}
	if err := p.Close(context.Background()); err != nil {
		w.fail("%s: close: %v", name, err)
	}
}

func (c *checker) compose(r *stream, name string, n int, next map[string]int) (ms []godwit.Message, notes []*message) {
	for range n {
		key := ""
		if c.plan.keys > 0 {
			key = fmt.Sprintf("%s-k%d", name, r.IntN(c.plan.keys))
		} else if c.plan.producers > 1 {
			key = name
		}
		note := c.send(key, next[key])
		next[key]++
		body := note.label + "\n" + strings.Repeat("x", r.IntN(600))
		m := godwit.Message{Body: []byte(body), OrderKey: key, Expires: note.expires}
		if c.plan.exchange {
			m.RoutingKey = pick(c.plan.about("routing key", note.label), "A.1", "A.2", "B", "C", "")
			c.refuses(note, m.RoutingKey)
		}
		ms, notes = append(ms, m), append(notes, note)
	}
	return ms, notes
}

// deliver sends messages in one of three ways.
func (c *checker) deliver(r *stream, p *godwit.Producer, ms []godwit.Message, notes []*message) {
	ctx := context.Background()
	if r.chance(0.1) {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.between(time.Millisecond, 3*time.Second))
		defer cancel()
	}
	note := func(i int, err error) {
		if ctx.Err() != nil && err != nil {
			c.w.tally.add(seenGaveUp, 1)
		}
		c.sent(notes[i], err)
	}
	switch way := r.IntN(3); way {
	case 0:
		for i := range ms {
			note(i, p.Send(ctx, ms[i]))
		}
	case 1:
		err := p.SendBatch(ctx, ms)
		var some *godwit.SendBatchError
		errors.As(err, &some)
		for i := range ms {
			if some != nil {
				note(i, some.Errs[i])
			} else {
				note(i, err)
			}
		}
	default:
		results := make([]*godwit.Result, len(ms))
		for i := range ms {
			var err error
			if results[i], err = p.SendAsync(ctx, ms[i]); err != nil {
				note(i, err)
			}
		}
		for i, res := range results {
			if res != nil {
				note(i, res.Wait(ctx))
			}
		}
	}
}
