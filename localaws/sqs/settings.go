package sqs

import (
	"time"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// settings are the parsed attributes of a queue. They are never modified once they belong to a queue.
type settings struct {
	delay, visibility, retention, wait int // seconds
	maxSize                            int // bytes

	redrive      *redrive
	redriveAllow *redriveAllow
	policy       *policy

	managedSSE bool
	kmsKey     string
	kmsReuse   int // seconds

	contentDedup bool
	dedupScope   string
	// dedupByGroup is dedupScope at the time of the queue's creation. As recorded on AWS, changing the attribute later
	// changes only what is shown.
	dedupByGroup    bool
	throughputLimit string

	created, modified time.Time
}

// maxMessage is the maximum size of a message: the body, and the attributes with their names and types. It was 256 KiB
// until August 2025.
const maxMessage = 1 << 20

// defaults returns the settings of a queue that is created without attributes.
func defaults() *settings {
	return &settings{
		visibility: 30, retention: 345_600, maxSize: maxMessage, managedSSE: true, kmsReuse: 300,
		dedupScope: "queue", throughputLimit: "perQueue",
	}
}

// maxInFlight is how many messages of a queue may be in flight.
const maxInFlight = 120_000

// model returns the settings that the model needs.
func (s *settings) model(chaos queue.Chaos) queue.Config {
	c := queue.Config{
		Visibility: seconds(s.visibility), Delay: seconds(s.delay), Retention: seconds(s.retention),
		InFlight: maxInFlight, DedupByGroup: s.dedupByGroup, Chaos: chaos,
	}
	if s.redrive != nil {
		c.MaxReceives = s.redrive.max
	}
	return c
}

func seconds[N int | int32](n N) time.Duration { return time.Duration(n) * time.Second }
