package layout

import (
	"time"

	"github.com/godwitmq/godwit/driver"
	"github.com/godwitmq/godwit/kafka/internal/failure"
)

// BesideRetention is how long dead letters and records in tiers are kept, at least: an operator has to look at dead
// letters, and the consumer of a tier may be down.
const BesideRetention = 14 * 24 * time.Hour

// Channels are the channels of a backend: their names, and how each of them uses its topics.
type Channels struct {
	Names
	Uses  func(ch driver.Channel) Use
	Open  func() error                  // the error of a backend that is closed
	Legal func(ch driver.Channel) error // that error, or why Kafka or the options cannot carry a channel
	// OwnRetries and OwnDeadLetters: queues of the caller take them, which have no topics.
	OwnRetries, OwnDeadLetters bool
}

// Use is how a channel uses its topics.
type Use struct {
	Share    bool            // its group is a share group; never that of dead letters
	Spread   bool            // messages without a key are in no order
	Zip      bool            // bodies are compressed in the store
	MaxBlock time.Duration   // how long a failing record may hold up its key
	Tiers    []time.Duration // the tiers in which retries wait; nil: they do not wait in tiers

	Partitions  int // of a topic that is created
	Wished      int // the number of partitions that the options name; 0: none
	Retention   time.Duration
	Compression string
	TopicConfig map[string]string
}

// TopicOf is the topic that a sender or receiver of the channel uses, or that of messages that wait for their time.
func (c *Channels) TopicOf(ch driver.Channel) string {
	switch {
	case ch.Later:
		return Later(c.Names, ch)
	case ch.DeadLetter:
		return c.DeadLetters(ch)
	}
	return c.Topic(ch)
}

// Receives returns an error if nothing can be received from a channel. It makes no request.
func (c *Channels) Receives(ch driver.Channel) error {
	err := c.Legal(ch)
	switch {
	case err != nil:
	case ch.Later:
		err = failure.Permanent("channel %s: messages wait there for their time, and only consumers of their channel send "+
			"them on: look at them with Peek", ch)
	case ch.Queue == "":
		err = failure.Permanent("channel %s: nothing can be received from all of an exchange: name one of its channels",
			ch)
	}
	return err
}

// Plain is a channel as its name says it, whatever the options of a consumer add.
func Plain(ch driver.Channel) driver.Channel {
	ch.Ordered = false
	return ch
}
