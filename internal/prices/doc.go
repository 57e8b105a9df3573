// Package prices estimates what SQS and SNS bill for.
//
// Its nouns: a [Table] is the prices of one day; [Traffic] is what a queue or a topic did; a [Bill] is the estimate.
package prices
