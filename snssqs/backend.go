package snssqs

import (
	"context"
	"log/slog"
	"sync"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/snssqs/internal/client"
	"github.com/godwitmq/godwit/snssqs/internal/trust"
)

// Backend is a driver.Backend, driver.Provisioner, driver.Finder, driver.Inspector and driver.Operator on Amazon SNS
// and SQS.
type Backend struct {
	namespace    namespace
	names        map[string]Resource
	log          *slog.Logger
	apart        apart
	attributes   Attributes
	attributesOf map[string]Attributes
	envelopes    envelopes
	before       before
	differing    onceFor // mapped channels with a warning about their settings
	cancelPolls  bool
	account      *account
	clients      *client.Clients

	mu      sync.Mutex
	queues  map[driver.Channel]*queue             // queues that were found
	ensured map[driver.Channel]*queue             // that Ensure has found, for the sender that is opened next
	specs   map[driver.Channel]driver.ChannelSpec // what consumers of this process asked for, by channel
	handed  map[string]*ledger                    // finished messages that others delete, by queue; nil: none

	subscribers map[driver.Channel]*subscribers // of the exchanges that producers of this process may create
}

// Open creates the clients; it makes no request.
func Open(ctx context.Context, o *Options) (*Backend, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if err := opts.check(); err != nil {
		return nil, err
	}
	large, err := newApart(&opts)
	if err != nil {
		return nil, err
	}
	clients, err := client.Connect(ctx, client.Given{
		AWS: opts.AWS, SQS: opts.SQS, SNS: opts.SNS,
		Transport: opts.Transport,
	})
	if err != nil {
		return nil, err
	}
	b := &Backend{
		namespace: namespace(opts.Namespace), names: opts.Names, clients: clients, log: opts.Logger,
		apart: large, attributes: opts.Attributes, attributesOf: opts.AttributesOf, cancelPolls: opts.CancelPolls,
		envelopes: envelopes{from: opts.EnvelopesFrom}, before: before{opts.BeforeSend, opts.BeforePublish},
		queues: map[driver.Channel]*queue{}, ensured: map[driver.Channel]*queue{},
		specs: map[driver.Channel]driver.ChannelSpec{}, subscribers: map[driver.Channel]*subscribers{},
	}
	if b.log == nil {
		b.log = slog.Default()
	}
	b.account = &account{region: clients.Region, sts: clients.STS}
	if opts.CheckSignatures {
		b.envelopes.signatures = trust.NewSignatures(clients.HTTP, clients.SNS.Options().BaseEndpoint)
	}
	return b, nil
}

// Close closes idle connections. It does not end senders and receivers.
func (b *Backend) Close(context.Context) error {
	b.clients.Close()
	return nil
}

// remember records what a consumer asked for, for the checks of its receiver.
func (b *Backend) remember(s driver.ChannelSpec) {
	s.Again = false
	b.mu.Lock()
	b.specs[s.Channel] = s
	b.mu.Unlock()
}

// specOf returns what a consumer of this process asked for.
func (b *Backend) specOf(ch driver.Channel) (driver.ChannelSpec, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, known := b.specs[ch]
	return s, known
}

// Operations returns what an operator can do with the channels. Peek works on localaws only.
func (b *Backend) Operations() driver.Operations {
	return driver.Operations{
		Catalog: b.Catalog, Plan: planner{b: b}.plan, Tag: planner{b: b}.tag,
		Wanted: planner{b: b}.wanted, Specs: planner{b: b}.specs,
		Activity: b.Activity, Peek: b.Peek, Return: b.Return,
		Move: b.Move, Moves: b.Moves, CancelMove: b.CancelMove,
		Purge: b.Purge, Remove: b.Remove, Snapshot: b.Snapshot, Restore: b.Restore,
		Pause: b.Pause, Resume: b.Resume,
	}
}
