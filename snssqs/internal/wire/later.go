package wire

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/internal/envelope"
	"github.com/godwitmq/godwit/snssqs/internal/client"
)

const (
	// MaxDelay is the longest delay that SQS keeps for a message, and only on a queue without order.
	MaxDelay = 900 * time.Second
	// longestWait bounds all delays, because a longer one is rather a mistake in its unit.
	longestWait = 10 * 366 * 24 * time.Hour
)

// setDelay sets the delay of a message in its wire form and its envelope. A delay that the service does not keep for
// messages of the channel makes it wait beside the channel.
func (e *Encoder) setDelay(w *prepared, m *driver.Message, env *envelope.Envelope) error {
	d := m.Delay
	if !m.At.IsZero() {
		d = max(0, time.Until(m.At))
	}
	if m.Cancellable {
		if err := e.setCancellable(w, d); err != nil {
			return err
		}
	}
	switch ch := e.To; {
	case d == 0:
		return nil
	case d > 0 && d <= MaxDelay && !ch.Ordered && ch.Queue != "" && !m.Cancellable:
		w.delay = wholeSeconds(d)
		if m.At.IsZero() {
			env.Delay = w.delay
		} else {
			w.at, env.At = m.At, m.At.UnixMilli()
		}
		return nil
	case d < 0 || d > longestWait:
		return fmt.Errorf("message delay %v: it must be between 0 and %v", d, longestWait)
	case m.DedupID != "":
		return fmt.Errorf("message delay %v: a message with a DedupID cannot be delayed, because the service would count the "+
			"id from when the message is due: remove one of both", d)
	case e.Waits:
		w.waits, w.delay = true, int32(max(0, min(d-e.Delay, MaxDelay))/time.Second)
		if !m.At.IsZero() {
			w.at = m.At.Add(-e.Delay)
		}
		return nil
	case d > MaxDelay:
		return fmt.Errorf("message delay %v: it must be at most %v, because nothing is created beside a queue or topic of "+
			"snssqs.Options.Names", d, MaxDelay)
	case ch.Ordered:
		return fmt.Errorf("message delay %v: an ordered channel of snssqs.Options.Names does not support delays of single "+
			"messages; ConsumerOptions.Delay delays all of them", d)
	}
	return fmt.Errorf("message delay %v: an exchange of snssqs.Options.Names does not support delays; set "+
		"ConsumerOptions.Delay of a consumer", d)
}

// setCancellable gives a message with a delay the id that cancels it.
func (e *Encoder) setCancellable(w *prepared, d time.Duration) error {
	switch c := e.Cancelling; {
	case c == nil:
		return errors.New("the message cannot be cancelled, because nothing is created beside dead letters, or beside a " +
			"queue or topic of snssqs.Options.Names: remove Cancellable")
	case c.Within > 0 && d > c.Within:
		return fmt.Errorf("message delay %v: a message that can be cancelled waits for at most %v, because the decision "+
			"about it is not kept for longer: send it without Cancellable", d, c.Within)
	default:
		w.cancelID = c.id(d)
	}
	return nil
}

// later is what the envelope says about a message that waits.
func (e *Encoder) later(w *prepared, m *driver.Message, alone bool) *envelope.Later {
	l := &envelope.Later{
		ID: cmp.Or(w.cancelID, rand.Text()), Channel: e.To.String(), Sequence: e.nextSequence(), Alone: alone,
		Cancellable: m.Cancellable,
	}
	if m.At.IsZero() {
		l.Delay = m.Delay.Milliseconds() + 1 // never shorter than requested, also after an acceptance in whole ones
	} else {
		l.At = m.At.Add(time.Millisecond - 1).UnixMilli()
	}
	return l
}

// nextSequence grows with each call, and is in the order of time for messages of several producers.
func (e *Encoder) nextSequence() int64 {
	for {
		last := e.sequence.Load()
		next := max(time.Now().UnixNano(), last+1)
		if e.sequence.CompareAndSwap(last, next) {
			return next
		}
	}
}

// wholeSeconds is a delay as SQS counts it, never shorter than requested.
func wholeSeconds(d time.Duration) int32 { return int32((d + time.Second - 1) / time.Second) }

// left is what is left of the delay when the message is sent. A message that waits beside its channel has to be
// received before it is due.
func (w *prepared) left() int32 {
	if w.at.IsZero() {
		return w.delay
	}
	d := max(0, time.Until(w.at))
	if w.waits {
		return min(w.delay, int32(d/time.Second))
	}
	return min(w.delay, wholeSeconds(d))
}

