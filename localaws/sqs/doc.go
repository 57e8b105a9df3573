// Package sqs is Amazon SQS: its actions and rules. Package queue is its model of one queue.
//
// Its nouns: a [Service] holds the queues of one account and region. A [Queue] is a model together with its attributes,
// tags and policy. An [Incoming] is a message from another service, delivered by Deliver. An action stands in the file
// of the noun that it works on.
package sqs
