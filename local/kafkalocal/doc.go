// Package kafkalocal is Kafka without any installation. It starts franz-go's kfake in this process and opens the
// backend kafka on it, so that a program for a cluster runs on a laptop and in a test. Its nouns: a [Server] is one
// broker, in memory or in a folder, on an address or on a network of its own inside the process. A [Backend] is a
// kafka.Backend together with its server.
//
// kfake accepts requests that a real broker refuses. The server refuses them, with the real broker's error code and
// mostly its text: commit metadata of more than 4,096 UTF-16 units (only for its partition); invalid topic names,
// partition counts and replication factors; topic configs that do not exist or are invalid; records whose timestamp is
// more than message.timestamp.after.max.ms ahead; records of a transactional producer that was replaced; a number of
// partitions that would be no increase; and DescribeGroups of groups of the newer protocols. It sets its own time in
// the records of topics with message.timestamp.type=LogAppendTime. It never creates a topic automatically, because
// kfake loses such topics in a crash. It corrects answers of kfake that franz-go can read and stricter clients cannot
// (Java's AdminClient and share consumer, kafka-python): see mend.go. On a connection with TLS answers are not
// corrected, and only kfake's own fencing of producers applies.
//
// A crash (Kill, or the end of the process without Close) aborts the transactions that were open. But consumers of
// committed records may also skip what the same producers commit later (docs/decisions/0068): delete the folder after a
// crash if your program uses transactions.
//
// What comes from a connection reaches kfake as whole requests of at most 100 MiB whose head could be read, as a real
// broker reads them; anything else ends the connection, as do a pause of ten seconds inside a request and ten minutes
// without one. The work of a client that is gone ends at once, and that of a client that takes no byte of an answer for
// a minute. On a connection with TLS requests are not checked, and a client that is gone may keep its work.
//
// It still differs from a real broker: leader epochs do not change when it starts again; Kill forgets the members of
// groups, and with them the positions of share groups (Close keeps them); the log is compacted, and old records are
// deleted, only once an hour; and the timestamp type of a record always reads CreateTime. Classic groups differ in
// three ways, which tests in kafka/acceptance show on both: a member that crashes during a rebalance may never be
// removed; a member that waits for others longer than its session timeout is removed without an answer; and each
// joining member restarts the timeout of the rebalance.
package kafkalocal
