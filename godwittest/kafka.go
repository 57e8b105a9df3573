package godwittest

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/local/kafkalocal"
)

// KafkaOptions of a harness on Kafka. The zero value is usable.
type KafkaOptions struct {
	// Kafka are the options of the backend and its broker; nil: their defaults. Set them as the application does on a
	// cluster.
	Kafka *kafkalocal.Options
	// Patience is how long to wait for an expected event. 0: 15 days in a bubble, 10 s outside. Raise it when handlers
	// really take longer than that.
	Patience time.Duration
}

// NewKafka is [New] with Kafka instead of AWS: the embedded broker, in this process. In a bubble, build the tests with
// -tags synctests, which the client of Kafka needs there. Outside a bubble time is real, and [Harness.Advance] cannot
// move it. Faults are injected by [Harness.Broker]. [Harness.AwaitHandled] waits until the offset is ready for the next
// commit.
func NewKafka(t testing.TB, o *KafkaOptions) *Harness {
	t.Helper()
	opts := *cmp.Or(o, &KafkaOptions{})
	h := newHarness(t, opts.Patience)
	if h.bubble && !clientIsVirtual {
		t.Fatalf("godwittest: in a testing/synctest bubble the client of Kafka needs a build tag: " +
			"go test -tags synctests; or leave the bubble")
	}
	b, err := kafkalocal.Open(t.Context(), opts.Kafka)
	if err != nil {
		t.Fatalf("godwittest: open the backend: %v", err)
	}
	s := &kafka{backend: b}
	h.begin(s)
	s.journal = h.journal
	h.watched = &kafkaBackend{b, h.journal}
	return h
}

// Broker returns the embedded broker of a harness of [NewKafka], for inspection, for faults, and for Kill.
func (v *view) Broker() *kafkalocal.Server {
	v.t.Helper()
	s, ok := v.service.(*kafka)
	if !ok {
		v.t.Fatalf("this harness is on AWS and has no broker: use Harness.Server")
	}
	return s.backend.Server()
}

// kafkaBackend is the backend with journaling senders and receivers. It embeds the backend, so it has all its
// abilities.
type kafkaBackend struct {
	*kafkalocal.Backend
	journal *journal
}

// Sender opens a sender that writes the journal.
func (b *kafkaBackend) Sender(ctx context.Context, to driver.Channel) (driver.Sender, error) {
	return b.journal.sender(ctx, b.Backend, to)
}

// Receiver opens a receiver that writes the journal.
func (b *kafkaBackend) Receiver(ctx context.Context, from driver.Channel, o driver.ReceiverOptions) (driver.Receiver,
	error,
) {
	return b.journal.receiver(ctx, b.Backend, from, o)
}

// kafka is the embedded broker. A log does not record what happened to a record, so most information comes from the
// journal.
type kafka struct {
	backend *kafkalocal.Backend
	journal *journal
}

// lookPatience is how long the broker may take for an answer.
const lookPatience = 10 * time.Second

func (s *kafka) now() time.Time { return time.Now() }

// depth returns the number of records that the group of a channel has not committed.
func (s *kafka) depth(channel string) (n int64, made bool) {
	ch := driver.Channel{}
	ch.Queue, ch.DeadLetter = strings.CutSuffix(channel, deadSuffix)
	if exchange, queue, ok := strings.Cut(ch.Queue, "."); ok {
		ch.Exchange, ch.Queue = exchange, queue
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
	defer cancel()
	d, err := s.backend.Inspect(ctx, ch)
	return d.Waiting + d.Delayed, err == nil
}

func (s *kafka) left(channel string) []Left {
	n, _ := s.depth(channel)
	left := make([]Left, n)
	for i := range left {
		left[i] = Left{Channel: channel, State: "waiting"}
	}
	for i, m := range s.journal.unfinished(channel) {
		if i == len(left) {
			break // the others are already committed
		}
		left[i] = Left{
			Channel: channel, ID: m.ID, Body: m.Body, OrderKey: m.OrderKey, State: "in flight",
			Received: m.Received,
		}
	}
	return left
}

func (s *kafka) dead(channel string) []DeadLetter { return s.journal.rejected(channel) }

func (s *kafka) lies(string, func(id string) bool) bool { return false }

func (s *kafka) channels() []string { return s.journal.gate.received() }

func (s *kafka) made(channel string) (made, ordered bool) {
	_, made = s.depth(channel)
	return made, true
}
