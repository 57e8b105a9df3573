// Package intake shares the places of the core among the partitions of a receiver.
//
// Its nouns: a [Backlog] holds what was polled of one partition and is not admitted yet, and counts the places that its
// partition has; an [Intake] counts the places of all. A portion is how many places one partition may have. Nothing in
// here locks, waits or calls Kafka.
package intake
