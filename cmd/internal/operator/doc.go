// Package operator has what the commands godwit and godwit-lambda share: [Notifiers] by the environment, and a [State]
// in S3, in which all programs that watch the same channels remember who was told.
package operator
