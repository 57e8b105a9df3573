package snssqs

import (
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/godwitmq/godwit/driver"
)

// enoughReceives is how many receives a queue should allow a message before SQS dead-letters it. Each release counts as
// a receive: if the number is smaller, a few deployments and crashes dead-letter a message that was never handled.
const enoughReceives = 10

// fewReceives reports whether the queue's own redrive policy allows only a few receives. A queue that Godwit provisions
// allows enough.
func (q *queue) fewReceives() bool {
	n := q.maxReceives()
	return n > 0 && n < enoughReceives
}

// maxReceives returns after how many receives SQS itself dead-letters a message; 0: never.
func (q *queue) maxReceives() int {
	p, ok := parseRedrive(q.attributes[string(types.QueueAttributeNameRedrivePolicy)])
	if !ok {
		return 0
	}
	return p.MaxReceiveCount
}

func (b *Backend) warnFewReceives(ch driver.Channel, q *queue) {
	if q.fewReceives() {
		b.log.Warn("the queue's redrive policy dead-letters messages after a few receives, and each release counts as "+
			"one: only "+
			"messages that can be started at once are received, which costs requests; raise maxReceiveCount, or let "+
			"Godwit "+
			"provision the queue",
			"channel", ch.String(), "queue", q.name, "maxReceiveCount", q.maxReceives(), "atLeast", enoughReceives)
	}
}
