// Package sqs compares Godwit on SQS with other ways to use SQS from Go: the same work, the same server, the same round trip.
//
// Its nouns: a contender is one way to send or to receive; a scene is one workload with its round trip, handlers and workers;
// a figure is what a contender did in a scene. Rates, latencies and requests are measured in virtual time, where every
// request takes exactly its round trip and no CPU is missing; CPU and allocations in real time, against a server in
// a process of its own.
package sqs
