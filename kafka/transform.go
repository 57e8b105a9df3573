package kafka

import (
	"cmp"
	"context"
	"crypto/rand"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/transact"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// transformer is a receiver whose verdicts are in transactions.
type transformer struct{ *receiver }

// Transform opens the receiving end of a channel, whose verdicts are in transactions together with messages to another
// channel. The brokers need transaction.version 2.
func (b *Backend) Transform(
	ctx context.Context, from driver.Channel, to driver.Sender, o driver.ReceiverOptions,
) (driver.TransformReceiver, error) {
	if err := b.channels.Receives(from); err != nil {
		return nil, err
	}
	if s, ok := to.(*send.Sender); !ok || s.Of != b.senders {
		return nil, failure.Permanent("channel %s: the sender of its results is of another backend, and cannot share a "+
			"transaction: open both with the same one", from)
	}
	switch set := b.o.channel(from); {
	case set.GroupProtocol == GroupShare && !from.DeadLetter:
		return nil, failure.Permanent("channel %s: a share group has no transactions: set another GroupProtocol in "+
			"kafka.Options", from)
	case b.o.RetryQueue != nil || b.o.DeadLetterQueue != nil:
		return nil, failure.Permanent("channel %s: your own RetryQueue or DeadLetterQueue in kafka.Options cannot be in "+
			"a transaction: leave it out, so that topics are used", from)
	}
	if err := transact.Check(ctx, b.cluster, "Transform"); err != nil {
		return nil, err
	}
	r, err := newReceiver(ctx, b, from, o, toTransform)
	if err != nil {
		return nil, err
	}
	return &transformer{r}, nil
}

// transactionalID is the id of a member's transactions. A static member has the same one after a restart, which ends
// the transaction of the process before. Several channels may be mapped to one group.
func (s *subscription) transactionalID() string {
	return s.b.channels.Member(s.from) + ".transform." + cmp.Or(s.b.o.InstanceID, rand.Text())
}

// transactions say how this receiver makes transactions.
func (s *subscription) transactions(l *records.Ledger) transact.Config {
	b, id := s.b, s.transactionalID()
	opts := append(append(b.producerOptions(b.cluster), kgo.RecordDeliveryTimeout(commitPatience)),
		transact.Options(id)...)
	return transact.Config{
		Ledger: l, Group: s.group, ID: id, Log: b.log,
		Dial:   func() (*client.Client, error) { return b.cluster.Dial(opts...) },
		Topics: b.provisioner, Channel: s.from,
	}
}

// Attach adds the results of a delivery.
func (r *transformer) Attach(h driver.Handle, messages []driver.Prepared) {
	wires, bytes := make([]*kgo.Record, len(messages)), 0
	for i := range messages {
		wires[i] = messages[i].Wire.(*kgo.Record)
		bytes += wire.Size(wires[i])
	}
	r.ledger.Results.Attach(h, wires, bytes)
}
