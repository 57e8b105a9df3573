package demo

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/godwitmq/godwit"
	"github.com/godwitmq/godwit/local"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// graceful is how long an interrupted job continues to handle the wishes that were sent.
const graceful = 10 * time.Second

// Options say how long to send, and where to show the progress.
type Options struct {
	For      time.Duration // how long to send; 0: until Messages are sent
	Messages int           // how many to send; 0: until For is over
	Seed     uint64        // determines the wishes, which handlers fail, and the ids of the server
	Progress io.Writer     // where the progress is shown
	Live     bool          // Progress is a terminal

	// Opened is called with the backend before anything uses it, and Closing when nothing does any more; nil: they are
	// not.
	Opened  func(b *local.Backend) error
	Closing func() error

	// Hooks are further hooks of the consumer of a channel; nil: none.
	Hooks func(channel string) godwit.Hooks

	started func(*job) // for tests; nil: none. Called when everything is provisioned, before the first send
}

// job is one run of the demonstration.
type job struct {
	o        Options
	backend  *local.Backend
	branches []*branch
	accepted atomic.Int64 // wishes
	tally    *tally
	began    time.Time
}

// Run runs the whole demonstration and returns its report. When ctx ends, it stops sending, handles the wishes that
// were sent, and then returns its report, too.
func Run(ctx context.Context, o *Options) (*Report, error) {
	// The work is completed even if ctx ends, so ctx only ends the sending.
	work := context.WithoutCancel(ctx)
	backend, err := local.Open(work, &local.Options{Server: &localaws.Options{Seed: o.Seed}})
	if err != nil {
		return nil, err
	}
	if o.Opened != nil {
		if err := o.Opened(backend); err != nil {
			return nil, errors.Join(err, backend.Close(work))
		}
	}
	j := &job{o: *o, backend: backend, branches: newBranches(), began: time.Now()}
	report, err := j.run(ctx, work)
	if o.Closing != nil {
		err = errors.Join(err, o.Closing())
	}
	return report, errors.Join(err, backend.Close(work))
}

func (j *job) run(ctx, work context.Context) (*Report, error) {
	var crews []*crew
	for _, b := range j.branches {
		c, err := j.hire(work, b)
		if err != nil {
			return nil, err
		}
		crews = append(crews, c)
	}
	producer, err := godwit.NewProducer(work, j.backend, exchange+".*", &godwit.ProducerOptions{Ordered: true})
	if err != nil {
		return nil, err
	}
	j.tally = countRequests(j.backend.Server())
	if j.o.started != nil {
		j.o.started(j)
	}
	err = j.work(ctx, work, producer, crews)
	if err := errors.Join(err, producer.Close(work)); err != nil {
		return nil, err
	}
	return j.newReport()
}

// work sends and handles. If a consumer fails, all work ends, with the consumer's error as the cause.
func (j *job) work(ctx, work context.Context, producer *godwit.Producer, crews []*crew) error {
	working, end := context.WithCancelCause(work)
	var all sync.WaitGroup
	for _, c := range crews {
		all.Go(func() { end(c.handleWishes(working)) })
		all.Go(func() { end(c.countDead(working)) })
	}
	all.Go(func() { (&progress{j.branches, j.accepted.Load, j.o.Progress, j.o.Live, j.began}).show(working) })

	err := j.send(ctx, working, producer)
	if err == nil {
		j.finish(ctx, working)
	}
	end(nil)
	all.Wait()
	if cause := context.Cause(working); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// finish waits until no message can be received. It waits for the queue first and for the dead letters second, because
// a message is copied before it is deleted. Handlers record a wish before it is deleted, so a wish that the ledger then
// still counts as open is lost.
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
	empty := func(s queue.Stats) bool { return s.Total() == 0 }
	for _, b := range j.branches {
		for _, q := range b.queues(j.backend.Server()) {
			_ = q.Await(patience, empty) // fails when the time is over: the remaining messages are counted as left
		}
	}
	giveUp()
	watch.Wait()
}
