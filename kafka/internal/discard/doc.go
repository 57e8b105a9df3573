// Package discard counts the records of a poll that are finished without a handler, and reports the counts to the core.
package discard
