// Package transact makes transactions: the [Transactor] publishes results (records.Results) and commits the completion
// of their messages, one transaction at a time. Only one process has a transactional id; its next client ends what the
// one before it has begun.
package transact
