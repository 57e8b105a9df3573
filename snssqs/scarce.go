package snssqs

import (
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
)

// enoughReceives is how many receives a queue should give a message before SQS dead-letters it. Each release counts as
// one: with fewer, some deploys and crashes are enough to dead-letter a message that no handler saw.
const enoughReceives = 10

// scarce says that the queue's own redrive policy gives messages up after a few receives. Queues of ours have a policy
// of ours.
func (q *queue) scarce() bool {
	n := q.maxReceives()
	return n > 0 && n < enoughReceives
}

// maxReceives is after how many receives SQS itself dead-letters a message; 0: never.
func (q *queue) maxReceives() int {
	p, ok := parseRedrive(q.attributes[string(types.QueueAttributeNameRedrivePolicy)])
	if !ok {
		return 0
	}
	return p.MaxReceiveCount
}

func (b *Backend) warnScarce(ch driver.Channel, q *queue) {
	if q.scarce() {
		b.log.Warn("the queue's redrive policy gives messages up after a few receives, and each release counts as "+
			"one: only "+
			"messages that can be started at once are received, which costs requests; raise maxReceiveCount, or let "+
			"Godwit "+
			"provision the queue",
			"channel", ch.String(), "queue", q.name, "maxReceiveCount", q.maxReceives(), "atLeast", enoughReceives)
	}
}
