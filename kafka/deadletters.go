package kafka

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// DeadLetterQueue takes rejected records. Several goroutines call it concurrently.
type DeadLetterQueue interface {
	// Put takes rejected records, and returns an error or nil for each of them. A record may be delivered again
	// although Put took it, if this process ends before the record's offset is committed.
	Put(ctx context.Context, rs []Rejected) []error
	// Durable reports whether the records that Put takes survive this process. If not, the original stays unfinished:
	// no commit passes it, and it is delivered again after a restart.
	Durable() bool
}

// Rejected is a rejected record with the reasons.
type Rejected struct {
	Record  *kgo.Record // as received; not to be changed
	Group   string
	Death   driver.Death
	Attempt int32 // number of starts
}

// MemoryDeadLetters keeps rejected records in this process, for tests. The zero value is ready to use.
type MemoryDeadLetters struct {
	mu  sync.Mutex
	all []Rejected
}

// Put keeps the records.
func (q *MemoryDeadLetters) Put(_ context.Context, rs []Rejected) []error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.all = append(q.all, rs...)
	return make([]error, len(rs))
}

// Durable is false: the records end with this process.
func (q *MemoryDeadLetters) Durable() bool { return false }

// All returns the records that were rejected so far.
func (q *MemoryDeadLetters) All() []Rejected {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Clone(q.all)
}

// shortError is the length to which an error's text is shortened if a large record leaves no room for all of it.
const shortError = 100

// deadTopic is a DeadLetterQueue on the topic of a channel's dead letters.
type deadTopic struct {
	b   *Backend
	ch  driver.Channel
	log func() string // the id of the topic that the records are from
}

func (q *deadTopic) Durable() bool { return true }

// Put publishes a copy of each record, with the reasons. It creates a missing topic again, if the consumer of this
// process may create topics.
func (q *deadTopic) Put(ctx context.Context, rs []Rejected) []error {
	return publish(ctx, q.b, q.ch, q.letters(rs))
}

// letters are the copies of records.
func (q *deadTopic) letters(rs []Rejected) []*kgo.Record {
	name := q.b.channels.DeadLetters(q.ch)
	copies := make([]*kgo.Record, len(rs))
	for i := range rs {
		copies[i] = q.letter(name, &rs[i])
	}
	return copies
}

// letter is the copy of a record. If the record leaves no room for the reasons, they are shortened or left out, because
// the record matters more.
func (q *deadTopic) letter(name string, r *Rejected) *kgo.Record {
	room := int(q.b.cluster.Limit(name))
	death := r.Death
	for _, text := range []string{
		death.Error, strings.ToValidUTF8(death.Error[:min(len(death.Error), shortError)], ""),
		"",
	} {
		death.Error = text
		if c := q.copy(name, r, &death); wire.Size(c) <= room {
			return c
		}
	}
	return &kgo.Record{
		Topic: name, Partition: r.Record.Partition, Key: r.Record.Key, Value: r.Record.Value,
		Headers: r.Record.Headers,
	}
}

func (q *deadTopic) copy(name string, r *Rejected, death *driver.Death) *kgo.Record {
	c := deadletter.Copy(r.Record, r.Group, death, r.Attempt)
	c.Topic, c.Partition = name, r.Record.Partition
	wire.SetHeader(c, deadletter.LogHeader, q.log())
	return c
}
