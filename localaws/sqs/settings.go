package sqs

import (
	"time"

	"github.com/godwitmq/godwit/localaws/sqs/queue"
)

// settings are a queue's attributes, read. Values are never changed once they
// are a queue's.
type settings struct {
	delay, visibility, retention, wait int // seconds
	maxSize                            int // bytes

	redrive      *redrive
	redriveAllow *redriveAllow
	policy       *policy

	managedSSE bool
	kmsKey     string
	kmsReuse   int // seconds

	contentDedup    bool
	dedupScope      string
	dedupByGroup    bool // what dedupScope said when the queue was made: on AWS, as recorded, changing it changes only what is shown
	throughputLimit string

	created, modified time.Time
}

// maxMessage is the most a message may be: body, and attributes with their
// names and types. It was 256 KiB until August 2025.
const maxMessage = 1 << 20

// defaults are the settings of a queue that asks for nothing.
func defaults() *settings {
	return &settings{
		visibility: 30, retention: 345_600, maxSize: maxMessage, managedSSE: true, kmsReuse: 300,
		dedupScope: "queue", throughputLimit: "perQueue",
	}
}

// maxInFlight is how many messages of a queue may be received and not deleted.
const maxInFlight = 120_000

// model is what the settings mean to the model.
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
