// Package assign assigns partitions: a partition to each record that is sent (the partitioner), and partitions to the
// members of a group (a balancer that gives a partition of a tier to the owner of the original partition).
package assign
