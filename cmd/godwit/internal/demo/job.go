package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// channel is where the orders go.
const channel = "orders"

// graceful is how long an interrupted job goes on to handle what it has sent.
const graceful = 10 * time.Second

// Options say how long to send, and where to show how it goes.
type Options struct {
	For      time.Duration // send for that long; 0: until Messages are sent
	Messages int           // send that many; 0: until For is over
	Seed     uint64        // decides which orders fail
	Progress io.Writer     // where progress is shown
	Live     bool          // Progress is a terminal

	started func(*job) // for tests; nil: nothing. Called when all is provisioned and nothing is sent
}

// job is one run of the demonstration.
type job struct {
	o       Options
	backend *local.Backend
	ledger  *ledger
	began   time.Time
	before  int64 // requests of provisioning
}

// Run does the whole job and reports. When ctx ends it stops sending, handles what it has sent, and still reports.
func Run(ctx context.Context, o *Options) (*Report, error) {
	// What has begun is ended in good order, so ctx only says when to stop sending.
	work := context.WithoutCancel(ctx)
	backend, err := local.Open(work, nil)
	if err != nil {
		return nil, err
	}
	j := &job{o: *o, backend: backend, ledger: newLedger(), began: time.Now()}
	report, err := j.run(ctx, work)
	return report, errors.Join(err, backend.Close(work))
}

func (j *job) run(ctx, work context.Context) (*Report, error) {
	producer, err := godwit.NewProducer(work, j.backend, channel, nil)
	if err != nil {
		return nil, err
	}
	orders, deadLetters, err := j.consumers(work)
	if err != nil {
		return nil, err
	}
	j.before = j.requests()
	if j.o.started != nil {
		j.o.started(j)
	}
	// A consumer that fails ends the work of all, with its error as the cause.
	working, end := context.WithCancelCause(work)
	var crew sync.WaitGroup
	crew.Go(func() { end(j.handleOrders(working, orders)) })
	crew.Go(func() { end(j.countDead(working, deadLetters)) })
	crew.Go(func() { (&progress{j.ledger, j.o.Progress, j.o.Live, j.began}).show(working) })

	err = j.send(ctx, working, producer)
	if err == nil {
		j.finish(ctx, working)
	}
	end(nil)
	crew.Wait()
	if cause := context.Cause(working); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	if err := errors.Join(err, producer.Close(work)); err != nil {
		return nil, err
	}
	return j.report()
}

// finish waits until nothing is left to receive. The dead letters come second: an order that dies is first copied, then
// deleted. The handlers note an order before it is deleted, so what the ledger then still calls open is lost.
func (j *job) finish(ctx, working context.Context) {
	patience, giveUp := context.WithCancel(working)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-ctx.Done():
		case <-patience.Done():
			return
		}
		select {
		case <-time.After(graceful):
			giveUp()
		case <-patience.Done():
		}
	})
	for _, q := range j.queues() {
		if q.Await(patience, func(s queue.Stats) bool { return s.Total() == 0 }) != nil {
			break // patience has ended; what remains is counted as left
		}
	}
	giveUp()
	watch.Wait()
}

// queues are the channel's on the embedded server, looked at from outside: its own, and its dead letters.
func (j *job) queues() []*queue.Queue {
	s := j.backend.Server().SQS()
	return []*queue.Queue{s.Queue(channel).Model(), s.Queue(channel + "--dlq").Model()}
}

// report sums up, once nothing runs any more.
func (j *job) report() (*Report, error) {
	var waiting []int
	for _, q := range j.queues() {
		for _, m := range q.Messages() {
			number, err := numberOf([]byte(m.Body))
			if err != nil {
				return nil, fmt.Errorf("reading message %s of the queue: %w", m.ID, err)
			}
			waiting = append(waiting, number)
		}
	}
	c := j.ledger.counts()
	left := j.ledger.openAmong(waiting)
	requests := j.requests() - j.before
	row := Channel{Name: channel, Sent: c.Sent, Handled: c.Handled, Retried: c.Retried, Dead: c.Dead, Lost: c.Open - left, Requests: requests}
	return &Report{
		Sent: row.Sent, Handled: row.Handled, Retried: row.Retried, Dead: row.Dead, Lost: row.Lost, Left: left, Twice: c.Twice,
		Requests: requests, RequestsPerMessage: perMessage(requests, c.Sent),
		Seconds: time.Since(j.began).Seconds(), Seed: j.o.Seed, Channels: []Channel{row},
	}, nil
}

// requests are all that the server has answered. There is one channel, so all are the channel's.
func (j *job) requests() int64 {
	n := 0
	for _, calls := range j.backend.Server().Calls() {
		n += calls
	}
	return int64(n)
}
