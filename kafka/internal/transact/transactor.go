package transact

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/backoff"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/cluster"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/provision"
	"github.com/godwitmq/godwit/kafka/internal/records"
	"github.com/godwitmq/godwit/kafka/internal/send"
)

const (
	// Interval and Records are the defaults of kafka.Options.CommitInterval and CommitRecords with transactions.
	// Results become visible so much later.
	Interval = 100 * time.Millisecond
	Records  = 1_000
	// transactionTimeout is when the broker aborts the transaction of a process that has crashed. Until then the next
	// owner of its partitions waits. It is longer than a commit may take.
	transactionTimeout = 15 * time.Second
	// Pause is how long a request waits until the broker has ended an earlier transaction.
	Pause = 20 * time.Millisecond
)

// Config says who makes transactions, and how.
type Config struct {
	Ledger  *records.Ledger
	Group   string
	ID      string                         // the transactional id
	Dial    func() (*client.Client, error) // creates a client for transactions
	Log     *slog.Logger
	Topics  *provision.Provisioner // creates the topics of the channel again, if its consumer may
	Channel driver.Channel
}

// Transactor publishes results and commits the completion of their messages, one transaction at a time. Its methods are
// not called concurrently.
type Transactor struct {
	Config

	client *client.Client // nil: a new one is to be opened, whose epoch ends what the previous one has begun
	// batch are the results of the current transaction; the same ones until they are committed, or lost.
	batch []*records.Result
	// unknown is a commit whose transaction may have been committed; nil: there is none.
	unknown *records.Commitment
	closing sync.WaitGroup // clients that end
	dropped bool           // a client was dropped, and no later one has an epoch
	// tooLarge: the broker has refused the metadata of the latest commit.
	tooLarge bool
}

// Commit publishes all complete results. Then all messages are finished that were handled before the call.
func (t *Transactor) Commit(ctx context.Context, m *records.Member, begin func() *records.Commitment) error {
	for {
		if len(t.batch) == 0 && !t.take(records.ResultsMost) {
			return t.abort(ctx)
		}
		if err := t.transact(ctx, m, begin); err != nil {
			t.drop()
			return fmt.Errorf("transaction of group %s: %w", t.Group, failure.Classify(err))
		}
	}
}

// abort ends what a client has begun that was dropped, although there are no results for another transaction: otherwise
// consumers of committed records wait for the transaction's timeout.
func (t *Transactor) abort(ctx context.Context) error {
	if !t.dropped {
		return nil
	}
	if err := t.open(ctx); err != nil {
		t.drop()
		return fmt.Errorf("abort a transaction of group %s: %w", t.Group, failure.Classify(err))
	}
	return nil
}

// take adds complete results to the batch, at most so many; false: there are none.
func (t *Transactor) take(most int) bool {
	taken, lost := t.Ledger.Results.Take(most)
	t.batch = append(t.batch, taken...)
	answer(lost, driver.ErrLost)
	return len(taken) > 0
}

// answer answers the callers that wait for results.
func answer(rs []*records.Result, err error) {
	for _, r := range rs {
		if r.Answer != nil {
			r.Answer(err)
		}
	}
}

// transact makes one transaction. After an error the caller drops the client: the next one begins with an epoch that
// aborts what this one has begun.
func (t *Transactor) transact(ctx context.Context, m *records.Member, begin func() *records.Commitment) error {
	if what := t.unknown; what != nil {
		committed, err := t.resolve(ctx, m, what)
		if err != nil {
			return err
		}
		if t.unknown = nil; committed {
			t.committed(what)
			return nil
		}
	}
	left, lost := t.Ledger.Results.Lose(t.batch)
	t.batch = left
	answer(lost, driver.ErrLost)
	if t.tooLarge {
		t.take(records.Window) // what was handled in the meantime may fill the gaps between the others
	}
	if !slices.ContainsFunc(t.batch, func(r *records.Result) bool { return len(r.Records) > 0 }) {
		// The completions are committed without a transaction, by the caller.
		if t.Ledger.Results.Seal(t.batch, nil) {
			t.end()
		}
		return nil
	}
	if err := t.open(ctx); err != nil {
		return err
	}
	if err := t.client.BeginTransaction(); err != nil {
		return err
	}
	if err := t.publish(ctx); err != nil {
		return err
	}
	what := begin()
	if what.Generation < 0 {
		return errNoMember
	}
	if !t.Ledger.Results.Seal(t.batch, what) {
		return errEpochEnded
	}
	if err := t.commitOffsets(ctx, m, what); err != nil {
		return err
	}
	t.unknown = what
	if err := t.client.EndTransaction(ctx, kgo.TryCommit); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	t.unknown = nil
	t.committed(what)
	return nil
}

