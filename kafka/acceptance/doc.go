// Package acceptance tries the mistakes that consumers of Kafka are known for, one test a mistake, through the library
// as an application uses it; it holds tests alone.
//
// Its nouns: a world is one test's broker, with a namespace of the test's own; a process is a consumer that runs, and
// can be stopped or cut off from the broker, which is how it crashes without a word; books are what the world knows of
// every record: when it was handled, how often, by whom, in which order.
//
// The broker is local/kafkalocal in a bubble of virtual time (build tag synctests), or the real one that GODWIT_KAFKA
// names as host:port, in real time; then GODWIT_KAFKA_RESTART is a command that kills that broker (-9) and starts it
// again. `make kafka` does all of it. With -short the largest numbers are smaller.
package acceptance
