// Package kafka compares Godwit's Kafka backend with other consumers, and with an upper bound for all consumers.
//
// A contender consumes one topic and calls a handler for each record. A job is the work that all contenders of a round
// do: a topic, partitions, a concurrency, and the duration of the handler. A figure is the rate and the CPU time of a
// contender for a job. The broker is kfake in a process of its own, so that only the consumer's CPU is counted. If
// GODWIT_KAFKA is set to host:port, the broker at that address is used, too.
//
// By default the test only checks that everything runs. For the figures in docs/benchmarks.md, run `make bench-kafka`,
// which starts a real broker, and also measures Confluent's Parallel Consumer, a Java program. Without Java and a
// broker, run
//
//	go -C bench test -v -timeout 60m ./kafka -speed.rounds 5
package kafka
