// Package assign says which partition belongs to whom: of records to be sent (a partitioner), and of a group's members
// (a balancer by which the tiers of a partition follow the partition).
package assign
