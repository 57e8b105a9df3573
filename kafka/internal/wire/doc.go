// Package wire encodes messages as Kafka records, and decodes them.
//
// Its nouns: a header of Godwit has a reserved name. [Encode] writes a message's fields and headers to a record, and a
// [Decoder] reads them into a delivery. The [Home] of a record in a tier is the partition and offset of its original. A
// filter [Matches] records by their routing key.
package wire
