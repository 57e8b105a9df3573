package send

import (
	"context"
	crypto "crypto/rand"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// longestWait is the longest delay: a longer one is rather a mistake in its unit.
const longestWait = 10 * 365 * day

// waits is how long a message waits until it is due, with an error if it cannot; not positive: it does not wait.
func (s *Sender) waits(m *driver.Message) (time.Duration, error) {
	wait := m.Delay
	if !m.At.IsZero() {
		wait = time.Until(m.At)
	}
	switch {
	case wait > 0 && s.To.DeadLetter:
		return 0, failure.Permanent("channel %s: dead letters are not delayed: send without a delay", s.To)
	case wait > longestWait:
		return 0, failure.Permanent("channel %s: a delay of %v is more than ten years: shorten it", s.To, wait)
	}
	return wait, nil
}

// outlives returns an error if a body in the store could be deleted before a message that waits so long is handled.
func (s *Sender) outlives(wait time.Duration) error {
	if lasts := s.Of.store.Lifetime(); wait > 0 && lasts > 0 && wait > lasts-s.stays {
		return failure.Permanent("channel %s: kafka.Options.Store deletes bodies after %v, and after a delay of %v this "+
			"one could be deleted before it is handled: shorten the delay to %v, or raise s3store.Options.Lifetime",
			s.To, lasts, wait, lasts-s.stays)
	}
	return nil
}

// wait makes the record of a message one that waits beside the channel. Messages of one key wait in one partition, so
// that one process sends them on, in order.
func (s *Sender) wait(ctx context.Context, m *driver.Message, r *kgo.Record) error {
	topic, err := s.Of.Later(ctx, s.To)
	if err != nil {
		return err
	}
	var id wire.LaterID
	_, _ = crypto.Read(id[:]) // it never fails
	r.Topic, r.Partition = topic.Name, partitionFor(r.Key, topic.Partitions)
	wire.Wait(r, id, m.Delay, m.At)
	if size, most := wire.Size(r), int(s.Of.cluster.Limit(topic.Name)); size > most {
		return &driver.Error{Class: driver.TooLarge, Err: failure.Permanent(
			"the message has %d bytes as a record that waits; topic %s takes %d (max.message.bytes)", size, topic.Name,
			most)}
	}
	return nil
}

// partitionFor is the partition of a key in a topic of messages that wait; any, without a key.
func partitionFor(key []byte, partitions int) int32 {
	if key == nil {
		return rand.Int32N(int32(partitions))
	}
	h := fnv.New32a()
	_, _ = h.Write(key) // a hash cannot fail
	return int32(h.Sum32() % uint32(partitions))
}
