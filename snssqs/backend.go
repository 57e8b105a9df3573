package snssqs

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/estate"
	"github.com/godwitmq/godwit/snssqs/internal/later"
	"github.com/godwitmq/godwit/snssqs/internal/operate"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// Backend is a driver.Backend, driver.Provisioner and driver.Operator on Amazon SNS
// and SQS.
type Backend struct {
	clients     *client.Clients
	estate      *estate.Estate
	provisioner *estate.Provisioner
	requests    requests
	large       apart
	arbiter     *later.Arbiter    // nil: no message can be cancelled
	signatures  *trust.Signatures // nil: they are not checked
	warned      estate.Warned     // channels with JSON that was not opened
	// handed has a *ledger of the messages that other programs delete, by the queue's URL. It outlives a batch.
	handed      sync.Map
	log         *slog.Logger
	cancelPolls bool
	// wakeFromProducers is Options.WakeFromProducers.
	wakeFromProducers bool
}

// Open creates the clients; it makes no request.
func Open(ctx context.Context, o *Options) (*Backend, error) {
	opts := *cmp.Or(o, &Options{})
	if err := opts.check(); err != nil {
		return nil, err
	}
	large, err := newApart(&opts)
	if err != nil {
		return nil, err
	}
	clients, err := client.Connect(ctx, opts.AWS, opts.SQS, opts.SNS, opts.Transport)
	if err != nil {
		return nil, err
	}
	b := &Backend{
		clients: clients, large: large, log: opts.Logger,
		cancelPolls: opts.CancelPolls, wakeFromProducers: opts.WakeFromProducers,
		requests: requests{clients, opts.BeforeSend, opts.BeforePublish},
		estate: estate.New(estate.Config{
			Clients: clients, Namespace: opts.Namespace, Mappings: opts.mappings(), Form: opts.form,
			EnvelopesFrom: opts.EnvelopesFrom,
		}),
	}
	if b.log == nil {
		b.log = slog.Default()
	}
	b.arbiter = later.NewArbiter(opts.Decisions, b.estate)
	b.provisioner = estate.NewProvisioner(b.estate, large.store, b.log)
	if opts.CheckSignatures {
		b.signatures = trust.NewSignatures(clients.HTTP, clients.SNS.Options().BaseEndpoint)
	}
	return b, nil
}

// Close closes idle connections. It does not end senders and receivers.
func (b *Backend) Close(context.Context) error {
	b.clients.Close()
	return nil
}

// Ensure creates what a channel needs, or reports what is missing. It changes attributes and tags only for an owner.
// Resources that Options.Names maps, and dead letters, are only looked up.
func (b *Backend) Ensure(ctx context.Context, s driver.ChannelSpec) error {
	if err := b.arbiter.Ensure(ctx, s.Mode); err != nil {
		return err
	}
	return b.provisioner.Ensure(ctx, s)
}

// Find looks for dead letters, ordered or not. If both kinds exist, that is an error: one of them was created by
// mistake, and reading it would be useless.
func (b *Backend) Find(ctx context.Context, dead driver.Channel) (driver.Channel, error) {
	if err := b.clients.Open(); err != nil {
		return dead, err
	}
	return b.estate.Queues.FindDeadLetters(ctx, dead)
}

// Address is driver.Operations.Address.
func (b *Backend) Address(ch driver.Channel) driver.Address { return b.estate.Address(ch) }

// NewNotifier returns a notifier for a topic, which exists already. It makes no request.
func (b *Backend) NewNotifier(topicARN string) (*Notifier, error) {
	return newNotifier(b.clients, topicARN)
}

// Operations returns what an operator can do with the channels. Peek works on localaws only.
func (b *Backend) Operations() driver.Operations {
	do := driver.Operations{
		Catalog: b.Catalog, Inspect: b.Inspect, Address: b.Address, Activity: b.Activity,
		Peek: b.Peek, Return: b.Return,
		Past: func(ctx context.Context, cs []driver.Channel, since time.Time) ([]driver.Past, error) {
			return operate.Past(ctx, b.estate, cs, since)
		},
		Move: b.Move, Moves: b.Moves, CancelMove: b.CancelMove,
		Purge: b.Purge, Remove: b.Remove, Snapshot: b.Snapshot, Restore: b.Restore,
		Pause: b.Pause, Resume: b.Resume,
		Plan: b.provisioner.Planner.Plan, Wanted: b.estate.Wanted,
		Access: func(ctx context.Context) (driver.Access, error) { return operate.Access(ctx, b.estate) },
		Tag: func(ctx context.Context, ch driver.Channel, tags map[string]string) error {
			return operate.Tag(ctx, b.estate, ch, tags)
		},
		Clock: func(ctx context.Context, to driver.Channel) (time.Time, error) {
			return operate.Clock(ctx, b.estate, to)
		},
		Specs: func(ctx context.Context, cs []driver.Channel) ([]driver.ChannelSpec, error) {
			return operate.Specs(ctx, b.estate, cs)
		},
	}
	if b.arbiter != nil {
		do.Cancel = b.arbiter.Cancel
	}
	if store, in := b.large.store.(interface{ Bucket() string }); in {
		do.Stored = func(ctx context.Context, since time.Time) (driver.Stored, error) {
			return operate.Stored(ctx, b.estate, store.Bucket(), since)
		}
	}
	return do
}

