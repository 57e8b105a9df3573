// Package client wraps a client of Kafka so that it closes in bounded time, and passes on its log.
package client
