// Package acceptance has one test for each mistake that consumers of Kafka are known for. The tests use the library as
// an application does. The package has no other code.
//
// Its nouns: a world is the broker of one test, with a namespace of the test's own. A process is a running consumer,
// which a test can stop, or cut off from the broker, as if it had crashed. A journal notes how often, in which order
// and by how many handlers at once each record was handled.
//
// The broker is local/kafkalocal in a bubble of virtual time (build tag synctests). With GODWIT_KAFKA=host:port it is a
// real broker in real time. GODWIT_KAFKA_RESTART is then a command that kills this broker (-9) and starts it again.
// GODWIT_KAFKA_CLUSTER is the command that TestCluster starts three real brokers with, and GODWIT_KAFKA_JAVA the class
// path of Kafka's own clients, for tests beside programs in Java. GODWIT_KAFKA_KCAT is the path of kcat, for tests
// beside librdkafka. `make kafka` sets all of them. With -short the largest numbers are smaller.
package acceptance
