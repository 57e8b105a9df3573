package godwittest

import (
	"slices"
	"strings"
	"time"

	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

const (
	deadSuffix = "@dlq"
	fifoSuffix = ".fifo"
)

// Left is a message that lies on the server.
type Left struct {
	Channel  string
	ID       string
	Body     []byte
	OrderKey string
	State    string    // visible, delayed, or in flight: with a consumer, or waiting for its next attempt
	Until    time.Time // when it becomes visible; zero where it is
	Received int       // by anybody
}

// DeadLetter is a message that lies in the dead letters of a channel.
type DeadLetter struct {
	Body string
	Kind string // exhausted, permanent, rejected, timeout, undecodable, panic; "": the service moved it itself
	// Cause is the text of the error that it died of. [Harness.AssertDeadLettered] looks for a part of it.
	Cause    string
	Attempts int
	Consumer string
	ID       string // when it was alive
}

// Messages are what was received from a channel, in the order in which it first came.
func (h *Harness) Messages(channel string) []Message { return h.journal.messages(channel) }

// Left are the messages that lie in a channel, in order of arrival. A channel without a queue has none. On Kafka they
// are what its group has not committed yet; of those that no consumer of the harness has received, only the number is
// known.
func (h *Harness) Left(channel string) []Left { return h.service.left(channel) }

// DeadLetters are the dead letters of a channel that nobody has handled yet, in order of arrival. On Kafka they are
// those that consumers of the harness have rejected.
func (h *Harness) DeadLetters(channel string) []DeadLetter { return h.service.dead(channel) }

// service is the server under a harness, looked into without receiving anything.
type service interface {
	now() time.Time
	left(channel string) []Left
	dead(channel string) []DeadLetter
	// lies says whether one of the messages lies in their channel still.
	lies(channel string, is func(id string) bool) bool
	// channels are all that there are, in any order; those of dead letters among them.
	channels() []string
	// made says whether there is such a channel, and ordered whether it keeps order.
	made(channel string) (made, ordered bool)
}

// aws is the embedded AWS.
type aws struct {
	server *localaws.Server
	space  string // in front of every name on it
}

func (s *aws) now() time.Time { return s.server.Now() }

func (s *aws) left(channel string) []Left {
	q := s.queue(channel)
	if q == nil {
		return nil
	}
	views := q.Model().Messages()
	left := make([]Left, len(views))
	for i := range views {
		v := &views[i]
		body, env := open(v)
		left[i] = Left{
			Channel: channel, ID: v.ID, Body: body, OrderKey: v.Group, State: v.State.String(),
			Until: v.Until, Received: v.Count,
		}
		if env.OrderKey != "" {
			left[i].OrderKey = env.OrderKey
		}
	}
	return left
}

func (s *aws) dead(channel string) []DeadLetter {
	q := s.queue(channel + deadSuffix)
	if q == nil {
		return nil
	}
	views := q.Model().Messages()
	dead := make([]DeadLetter, len(views))
	for i := range views {
		body, env := open(&views[i])
		dead[i] = DeadLetter{Body: string(body), ID: views[i].ID}
		if n := len(env.Deaths); n > 0 {
			d := &env.Deaths[n-1]
			dead[i] = DeadLetter{
				Body: string(body), Kind: d.Kind, Cause: d.Error, Attempts: int(d.Attempts),
				Consumer: d.Consumer, ID: d.ID,
			}
		}
	}
	return dead
}

// channels are all that there are or were, by name; those of dead letters among them.
func (h *Harness) channels() []string {
	names := append(h.journal.channels(), h.service.channels()...)
	slices.Sort(names)
	return slices.Compact(names)
}

// open reads a message as it lies on the server. What cannot be read keeps its raw bytes.
func open(v *queue.View) ([]byte, envelope.Envelope) {
	raw := []byte(v.Body)
	env, err := envelope.Parse(v.Attributes["godwit"].Text)
	if err != nil {
		return raw, envelope.Envelope{}
	}
	body, err := envelope.Decode(v.Body, env.Encoding)
	if err != nil {
		return raw, env
	}
	return body, env
}

// queue is the queue of a channel, ordered or not; nil if there is none.
func (s *aws) queue(channel string) *sqs.Queue {
	name, dead := strings.CutSuffix(channel, deadSuffix)
	name = s.space + strings.Replace(name, ".", "--", 1)
	if dead {
		name += "--dlq"
	}
	if q := s.server.SQS().Queue(name + fifoSuffix); q != nil {
		return q
	}
	return s.server.SQS().Queue(name)
}

// channelOf is the channel that a queue belongs to, as users spell it; "" for queues of others.
func (s *aws) channelOf(queue string) string {
	name, ours := strings.CutPrefix(strings.TrimSuffix(queue, fifoSuffix), s.space)
	if !ours {
		return ""
	}
	name, dead := strings.CutSuffix(name, "--dlq")
	name = strings.Replace(name, "--", ".", 1)
	if dead {
		name += deadSuffix
	}
	return name
}

func (s *aws) channels() (names []string) {
	for _, q := range s.server.SQS().Queues() {
		if name := s.channelOf(q.Name()); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func (s *aws) made(channel string) (made, ordered bool) {
	q := s.queue(channel)
	return q != nil, q != nil && q.FIFO()
}

func (s *aws) lies(channel string, is func(id string) bool) bool {
	q := s.queue(channel)
	return q != nil && slices.ContainsFunc(q.Model().Messages(), func(v queue.View) bool { return is(v.ID) })
}
