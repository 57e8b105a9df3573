// Package disk keeps the records of a localaws server in a folder, so that what was acknowledged survives the end of
// the process, of whatever kind:
//
//	store, err := disk.Open("data", nil)
//	defer store.Close()
//	server, err := localaws.New(&localaws.Options{Store: store})
//	defer server.Close()
//
// Its nouns: a [Store] is a log of batches, and an index in memory of the newest place of every key. A batch is the
// changes of one Write, with a checksum: it is read as a whole or not at all. A segment is one file of the log. A value
// above 64 KiB is a file of its own, an attachment. [Damage] is a part of a file that cannot be read.
//
// Callers that sync at once share one sync of the file. The oldest segment is removed, after its live records have been
// written again at the end of the log, as long as more than half of the log is garbage; in use, a few segments may be.
//
// The folder has these entries. Version 1 is read by every later version.
//
//	FORMAT       the version, and its checksum
//	lock         locked by the running server; its process id
//	log/         segments, N.log
//	attachments/ large values, N.value
//	aside/       copies of what cannot be read: never deleted, never read
//	kafka/       the data of the embedded Kafka, which this package does not touch
package disk
