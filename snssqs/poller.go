package snssqs

import (
	"context"
	"crypto/rand"
	"slices"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/wire"
)

// poller makes the requests of one receiver for messages.
type poller struct {
	sqs     *sqs.Client
	queue   *estate.Queue
	ordered bool
	lease   time.Duration
	cancels bool // a poll ends with its caller's context

	// life ends when the receiver is closed; it is for polls that outlive their caller's context.
	life     context.Context
	attempts attempts
}

// wait returns the WaitTimeSeconds of a poll. The SDK omits a zero, and then the queue's own wait applies; so the
// shortest possible wait on a queue that has one is a second.
func (p *poller) wait(d time.Duration) int32 {
	own := p.queue.Attributes[string(types.QueueAttributeNameReceiveMessageWaitTimeSeconds)]
	if d < time.Second && wire.Number(own) > 0 {
		return 1
	}
	return int32(d / time.Second)
}

// poll makes one request. It ends with ctx if no message is lost by that. SQS may give messages to a poll whose client
// has disconnected, and hides them until their lease ends; there the request outlives ctx, by at most its wait.
func (p *poller) poll(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	switch {
	case p.ordered:
		return p.attempt(ctx, in)
	case !p.cancels:
		ctx = p.life
	}
	return p.receive(ctx, in)
}

func (p *poller) receive(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	return p.sqs.ReceiveMessage(ctx, in, client.Once, p.queue.At())
}

// attempts manages the ReceiveRequestAttemptIds of a FIFO queue. If the answer to a receive is lost, the next receive
// uses the same id. SQS then returns the same messages again; otherwise their groups stay locked until the lease ends.
type attempts struct {
	mu   sync.Mutex
	lost []attempt
}

type attempt struct {
	id    string
	asked time.Time
}

// begin returns the id of the next receive, and whether it was used before.
func (a *attempts) begin(now time.Time, lease time.Duration) (at attempt, again bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.lost) > 0 {
		at, a.lost = a.lost[0], a.lost[1:]
		if now.Sub(at.asked) < lease { // later than that, the messages are visible again anyway
			return at, true
		}
	}
	return attempt{rand.Text(), now}, false
}

// failed keeps the id of a receive whose answer did not arrive.
func (a *attempts) failed(at attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost = append(a.lost, at)
}

// attempt polls a FIFO queue, which returns the same messages again to a receive with the same attempt id. If the
// answer to an earlier receive was lost, attempt asks for that answer first.
func (p *poller) attempt(ctx context.Context, in *sqs.ReceiveMessageInput) (*sqs.ReceiveMessageOutput, error) {
	at, again := p.attempts.begin(time.Now(), p.lease)
	in.ReceiveRequestAttemptId = &at.id
	receive := p.untilAnswered
	if p.cancels {
		receive = p.receive
	}
	out, err := receive(ctx, in)
	switch {
	case err == nil:
	// The id is not valid any more, because a message of its receive was settled.
	case again && !client.Over(ctx) && !driver.ClassOf(client.Classify(err)).Passing():
		return p.attempt(ctx, in)
	case driver.ClassOf(client.Classify(err)) == driver.Transient:
		p.attempts.failed(at)
	}
	return out, err
}

// recallPause is the time between two recalls of an open poll. It doubles.
const recallPause = time.Second

// untilAnswered makes a poll that outlives ctx, because SQS may give messages to a poll whose client has
// disconnected. When ctx ends, it recalls the poll: it asks for the poll's messages by the same attempt id, without a
// wait. A server that binds an attempt to its latest request then answers the poll at once. Another one answers it at
// the end of its wait, and until then nothing is stranded.
func (p *poller) untilAnswered(ctx context.Context, in *sqs.ReceiveMessageInput) (
	*sqs.ReceiveMessageOutput, error,
) {
	asked := time.Now()
	rc := recall{p: p, in: *in, answered: make(chan struct{}), done: make(chan struct{})}
	rc.in.WaitTimeSeconds = p.wait(0)
	stop := context.AfterFunc(ctx, rc.run)
	out, err := p.receive(p.life, in)
	if stop() { // the usual case: ctx has not ended
		return out, err
	}
	close(rc.answered)
	<-rc.done
	if err != nil && len(rc.messages) == 0 { // the service may still give messages to it
		dead, cancel := context.WithDeadline(p.life, asked.Add(time.Duration(in.WaitTimeSeconds)*time.Second))
		defer cancel()
		if rc.until(dead.Done()); len(rc.messages) == 0 {
			rc.ask()
		}
	}
	if len(rc.messages) == 0 {
		return out, err
	}
	if out == nil {
		out = &sqs.ReceiveMessageOutput{}
	}
	for i := range rc.messages {
		if !slices.ContainsFunc(out.Messages, func(m types.Message) bool {
			return aws.ToString(m.MessageId) == aws.ToString(rc.messages[i].MessageId)
		}) {
			out.Messages = append(out.Messages, rc.messages[i])
		}
	}
	return out, nil
}

// recall asks for the messages of an open poll by its attempt id.
type recall struct {
	p        *poller
	in       sqs.ReceiveMessageInput
	answered chan struct{} // closed when the poll is answered
	done     chan struct{} // closed when run has returned
	messages []types.Message
}

// run recalls the poll until it is answered, or until a recall has messages.
func (c *recall) run() {
	defer close(c.done)
	c.until(c.answered)
}

// until recalls the poll until an end is reached, or until a recall has messages: the attempt then has no others.
func (c *recall) until(end <-chan struct{}) {
	for pause := recallPause; ; pause *= 2 {
		if c.ask(); len(c.messages) > 0 {
			return
		}
		next := time.NewTimer(pause)
		select {
		case <-next.C:
			continue
		case <-end:
		case <-c.p.life.Done():
		}
		next.Stop()
		return
	}
}

// ask makes one recall. Its error does not matter, because there are others.
func (c *recall) ask() {
	ctx, cancel := context.WithTimeout(c.p.life, client.AnswerWithin)
	defer cancel()
	if out, err := c.p.receive(ctx, &c.in); err == nil {
		c.messages = out.Messages
	}
}
