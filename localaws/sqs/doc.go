// Package sqs is Amazon SQS: its actions and rules over the model of package
// queue.
//
// Nouns: a Service holds the queues of one account and region; a Queue is a
// model with its attributes, tags and policy; Incoming is a message from another
// service, which comes in through Deliver. Each action is a file of its own,
// named for it.
package sqs
