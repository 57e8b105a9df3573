// Package sqs is Amazon SQS: its actions and rules. Package queue is its model of one queue.
//
// Its nouns: a [Service] holds the queues of one account and region. A [Queue] is a model together with its attributes,
// tags and policy. An [Incoming] is a message from another service, delivered by Deliver. Each action has a file of its
// own with the action's name.
package sqs
