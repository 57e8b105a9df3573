// Lambda is a handler as a function of AWS Lambda. Its event source is the queue of orders, and the event source
// mapping has the response type ReportBatchItemFailures: docs/lambda.md.
package main
