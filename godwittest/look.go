package godwittest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/localaws"
	"github.com/godwitmq/godwit/localaws/sqs"
	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

const (
	deadSuffix = "@dlq"
	// laterSuffix is that of messages that wait for their time.
	laterSuffix = "@later"
	fifoSuffix  = ".fifo"
)

// Left is a message that is on the server.
type Left struct {
	Channel  string
	ID       string
	Body     []byte
	OrderKey string
	State    string    // visible, delayed, or in flight: held by a consumer, or waiting for its next attempt
	Until    time.Time // when it becomes visible; zero: it is visible
	Received int       // number of receives
}

// DeadLetter is a dead letter of a channel.
type DeadLetter struct {
	Body string
	Kind string // exhausted, permanent, rejected, timeout, undecodable, panic; "": the service moved it itself
	// Cause is the text of the error that led to the rejection. [Harness.AssertDeadLettered] searches for a part of it.
	Cause    string
	Attempts int
	Consumer string
	ID       string // of the original message
}

// view is the state of a test: its server, and what its consumers have done.
type view struct {
	t       testing.TB
	service service
	journal *journal
	begun   time.Time // by the server's clock
}

// Server returns the embedded AWS, for inspection, and for faults that the harness does not have. A harness of
// [NewKafka] has a [Harness.Broker] instead.
func (v *view) Server() *localaws.Server { return v.aws("to look into its Server").server }

// aws returns the embedded AWS, for methods that work only on it.
func (v *view) aws(what string) *aws {
	v.t.Helper()
	s, ok := v.service.(*aws)
	if !ok {
		v.t.Fatalf("%s: this harness is on Kafka, which has no such thing: use Harness.Broker", what)
	}
	return s
}

// Now returns the server's time. In a bubble it is time.Now.
func (v *view) Now() time.Time { return v.service.now() }

// Messages returns the messages that were received from a channel, in the order in which they were received first.
func (v *view) Messages(channel string) []Message { return v.journal.messages(channel) }

// Left returns the messages in a channel, in order of arrival. A channel without a queue has none. On Kafka they are
// the records that its group has not committed yet; of records that no consumer of the harness has received, only the
// number is known.
func (v *view) Left(channel string) []Left { return v.service.left(channel) }

// DeadLetters returns the dead letters of a channel that were not handled yet, in order of arrival. On Kafka they are
// those that consumers of the harness have rejected.
func (v *view) DeadLetters(channel string) []DeadLetter { return v.service.dead(channel) }

// service is the server of a harness, inspected without receiving.
type service interface {
	now() time.Time
	left(channel string) []Left
	dead(channel string) []DeadLetter
	// lies reports whether one of the messages is still in its channel.
	lies(channel string, is func(id string) bool) bool
	// channels returns all channels, in any order, including dead letters.
	channels() []string
	// made reports whether a channel exists, and whether it is ordered.
	made(channel string) (made, ordered bool)
}

// aws is the embedded AWS.
type aws struct {
	server *localaws.Server
	space  string // the prefix of every name on it
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
			Channel: channel, ID: v.ID, Body: body, OrderKey: v.Details().Group, State: v.State.String(),
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

// channels returns all channels that exist or existed, sorted by name, including dead letters.
func (v *view) channels() []string {
	names := append(v.journal.channels(), v.service.channels()...)
	slices.Sort(names)
	return slices.Compact(names)
}

// open decodes a message on the server. A message that cannot be decoded keeps its raw bytes.
func open(v *queue.View) ([]byte, envelope.Envelope) {
	raw := []byte(v.Body)
	env, err := envelope.Parse(v.Details().Attributes["godwit"].Text)
	if err != nil {
		return raw, envelope.Envelope{}
	}
	body, err := envelope.Decode(v.Body, env.Encoding)
	if err != nil {
		return raw, env
	}
	return body, env
}

// suffixes are the ends of names of channels, and of their queues.
var suffixes = [][2]string{{deadSuffix, "--dlq"}, {laterSuffix, "--later"}}

// queue returns the queue of a channel, ordered or not; nil if there is none.
func (s *aws) queue(channel string) *sqs.Queue {
	end := ""
	for _, of := range suffixes {
		if name, has := strings.CutSuffix(channel, of[0]); has {
			channel, end = name, of[1]
			break
		}
	}
	name := s.space + strings.Replace(channel, ".", "--", 1) + end
	if q := s.server.SQS().Queue(name + fifoSuffix); q != nil {
		return q
	}
	return s.server.SQS().Queue(name)
}

// channelOf returns the channel of a queue, as users write it; "" for foreign queues.
func (s *aws) channelOf(queue string) string {
	name, ours := strings.CutPrefix(strings.TrimSuffix(queue, fifoSuffix), s.space)
	if !ours {
		return ""
	}
	end := ""
	for _, of := range suffixes {
		if channel, has := strings.CutSuffix(name, of[1]); has {
			name, end = channel, of[0]
			break
		}
	}
	return strings.Replace(name, "--", ".", 1) + end
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
