// Package operate is what an operator does with the queues and topics of an estate: list the catalog, read activity
// from
// CloudWatch, peek at messages, pause and resume, purge and remove, move and return dead letters, and make snapshots.
package operate
