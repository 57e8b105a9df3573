package kafka

import (
	"cmp"
	"context"
	"crypto/rand"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/client"
	"github.com/godwitmq/godwit/kafka/internal/deadletter"
	"github.com/godwitmq/godwit/kafka/internal/later"
	"github.com/godwitmq/godwit/kafka/internal/layout"
	"github.com/godwitmq/godwit/kafka/internal/send"
	"github.com/godwitmq/godwit/kafka/internal/transact"
	"github.com/godwitmq/godwit/kafka/internal/wire"
)

// wakerTimeout is how long a waker may be silent before others wake its messages. A rebalance of wakers costs no
// handler anything, so it is shorter than that of consumers.
const wakerTimeout = 10 * time.Second

// waking is a waker that runs: it sends on the messages of a channel that wait for their time.
type waking struct {
	end  context.CancelFunc
	done sync.WaitGroup
}

// wake starts a waker of a channel, or of the exchange that a consumer reads. dead takes the messages that the channel
// refuses; nil: nothing does.
func wake(b *Backend, ch driver.Channel, dead DeadLetterQueue) *waking {
	w := newWaker(b, ch, dead)
	ctx, end := context.WithCancel(context.Background())
	running := &waking{end: end}
	running.done.Go(func() { w.Run(ctx) })
	return running
}

// stop ends the waker, and waits for that.
func (w *waking) stop() {
	w.end()
	w.done.Wait()
}

func newWaker(b *Backend, ch driver.Channel, dead DeadLetterQueue) *later.Waker {
	of := layout.Plain(ch)
	if of.Exchange != "" {
		of.Queue = ""
	}
	group := layout.Later(b.channels.Names, of)
	id := group + "." + rand.Text()
	opts := append(append(b.producerOptions(b.cluster), kgo.RecordDeliveryTimeout(commitPatience),
		kgo.MetadataMinAge(later.MetadataAge)), transact.Options(id)...)
	w := &later.Waker{
		Of: of, Group: group, Target: b.channels.Topic(of), ID: id, Cluster: b.cluster,
		Topics: b.provisioner.Later, Produce: b.senders.Producer, Log: b.log,
		SessionTimeout: cmp.Or(b.o.SessionTimeout, wakerTimeout),
		Dial:           func() (*client.Client, error) { return b.cluster.Dial(opts...) },
		To: func(ctx context.Context) (*send.Sender, error) {
			return b.senders.Open(ctx, of, b.channels.Topic(of))
		},
	}
	if dead != nil {
		w.Reject = rejecter{b, ch, dead}.reject
	}
	return w
}

// rejecter makes dead letters of messages that their channel refuses.
type rejecter struct {
	b    *Backend
	ch   driver.Channel
	dead DeadLetterQueue
}

// reject returns the dead letter of a message; nil: a queue of the caller has taken it.
func (q rejecter) reject(ctx context.Context, r *kgo.Record, death *driver.Death) (*kgo.Record, error) {
	rejected := Rejected{Record: r, Group: q.b.channels.Group(q.ch), Death: *death}
	topic, own := q.dead.(*deadTopic)
	if !own {
		return nil, q.dead.Put(ctx, []Rejected{rejected})[0]
	}
	letter := topic.letter(q.b.channels.DeadLetters(q.ch), &rejected)
	// The original has no offset in the log of the channel that a consumer could take for the one of another record.
	wire.SetHeader(letter, deadletter.LogHeader, "")
	return letter, nil
}
