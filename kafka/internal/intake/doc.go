// Package intake shares the places of the core among the partitions of a receiver.
//
// Its nouns: a [Backlog] has the polled records of one partition that are not admitted yet, and counts the places of
// the partition. An [Intake] counts the places of all partitions. A portion is how many places one partition may have.
// Nothing in this package locks, waits or calls Kafka.
package intake
