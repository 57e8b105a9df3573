// Package kafka measures Godwit's Kafka backend beside other consumers, and beside what no consumer can beat.
//
// Its nouns: a contender consumes one topic and calls a handler for each record; a job is what all contenders of a round do:
// topic, partitions, concurrency and how long the handler takes; a figure is what one contender needed for it. The broker is
// kfake in a process of its own, so that the CPU that is counted is the consumer's; and, with GODWIT_KAFKA=host:port, a real
// one too.
//
// As it stands the test is a short look that everything still runs. The figures of docs/benchmarks.md come from
// `make bench-kafka`, which starts a real broker and has Confluent's Parallel Consumer, a Java program, compete on it; without
// Java and a broker, from
//
//	go -C bench test -v -timeout 60m ./kafka -speed.rounds 5
package kafka
