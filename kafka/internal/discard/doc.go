// Package discard counts the records of one poll that are finished without a delivery, and tells the core.
package discard
