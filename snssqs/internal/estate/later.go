package estate

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

// LaterQueues finds and creates the queues in which messages wait beside their channels: for their time, or those of
// schedules. It is safe for concurrent use.
type LaterQueues struct {
	p *Provisioner
	// Beside is LaterOf or TicksOf.
	Beside func(of driver.Channel) driver.Channel

	mu      sync.Mutex
	waiting map[driver.Channel]chan struct{} // closed when a producer of this process creates a queue
}

// Made is closed when a producer of this process creates the queue of a channel.
func (l *LaterQueues) Made(of driver.Channel) <-chan struct{} {
	later := l.Beside(of)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = map[driver.Channel]chan struct{}{}
	}
	c := l.waiting[later]
	if c == nil {
		c = make(chan struct{})
		l.waiting[later] = c
	}
	return c
}

// created closes what Made has returned.
func (l *LaterQueues) created(later driver.Channel) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.waiting[later]; c != nil {
		close(c)
		delete(l.waiting, later)
	}
}

// Waits reports whether messages of a channel can wait beside it, in a queue that Godwit creates: those of mapped
// resources cannot, because nothing is created beside these.
func (l *LaterQueues) Waits(ch driver.Channel) bool {
	_, mapped := l.p.Mapping(ch)
	_, topic := l.p.topicMapping(ch)
	return !mapped && !topic && !ch.DeadLetter && !ch.Beside() && (ch.Exchange == "" || ch.Queue == "")
}

// Known is the queue for later messages of a channel. The error for a queue that does not exist is of class
// NotFound.
func (l *LaterQueues) Known(ctx context.Context, of driver.Channel) (*Queue, error) {
	return l.p.Queues.Known(ctx, l.Beside(of))
}

// Lacks reports whether the list of queues of the last minute has none for later messages of a channel. A consumer
// that starts need not ask for each.
func (l *LaterQueues) Lacks(of driver.Channel) bool {
	name, err := l.p.QueueName(l.Beside(of))
	return err != nil || l.p.Listing.lacks(name)
}

// Forget makes the next call of Known and Ensured ask the service again, because the queue was found missing.
func (l *LaterQueues) Forget(of driver.Channel) { l.p.Queues.Forget(l.Beside(of)) }

// Ensured is the queue for later messages of a channel to which a producer sends. If it is missing, it is created,
// provided that the producer may create what it sends to. It has the tags of the producer, and the key of the channel.
func (l *LaterQueues) Ensured(ctx context.Context, of driver.Channel) (*Queue, error) {
	p := l.p
	q, err := l.Known(ctx, of)
	if driver.ClassOf(err) != driver.NotFound {
		return q, err
	}
	later := l.Beside(of)
	asked, known := p.sends.Load(of)
	if !known || !asked.(driver.ChannelSpec).Mode.Creates() {
		name, nameErr := p.QueueName(later)
		if nameErr != nil {
			return nil, &driver.Error{Class: driver.Permanent, Err: nameErr}
		}
		return nil, client.NotFound("channel %s: such a message waits in queue %s, which does not exist: create "+
			"it, or send with a producer that may (ProvisionAuto): %w", of, name, err)
	}
	key, err := l.keyOf(ctx, of)
	if err != nil {
		return nil, err
	}
	s := driver.ChannelSpec{
		Channel: later, Mode: asked.(driver.ChannelSpec).Mode, Tags: asked.(driver.ChannelSpec).Tags, Encryption: key,
	}
	if q, _, err = p.ensureQueue(ctx, s, nil, tagged{}); err != nil {
		return nil, fmt.Errorf("channel %s: queue %s: %w", of, later, err)
	}
	p.Queues.found.Store(later, q)
	p.Listing.learn(nil, q)
	l.created(later)
	return q, nil
}

// keyOf is the key of AWS KMS that encrypts a channel or exchange; "": the service's own.
func (l *LaterQueues) keyOf(ctx context.Context, ch driver.Channel) (string, error) {
	if ch.Queue == "" {
		t, err := l.p.Topics.Of(ctx, ch)
		if err != nil {
			return "", err
		}
		return t.Attributes["KmsMasterKeyId"], nil
	}
	q, err := l.p.Queues.Of(ctx, ch)
	if err != nil {
		return "", err
	}
	return q.Attributes[string(types.QueueAttributeNameKmsMasterKeyId)], nil
}
