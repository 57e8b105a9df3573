// Package sqs compares Godwit on SQS with other ways to use SQS from Go, with the same work, server and round-trip
// time.
//
// A contender is one way to send or to receive. A scene is a workload: a round-trip time, the duration of the handler,
// and a number of workers. A figure is the result of a contender in a scene. Rates, latencies and requests are measured
// in virtual time, in which every request takes exactly one round trip, and CPU is unlimited. CPU and allocations are
// measured in real time, with the server in a process of its own.
package sqs
