// Package wire is how messages travel as Kafka records.
//
// Its nouns: a header of Godwit's own has a reserved name; a message's fields and headers are [Encode]d into a record
// and decoded into a delivery by a [Decoder]; a record that waits in a tier remembers its [Home], the partition and
// offset that it had at first, and how often it was started; a filter [Matches] records by their routing key.
package wire
