// Package failure turns errors of Kafka and of its client into those of the seam: each has a class, which tells the
// caller what would help.
package failure
