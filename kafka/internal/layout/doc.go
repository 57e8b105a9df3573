// Package layout says how channels lie on Kafka: which topic and which consumer group belong to a channel, and how its
// dead letters and tiers are named. The mapping is one to one, and its inverse tells which channel a group reads.
package layout
