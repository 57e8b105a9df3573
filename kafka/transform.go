package kafka

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// transformer is a receiver whose verdicts are in transactions.
type transformer struct{ *receiver }

// Transform opens the receiving end of a channel, whose verdicts are in transactions together with messages to another
// channel. The brokers need transaction.version 2.
func (b *Backend) Transform(
	ctx context.Context, from driver.Channel, to driver.Sender, o driver.ReceiverOptions,
) (driver.TransformReceiver, error) {
	if err := b.receives(from); err != nil {
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
	if err := b.hasTransactions(ctx); err != nil {
		return nil, err
	}
	r, err := newReceiver(ctx, b, from, o, toTransform)
	if err != nil {
		return nil, err
	}
	return &transformer{r}, nil
}

// transactionVersion is the level of the feature transaction.version at which each transaction has an epoch of its own
// (KIP-890).
const transactionVersion = 2

// transactionRequest is the version of EndTxn from which the client gives each transaction an epoch of its own.
const transactionRequest = 5

// hasTransactions returns an error if transactions may tear, because of the brokers or of the client's versions.
func (b *Backend) hasTransactions(ctx context.Context) error {
	if pinned, _ := b.cluster.Client.OptValue(kgo.MaxVersions).(*kversion.Versions); pinned != nil {
		if v, ok := pinned.LookupMaxKeyVersion(int16(kmsg.EndTxn)); !ok || v < transactionRequest {
			return failure.Permanent("kgo.MaxVersions in kafka.Options.Client excludes the transactions of KIP-890, so " +
				"Transform could tear them: leave it out, or raise it to the versions of Kafka 4.0")
		}
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "godwit", "transform"
	resp, err := req.RequestWith(ctx, b.cluster.Client)
	if err != nil {
		return fmt.Errorf("ask the brokers for their features: %w", failure.Classify(err))
	}
	level := int16(0)
	for _, f := range resp.FinalizedFeatures {
		if f.Name == "transaction.version" {
			level = f.MaxVersionLevel
		}
	}
	if level < transactionVersion {
		return failure.Permanent("the brokers have transaction.version %d, and Transform needs %d: before KIP-890, an end "+
			"of a transaction that is delayed in the network can end the next one too early, and tear it; update the "+
			"brokers to Kafka 4.0 or later, and raise the feature with kafka-features.sh upgrade --feature "+
			"transaction.version=%d", level, transactionVersion, transactionVersion)
	}
	return nil
}

// transactionalID is the id of a member's transactions. A static member has the same one after a restart, which ends
// the transaction of the process before. Several channels may be mapped to one group.
func (s *subscription) transactionalID() string {
	return s.b.channels.Member(s.from) + ".transform." + cmp.Or(s.b.o.InstanceID, rand.Text())
}

// transactionOptions are the options of a client that makes transactions.
func (b *Backend) transactionOptions(id string) []kgo.Opt {
	return append(b.producerOptions(b.cluster), kgo.TransactionalID(id), kgo.TransactionTimeout(transactionTimeout),
		kgo.RecordDeliveryTimeout(commitPatience), kgo.ConcurrentTransactionsBackoff(transactionPause),
		kgo.RetryBackoffFn(retryInTransaction))
}

// retryInTransaction is the delay before a request of a transaction is repeated. The first one is short: after the end
// of a transaction, brokers refuse the records of the next one until the end is written to all partitions.
func retryInTransaction(try int) time.Duration {
	return backoff.Curve{First: transactionPause, Max: time.Second}.Jittered(try)
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
