// Package layout has the names of the topics and the consumer group of each channel, and of its dead letters and tiers.
// They are one to one, and the inverse tells which channel a group reads. A [Mapping] has the names of channels that
// use topics and groups of other names.
package layout