// Catalog lists the channels of the namespace. It finds them by their tags, with a request for each hundred. If
// tag:GetResources is denied, or the server has no such service, it lists all queues and topics whose names have the
// form of the namespace's, and reads the tags of each. Channels of Options.Names are listed if they exist. The age of a
// topic is unknown.
func (b *Backend) Catalog(ctx context.Context) ([]driver.ChannelInfo, error) {
	return operate.Catalog(ctx, b.estate)
}

// Activity reads the metrics of queues and topics from CloudWatch: four of a queue and three of a topic, two more for
// the age of a queue's oldest message, and of an hour and more one for the sizes of messages. CloudWatch counts by the
// minute, five minutes, the hour or the day; the longer the time, the longer the period, and Since is the begin of one.
//
// CloudWatch has no points of a queue that nobody has called for six hours. So a complete answer without points is a
// zero, if CloudWatch has counted anything of SQS (or of SNS) in the region in this time; otherwise the numbers are
// unknown, of class NotFound. They are unknown as well if the call failed, is denied, or was answered in part, and for
// queues and topics of other accounts.
//
// AWS charges for each metric that is asked for: six of a queue, three of a topic; seven and four of an hour and more.
func (b *Backend) Activity(ctx context.Context, cs []driver.Channel, since time.Time) ([]driver.Activity, error) {
	return operate.Activity(ctx, b.estate, cs, since)
}

// Inspect counts a channel's messages. SQS counts approximately and does not report the oldest message's age; Activity
// asks CloudWatch for it.
func (b *Backend) Inspect(ctx context.Context, ch driver.Channel) (driver.Depth, error) {
	return operate.Inspect(ctx, b.estate, ch)
}

// Peek is driver.Operations.Peek on localaws only, by its page of a queue's messages. SQS itself has no such call, and
// there the error wraps errors.ErrUnsupported.
func (b *Backend) Peek(ctx context.Context, ch driver.Channel, from driver.PeekFrom, most int) ([]driver.Peeked,
	error,
) {
	return operate.Peek(ctx, b.estate, b.large.store, ch, from, most)
}

// Return is driver.Operations.Return: dead letters go back to the channel's own queue. No other consumer gets them,
// also on an exchange, because they do not pass the topic.
func (b *Backend) Return(ctx context.Context, dead driver.Channel, _ bool) (driver.Home, error) {
	home, q, err := operate.Home(ctx, b.estate, dead)
	if err != nil {
		return driver.Home{}, err
	}
	to, err := b.queueSender(ctx, home, q)
	if err != nil {
		return driver.Home{}, err
	}
	return driver.Home{Forwarder: to, Address: q.ARN()}, nil
}

// Move is driver.Operations.Move by a task of SQS, which takes the messages of a dead-letter queue.
func (b *Backend) Move(ctx context.Context, from, to driver.Channel, perSecond int) error {
	return operate.Move(ctx, b.estate, from, to, perSecond)
}

// Moves is driver.Operations.Moves: the last ten tasks.
func (b *Backend) Moves(ctx context.Context, from driver.Channel) ([]driver.MoveTask, error) {
	return operate.Moves(ctx, b.estate, from)
}

// CancelMove is driver.Operations.CancelMove.
func (b *Backend) CancelMove(ctx context.Context, task string) error {
	return operate.CancelMove(ctx, b.estate, task)
}

// Purge deletes the messages of a queue, which AWS may need a minute for. A message that is sent within that minute
// stays. Bodies in Options.Store stay until the bucket's lifecycle rule deletes them.
func (b *Backend) Purge(ctx context.Context, ch driver.Channel, dry bool) (driver.Purged, error) {
	return operate.Purge(ctx, b.estate, ch, dry)
}

// Remove deletes a channel's queue and its subscription, an exchange's topic, or a queue of dead letters. It deletes
// only what has Godwit's tag. SQS reserves the name of a deleted queue for a minute.
func (b *Backend) Remove(ctx context.Context, ch driver.Channel, dry bool) (driver.Removed, error) {
	return operate.Remove(ctx, b.estate, ch, dry)
}

// Snapshot reads a queue with its tags and its subscription, or a topic with its tags and subscribers. Subscriptions of
// a queue to other topics than its exchange's are not seen, because Remove does not delete them.
func (b *Backend) Snapshot(ctx context.Context, ch driver.Channel) (driver.Snapshot, error) {
	return operate.Snapshot(ctx, b.estate, ch)
}

// Restore makes a queue with its attributes, its policy, its tags and its subscription, or a topic with its attributes
// and tags. SQS reserves the name of a deleted queue for a minute; the error then says so (After).
func (b *Backend) Restore(ctx context.Context, data []byte) (driver.Restored, error) {
	return operate.Restore(ctx, b.estate, data)
}

// Pause denies receives from a channel's queue by a statement of the queue's policy, and leaves the other statements as
// they are. A poll that is open may still return messages. On AWS the change takes up to a minute.
func (b *Backend) Pause(ctx context.Context, ch driver.Channel, dry bool) (changes bool, err error) {
	return operate.SetPaused(ctx, b.estate, ch, true, dry)
}

// Resume removes the statement.
func (b *Backend) Resume(ctx context.Context, ch driver.Channel, dry bool) (changes bool, err error) {
	return operate.SetPaused(ctx, b.estate, ch, false, dry)
}
