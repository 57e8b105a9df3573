// Package failure turns errors of Kafka and franz-go into errors of package driver. Each has a class, which tells the
// caller whether a repetition or another action can help.
package failure