var (
	errEpochEnded = errors.New("a partition was lost while its results were being published: the transaction is aborted")
	// errNoMember: brokers do not compare generations for a commit of no member.
	errNoMember = errors.New("the member is not in its group: the transaction is aborted")
)

// open opens a client, if there is none, and requests an epoch for it. When it has one, the broker has ended all
// earlier transactions of this id, and refuses their delayed requests.
func (t *Transactor) open(ctx context.Context) error {
	if t.client != nil {
		return nil
	}
	var err error
	if t.client, err = t.Dial(); err != nil {
		return err
	}
	if _, _, err := t.client.ProducerID(ctx); err != nil {
		return fmt.Errorf("request an epoch for the transactional id %s: %w", t.ID, err)
	}
	t.dropped = false
	return nil
}

// publish publishes the messages of the batch. Copies that are refused permanently leave it, and their callers get the
// errors.
func (t *Transactor) publish(ctx context.Context) error {
	var copies []*kgo.Record
	var of []*records.Result
	for _, r := range t.batch {
		for _, one := range r.Records {
			c := *one // the client writes to the record, and it may be published again
			copies, of = append(copies, &c), append(of, r)
		}
	}
	p := &send.Producer{Client: t.client, Log: t.Log}
	failed := map[*records.Result]error{}
	var first error
	for i, err := range p.ProduceOnce(ctx, copies) {
		if err == nil {
			continue
		}
		// The other records of the transaction fail because one of them has.
		err = fmt.Errorf("publish to topic %s: %w", copies[i].Topic, failure.Classify(err))
		if failed[of[i]] = err; first == nil || driver.ClassOf(first).Passing() && !driver.ClassOf(err).Passing() {
			first = err
		}
	}
	if first != nil {
		t.refuse(ctx, failed)
		return first
	}
	return Known(ctx, t.client, copies)
}

// Known waits until a client knows the partitions that it has sent records to. franz-go 1.22 stores the partitions of a
// topic that it sends to for the first time only after it has begun to send, and EndTransaction looks for records in
// stored partitions only: if it is faster, it aborts the transaction and returns no error.
func Known(ctx context.Context, c *client.Client, sent []*kgo.Record) error {
	for _, r := range sent {
		for {
			if leader, _, _ := c.PartitionLeader(r.Topic, r.Partition); leader >= 0 {
				break
			}
			if err := backoff.Sleep(ctx, time.Millisecond); err != nil {
				return fmt.Errorf("wait for the leader of partition %d of topic %s: %w", r.Partition, r.Topic, err)
			}
		}
	}
	return nil
}

// refuse answers the copies that failed permanently. A missing topic that belongs to this consumer is created again.
func (t *Transactor) refuse(ctx context.Context, failed map[*records.Result]error) {
	ours, missing := t.Topics.Owns(t.Channel), false
	var kept, refused []*records.Result
	for _, r := range t.batch {
		class := driver.ClassOf(failed[r])
		again := failed[r] == nil || class.Passing()
		if ours && class == driver.NotFound && r.Answer != nil {
			missing, again = true, true
		}
		if again || r.Answer == nil || !r.Open() {
			kept = append(kept, r)
		} else {
			refused = append(refused, r)
		}
	}
	if missing {
		_, _ = t.Topics.Restore(ctx, t.Channel) // the next transaction gets its error
	}
	t.batch = kept
	t.Ledger.Results.Drop(refused)
	for _, r := range refused {
		r.Answer(failed[r])
	}
}

// committed is called when a transaction was committed.
func (t *Transactor) committed(what *records.Commitment) {
	t.Ledger.Answered(false, slices.Collect(maps.Values(what.Parts))...)
	t.end()
}

// end ends the results of the batch.
func (t *Transactor) end() {
	t.Ledger.Results.Drop(t.batch)
	answer(t.batch, nil)
	t.batch = nil
}

