// Package client wraps a client of Kafka so that it can be ended in bounded time, and passes the client's log on.
package client
