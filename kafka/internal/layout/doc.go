// Package layout has the names of the topics and the consumer group of each channel, and of its dead letters and tiers.
// The mapping is one to one, and its inverse tells which channel a group reads.
package layout
