// Package kafkalocal is Kafka with nothing installed: it starts franz-go's kfake in this process and opens the backend
// kafka on it, so that what runs on a cluster runs on a laptop and in a test. Its nouns: a [Server] is one broker, in
// memory or in a folder, on an address or on a network of its own inside the process; a [Backend] is the one of package
// kafka together with its server.
//
// kfake takes what a real broker refuses; the server does not. It refuses, with the real broker's code and mostly its
// words: commit metadata of more than 4,096 UTF-16 units (for its partition alone), topic names, partition counts and
// replication factors that cannot be, topic configs that do not exist or are malformed, records stamped more than
// message.timestamp.after.max.ms ahead or by a transactional producer that was replaced, partitions that would be no increase, and
// DescribeGroups of groups of the newer protocols. It writes its own time into the records of topics with
// message.timestamp.type=LogAppendTime. It never creates a topic unasked, because kfake
// forgets such topics in a crash. And it mends answers of kfake on their way out that franz-go can read and stricter
// clients cannot (Java's AdminClient and share consumer, kafka-python): mend.go says which. On a connection with TLS those
// stay as they are, and of producers only those are fenced that kfake fences.
//
// What stays different from a real broker: leader epochs do not move when it starts again, members are forgotten by a
// kill, and with them how far share groups are (a Close keeps that), the log is compacted and old records deleted only while
// it looks for that (hourly), and a record's timestamp type always reads CreateTime. Classic groups differ in three ways, which
// tests of kafka/acceptance show on both: a member that crashes while the group is joined may never be missed, one that waits for
// the others for longer than its session counts as dead and is not answered, and whoever comes starts the rebalance's time anew.
package kafkalocal