// queueDedup is the id for duplicates of a message that is sent to a queue. Messages that wait have none: their queue
// keeps no order.
func (w *prepared) queueDedup() *string {
	if w.waits {
		return new(string)
	}
	return &w.dedup
}

// Waits reports whether a prepared message waits for its time beside its channel.
func Waits(p driver.Prepared) bool { return p.Wire.(*prepared).waits }

// Ticks reports whether a prepared message is one of a schedule that is sent to its channel by another queue.
func Ticks(p driver.Prepared) bool { return p.Wire.(*prepared).ticks }

// Waiting is a received message that waits beside its channel.
type Waiting struct {
	*Message
	ID       string // ours, which stays the same
	Due      time.Time
	First    time.Time // when the service accepted it for the first time, and Sent for the last time
	Sent     time.Time
	Sequence int64
	// Cancellable: it is sent on only if a decision with the name ID says so.
	Cancellable bool
	later       envelope.Later
}

// ReadWaiting reads a message that waits for a channel. An error of class Transient is about this receive alone;
// another one means that nothing says when the message is due, or where it goes.
func ReadWaiting(m *Message, of driver.Channel) (Waiting, error) {
	w := Waiting{Message: m}
	if err := CheckMD5(aws.ToString(m.MessageId), m.Message.Body, m.MD5OfBody); err != nil {
		return w, err
	}
	if _, grouped := m.Attributes["MessageGroupId"]; of.Ordered && !grouped { // a second wait took it away
		m.Attributes["MessageGroupId"] = defaultGroup
	}
	w.Sent = time.UnixMilli(Number(m.Attributes["SentTimestamp"]))
	env, err := envelope.Parse(attributeText(m.MessageAttributes[EnvelopeAttribute]))
	order, tenant := keys(of, m.Attributes["MessageGroupId"], env.OrderKey)
	m.Key = order + tenant // at most one of them is set
	switch {
	case err != nil:
		return w, client.Permanent("a message that waits for %s: %w", of, err)
	case env.Later == nil || env.Later.ID == "" || env.Later.Delay <= 0 && env.Later.At <= 0:
		return w, client.Permanent("a message that waits for %s: its envelope does not say when it is due", of)
	case env.Later.Channel != of.String():
		return w, client.Permanent("a message that waits for %s is for channel %s", of, env.Later.Channel)
	}
	w.later, w.ID, w.Sequence, w.Cancellable = *env.Later, env.Later.ID, env.Later.Sequence, env.Later.Cancellable
	w.First = time.UnixMilli(cmp.Or(env.First, w.Sent.UnixMilli()))
	w.Due = time.UnixMilli(w.later.At)
	if w.later.At == 0 {
		w.Due = w.First.Add(time.Duration(w.later.Delay) * time.Millisecond)
	}
	return w, nil
}

// ReadTick reads a message of a schedule, which is due at once.
func ReadTick(m *Message, _ driver.Channel) (Waiting, error) {
	sent := time.UnixMilli(Number(m.Attributes["SentTimestamp"]))
	w := Waiting{
		Message: m, ID: aws.ToString(m.MessageId), Due: sent, First: sent, Sent: sent,
	}
	m.Key = m.Attributes["MessageGroupId"]
	return w, CheckMD5(w.ID, m.Message.Body, m.MD5OfBody)
}

// Again is the message as it waits on.
func (w *Waiting) Again() *driver.Forward {
	return &driver.Forward{Raw: w.Raw(), ID: w.ID, First: w.First}
}

// Delay makes the service deliver a prepared message after a delay, which it counts in whole seconds. It is rounded
// down, because a message that waits is received before it is due.
func Delay(p driver.Prepared, d time.Duration) {
	p.Wire.(*prepared).delay = int32(min(d, MaxDelay) / time.Second)
}

// Wake ends the wait of the message. Afterwards Again is the message for its channel.
func (w *Waiting) Wake() {
	a, there := w.MessageAttributes[EnvelopeAttribute]
	if !there || w.later.ID == "" {
		return
	}
	if text := envelope.WithoutLater(attributeText(a), w.later); text != "" {
		a.StringValue = &text
		w.MessageAttributes[EnvelopeAttribute] = a
	} else {
		delete(w.MessageAttributes, EnvelopeAttribute)
	}
}