// commitOffsets adds the group's offsets to the transaction.
func (t *Transactor) commitOffsets(ctx context.Context, m *records.Member, what *records.Commitment) error {
	for {
		id, epoch, err := t.client.ProducerID(ctx)
		if err != nil {
			return err
		}
		resp, err := what.InTransaction(t.ID, id, epoch).RequestWith(ctx, t.client)
		if err != nil {
			return fmt.Errorf("add the offsets: %w", err)
		}
		if err = worst(resp, m.Name); !errors.Is(err, kerr.ConcurrentTransactions) || failure.Over(ctx) {
			if t.tooLarge = errors.Is(err, kerr.OffsetMetadataTooLarge); t.tooLarge {
				err = failure.Permanent("%w: transactions need offset.metadata.max.bytes of at least 4096, the default "+
					"of brokers", err)
			}
			return err
		}
		_ = backoff.Sleep(ctx, Pause)
	}
}

// worst is the error of an answer, of any partition.
func worst(resp *kmsg.TxnOffsetCommitResponse, name func(topic string, id kadm.TopicID) string) error {
	for _, topic := range resp.Topics {
		for _, p := range topic.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return fmt.Errorf("add the offset of partition %d of topic %s: %w", p.Partition,
					name(topic.Topic, topic.TopicID), err)
			}
		}
	}
	return nil
}

// resolve finds out whether a transaction was committed whose end was not answered. When a new client has an epoch, the
// transaction is over, and the group's offsets show its outcome: they are part of it, and no other commit is the same.
func (t *Transactor) resolve(
	ctx context.Context, m *records.Member, what *records.Commitment,
) (committed bool, err error) {
	if err := t.open(ctx); err != nil {
		return false, err
	}
	for {
		resp, err := what.Question(m).RequestWith(ctx, t.client)
		if err != nil {
			return false, fmt.Errorf("ask for the outcome of a transaction: %w", err)
		}
		committed, err = t.Ledger.Results.IsStored(what, resp)
		if !errors.Is(err, kerr.UnstableOffsetCommit) || failure.Over(ctx) {
			return committed, err
		}
		_ = backoff.Sleep(ctx, Pause)
	}
}

// drop ends the client after an error, without waiting for what it has begun.
func (t *Transactor) drop() {
	c := t.client
	if c == nil {
		return
	}
	t.client, t.dropped = nil, true
	c.Cut()
	t.closing.Go(func() { _ = c.Close(context.Background()) })
}

// Close ends the transactor's clients. An open transaction is aborted by the broker.
func (t *Transactor) Close(ctx context.Context) {
	if c := t.client; c != nil {
		t.client = nil
		_ = c.Close(ctx)
	}
	t.closing.Wait()
}

// Options are the options of a client that makes transactions.
func Options(id string) []kgo.Opt {
	return []kgo.Opt{
		kgo.TransactionalID(id), kgo.TransactionTimeout(transactionTimeout),
		kgo.ConcurrentTransactionsBackoff(Pause), kgo.RetryBackoffFn(retryInTransaction),
	}
}

// retryInTransaction is the delay before a request of a transaction is repeated. The first one is short: after the end
// of a transaction, brokers refuse the records of the next one until the end is written to all partitions.
func retryInTransaction(try int) time.Duration {
	return backoff.Curve{First: Pause, Max: time.Second}.Jittered(try)
}

// transactionVersion is the level of the feature transaction.version at which each transaction has an epoch of its own
// (KIP-890).
const transactionVersion = 2

// transactionRequest is the version of EndTxn from which the client gives each transaction an epoch of its own.
const transactionRequest = 5

// Check returns an error if transactions may tear, because of the brokers or of the client's versions. what needs them.
func Check(ctx context.Context, c *cluster.Cluster, what string) error {
	if pinned, _ := c.Client.OptValue(kgo.MaxVersions).(*kversion.Versions); pinned != nil {
		if v, ok := pinned.LookupMaxKeyVersion(int16(kmsg.EndTxn)); !ok || v < transactionRequest {
			return failure.Permanent("kgo.MaxVersions in kafka.Options.Client excludes the transactions of KIP-890, so "+
				"%s could tear them: leave it out, or raise it to the versions of Kafka 4.0", what)
		}
	}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "godwit", "transform"
	resp, err := req.RequestWith(ctx, c.Client)
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
		return failure.Permanent("the brokers have transaction.version %d, and %s needs %d: before KIP-890, an end "+
			"of a transaction that is delayed in the network can end the next one too early, and tear it; update the "+
			"brokers to Kafka 4.0 or later, and raise the feature with kafka-features.sh upgrade --feature "+
			"transaction.version=%d", level, what, transactionVersion, transactionVersion)
	}
	return nil
}
